//! Writes Prometheus' text exposition format, version 0.0.4.
//!
//! Refused alternatives: the official crate (`prometheus-client`) writes only OpenMetrics, which names counters differently in their
//! headings and fails `promtool check metrics`; other crates bring their own counters, which would be filled from ours only for the
//! output. The tests check the output with promtool.

use std::fmt::{Display, Write as _};
use tintype_storage::histogram::Reading;

pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

const MICROS: f64 = 1_000_000.0;

#[derive(Default)]
pub struct Exposition {
    text: String,
}

pub type Labels<'a> = &'a [(&'a str, &'a str)];

impl Exposition {
    /// Begins a family; `name` must end in `_total`.
    pub fn counter(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, "counter", help)
    }

    pub fn gauge(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, "gauge", help)
    }

    pub fn histogram(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, "histogram", help)
    }

    fn family(&mut self, name: &'static str, kind: &str, help: &str) -> Family<'_> {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        Family {
            text: &mut self.text,
            name,
        }
    }

    pub fn into_text(self) -> String {
        self.text
    }
}

/// A metric family; each method writes samples of it.
pub struct Family<'a> {
    text: &'a mut String,
    name: &'static str,
}

impl Family<'_> {
    pub fn value(&mut self, labels: Labels<'_>, value: impl Display) -> &mut Self {
        self.line("", labels, None, value)
    }

    /// Writes 1 for true and 0 for false.
    pub fn flag(&mut self, labels: Labels<'_>, is_set: bool) -> &mut Self {
        self.value(labels, u8::from(is_set))
    }

    /// Writes a histogram of microseconds in seconds.
    pub fn seconds(&mut self, labels: Labels<'_>, read: &Reading) -> &mut Self {
        self.histogram(labels, read, |value| value as f64 / MICROS)
    }

    /// Writes a histogram of plain numbers.
    pub fn numbers(&mut self, labels: Labels<'_>, read: &Reading) -> &mut Self {
        self.histogram(labels, read, |value| value as f64)
    }

    fn histogram(
        &mut self,
        labels: Labels<'_>,
        read: &Reading,
        scale: impl Fn(u64) -> f64,
    ) -> &mut Self {
        let mut cumulative = 0;
        for (at, count) in read.counts.iter().enumerate() {
            cumulative += count;
            let bound = read.bounds.get(at);
            let bound = bound.map_or_else(|| "+Inf".to_owned(), |it| scale(*it).to_string());
            self.line("_bucket", labels, Some(&bound), cumulative);
        }
        if read.counts.is_empty() {
            self.line("_bucket", labels, Some("+Inf"), 0);
        }
        self.line("_sum", labels, None, scale(read.sum));
        self.line("_count", labels, None, cumulative)
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
    fn buckets_are_cumulative_and_in_base_units() {
        let histogram = Histogram::new(&[100, 2_500_000]);
        [50, 100, 200, 9_000_000]
            .into_iter()
            .for_each(|micros| histogram.add(micros));
        let mut exposition = Exposition::default();
        exposition
            .histogram("span_seconds", "A span.")
            .seconds(&[("of", "it")], &histogram.read());
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
    fn an_empty_histogram_has_zero_samples() {
        let mut exposition = Exposition::default();
        exposition
            .histogram("batch", "How many.")
            .numbers(&[], &Reading::default());
        let text = exposition.into_text();
        assert!(text.ends_with("batch_bucket{le=\"+Inf\"} 0\nbatch_sum 0\nbatch_count 0\n"));
    }
}
