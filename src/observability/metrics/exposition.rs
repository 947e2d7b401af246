//! The text that Prometheus reads: its exposition format, version 0.0.4.
//!
//! Written here and not by a crate: the official one (`prometheus-client`) writes OpenMetrics alone, which gives counters other
//! names in their headings and is refused by `promtool check metrics`; the others bring counters of their own, which would be
//! filled from ours only to be written out. What is written is checked by promtool, with the tests.

use std::fmt::{Display, Write as _};
use tintype_storage::histogram::Reading;

/// What an answer with this text says of itself.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

const MICROS: f64 = 1_000_000.0;

/// The text as it grows.
#[derive(Default)]
pub struct Exposition {
    text: String,
}

/// Labels with their values.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

impl Exposition {
    /// Begins a family that only ever rises. Its name ends in `_total`.
    pub fn counter(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, "counter", help)
    }

    /// Begins a family that rises and falls.
    pub fn gauge(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, "gauge", help)
    }

    /// Begins a family of counted values.
    pub fn histogram(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, "histogram", help)
    }

    fn family(&mut self, name: &'static str, kind: &str, help: &str) -> Family<'_> {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        Family {
            text: &mut self.text,
            name,
        }
    }

    /// All of it.
    pub fn into_text(self) -> String {
        self.text
    }
}

/// One family of the text.
pub struct Family<'a> {
    text: &'a mut String,
    name: &'static str,
}

impl Family<'_> {
    /// A line with a value.
    pub fn value(&mut self, labels: Labels<'_>, value: impl Display) -> &mut Self {
        self.line("", labels, None, value)
    }

    /// A line with 1 where something is so, else with 0.
    pub fn flag(&mut self, labels: Labels<'_>, is_so: bool) -> &mut Self {
        self.value(labels, u8::from(is_so))
    }

    /// The lines of a tally that has counted microseconds, in seconds.
    pub fn seconds(&mut self, labels: Labels<'_>, read: &Reading) -> &mut Self {
        self.tally(labels, read, |value| value as f64 / MICROS)
    }

    /// The lines of a tally that has counted plain numbers.
    pub fn numbers(&mut self, labels: Labels<'_>, read: &Reading) -> &mut Self {
        self.tally(labels, read, |value| value as f64)
    }

    fn tally(
        &mut self,
        labels: Labels<'_>,
        read: &Reading,
        scale: impl Fn(u64) -> f64,
    ) -> &mut Self {
        let mut so_far = 0;
        for (at, count) in read.counts.iter().enumerate() {
            so_far += count;
            let bound = read.bounds.get(at);
            let bound = bound.map_or_else(|| "+Inf".to_owned(), |it| scale(*it).to_string());
            self.line("_bucket", labels, Some(&bound), so_far);
        }
        if read.counts.is_empty() {
            self.line("_bucket", labels, Some("+Inf"), 0);
        }
        self.line("_sum", labels, None, scale(read.sum));
        self.line("_count", labels, None, so_far)
    }

    fn line(
        &mut self,
        ending: &str,
        labels: Labels<'_>,
        bound: Option<&str>,
        value: impl Display,
    ) -> &mut Self {
        self.text.push_str(self.name);
        self.text.push_str(ending);
        let all = labels.iter().copied().chain(bound.map(|it| ("le", it)));
        let mut opening = '{';
        for (name, value) in all {
            self.text.push(opening);
            opening = ',';
            self.text.push_str(name);
            self.text.push_str("=\"");
            escape(self.text, value);
            self.text.push('"');
        }
        if opening == ',' {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
        self
    }
}

fn escape(text: &mut String, value: &str) {
    for character in value.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::histogram::Histogram;

    #[test]
    fn a_family_has_its_heading_and_its_lines() {
        let mut exposition = Exposition::default();
        exposition
            .counter("things_total", "Things.")
            .value(&[], 3u64)
            .value(&[("a", "1"), ("b", "x\\y\"z\n")], 4u64);
        exposition.gauge("up", "Is it?").flag(&[], true);
        assert_eq!(
            exposition.into_text(),
            "# HELP things_total Things.\n# TYPE things_total counter\nthings_total 3\n\
             things_total{a=\"1\",b=\"x\\\\y\\\"z\\n\"} 4\n# HELP up Is it?\n# TYPE up gauge\nup 1\n"
        );
    }

    #[test]
    fn ranges_are_told_as_sums_from_below_in_base_units() {
        let tally = Histogram::new(&[100, 2_500_000]);
        [50, 100, 200, 9_000_000]
            .into_iter()
            .for_each(|micros| tally.add(micros));
        let mut exposition = Exposition::default();
        exposition
            .histogram("span_seconds", "A span.")
            .seconds(&[("of", "it")], &tally.read());
        let text = exposition.into_text();
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "span_seconds_bucket{of=\"it\",le=\"0.0001\"} 2",
                "span_seconds_bucket{of=\"it\",le=\"2.5\"} 3",
                "span_seconds_bucket{of=\"it\",le=\"+Inf\"} 4",
                "span_seconds_sum{of=\"it\"} 9.00035",
                "span_seconds_count{of=\"it\"} 4",
            ]
        );
    }

    #[test]
    fn what_was_never_counted_is_nothing() {
        let mut exposition = Exposition::default();
        exposition
            .histogram("crowd", "How many.")
            .numbers(&[], &Reading::default());
        let text = exposition.into_text();
        assert!(text.ends_with("crowd_bucket{le=\"+Inf\"} 0\ncrowd_sum 0\ncrowd_count 0\n"));
    }
}
