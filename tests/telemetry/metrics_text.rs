//! A strict parser for the text of `/metrics`.

use crate::support::Server;
use std::collections::{BTreeMap, BTreeSet};

/// The metrics of one scrape.
pub struct Figures {
    /// The type of each family.
    pub families: BTreeMap<String, String>,
    samples: BTreeMap<(String, Labels), f64>,
}

type Labels = BTreeSet<(String, String)>;

impl Server {
    pub fn figures(&self) -> Figures {
        Figures::read(&self.get("/metrics").expect(200).text())
    }
}

impl Figures {
    /// Parses a text; panics if it is malformed.
    #[track_caller]
    pub fn read(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line ends");
        let (mut families, mut samples) = (BTreeMap::new(), BTreeMap::new());
        let (mut helped, mut current) = (String::new(), String::new());
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').expect("a help text");
                assert!(help.ends_with('.') || help.ends_with(')'), "{line}");
                helped = name.to_owned();
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect("a type");
                assert_eq!(name, helped, "a type follows its help");
                let before = families.insert(name.to_owned(), kind.to_owned());
                assert_eq!(before, None, "{name} appears once");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                current = name.to_owned();
            } else {
                let (series, value) = line.rsplit_once(' ').expect("a value");
                let (name, labels) = parse(series);
                assert_eq!(family_of(&name, &families), current, "{line}");
                let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
                let before = samples.insert((name, labels), value);
                assert_eq!(before, None, "{line} appears twice");
            }
        }
        Self { families, samples }
    }

    /// Is there a sample of this name with this label?
    pub fn has(&self, name: &str, label: &str, value: &str) -> bool {
        let pair = (label.to_owned(), value.to_owned());
        let mut labels = self.samples.keys().filter(|(it, _)| it == name);
        labels.any(|(_, labels)| labels.contains(&pair))
    }

    /// The value of a series, if it exists.
    pub fn get(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let labels: Labels = labels.iter().map(pair).collect();
        self.samples.get(&(name.to_owned(), labels)).copied()
    }

    /// The value of a series; panics if it is missing.
    #[track_caller]
    pub fn of(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let found = self.get(name, labels);
        found.unwrap_or_else(|| panic!("no {name} {labels:?}"))
    }

    /// The cumulative buckets of all series of a histogram.
    pub fn ranges(&self, name: &str) -> BTreeMap<Labels, Vec<(f64, f64)>> {
        let bucket = format!("{name}_bucket");
        let mut found: BTreeMap<Labels, Vec<(f64, f64)>> = BTreeMap::new();
        for ((_, labels), count) in self.samples.iter().filter(|((it, _), _)| *it == bucket) {
            let bound = labels.iter().find(|(name, _)| name == "le").expect("le");
            let bound: f64 = bound.1.replace("+Inf", "inf").parse().unwrap();
            let mut rest = labels.clone();
            rest.retain(|(name, _)| name != "le");
            found.entry(rest).or_default().push((bound, *count));
        }
        for ranges in found.values_mut() {
            ranges.sort_by(|one, other| one.0.total_cmp(&other.0));
        }
        found
    }

    pub fn sum(&self, name: &str) -> f64 {
        let of = |((it, _), value): (&(String, Labels), &f64)| (it == name).then_some(*value);
        self.samples.iter().filter_map(of).sum()
    }
}

/// The family of a sample: its name, without the suffix of a histogram's samples.
fn family_of(name: &str, families: &BTreeMap<String, String>) -> String {
    for ending in ["_bucket", "_sum", "_count"] {
        if let Some(family) = name.strip_suffix(ending)
            && families.get(family).is_some_and(|kind| kind == "histogram")
        {
            return family.to_owned();
        }
    }
    name.to_owned()
}

fn parse(series: &str) -> (String, Labels) {
    let Some((name, rest)) = series.split_once('{') else {
        return (series.to_owned(), Labels::new());
    };
    let mut rest = rest.strip_suffix('}').expect("an end");
    let mut labels = Labels::new();
    while !rest.is_empty() {
        let (label, after) = rest.split_once("=\"").expect("a label");
        let end = after.find('"').expect("no label holds a quote here");
        labels.insert((label.to_owned(), after[..end].to_owned()));
        rest = after[end + 1..].trim_start_matches(',');
    }
    (name.to_owned(), labels)
}
