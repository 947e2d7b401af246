//! The table of a run.

use crate::client::Latencies;
use std::time::Duration;

/// The result of one row in one round.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Answers, jobs or writes per second.
    pub rate: f64,
    /// The rate relative to the bare handler right before and after.
    pub of_ceiling: Option<f64>,
    /// The server's processor time per call. It depends less on the machine's other load than the rate.
    pub processor: Option<Duration>,
    /// Median in milliseconds.
    pub p50: Option<f64>,
    /// 99th percentile in milliseconds.
    pub p99: Option<f64>,
    /// Further figures with their labels.
    pub beside: Vec<(&'static str, f64)>,
}

impl Sample {
    /// A sample with this rate and these latencies.
    pub fn new(rate: f64, latencies: &mut Latencies) -> Self {
        Self {
            rate,
            p50: Some(latencies.percentile(0.5)),
            p99: Some(latencies.percentile(0.99)),
            ..Self::default()
        }
    }

    /// Adds a further figure.
    pub fn with(mut self, what: &'static str, figure: f64) -> Self {
        self.beside.push((what, figure));
        self
    }
}

/// Rows in the order of their first measurement, with a sample per round.
#[derive(Default)]
pub struct Table {
    rows: Vec<(&'static str, Vec<Sample>)>,
}

impl Table {
    pub fn add(&mut self, name: &'static str, sample: Sample) {
        eprintln!("{}", line(name, std::slice::from_ref(&sample)));
        match self.rows.iter_mut().find(|(it, _)| *it == name) {
            Some((_, samples)) => samples.push(sample),
            None => self.rows.push((name, vec![sample])),
        }
    }

    /// The last sample of a row.
    pub fn last(&self, name: &str) -> Option<&Sample> {
        let (_, samples) = self.rows.iter().find(|(it, _)| *it == name)?;
        samples.last()
    }

    /// Prints the table: medians over the rounds, and the range of rates and ratios.
    pub fn print(&self) {
        println!(
            "| What | a second | of the ceiling | processor time each, us | p50 ms | p99 ms | beside it |"
        );
        println!("|---|---|---|---|---|---|---|");
        for (name, samples) in &self.rows {
            println!("{}", line(name, samples));
        }
    }
}

fn line(name: &str, samples: &[Sample]) -> String {
    let of = |figure: fn(&Sample) -> Option<f64>| Spread::of(samples.iter().filter_map(figure));
    let text = |spread: Option<Spread>, decimals| {
        spread.map_or_else(|| "-".to_owned(), |it| number(it.median, decimals))
    };
    let ranged = |spread: Option<Spread>, decimals| {
        spread.map_or_else(|| "-".to_owned(), |it| it.to_text(decimals))
    };
    let mut beside: Vec<&str> = Vec::new();
    for (what, _) in samples.iter().flat_map(|it| &it.beside) {
        if !beside.contains(what) {
            beside.push(what);
        }
    }
    let beside = beside.iter().map(|wanted| {
        let figures = samples.iter().flat_map(|it| &it.beside);
        let figures = figures.filter(|(what, _)| what == wanted);
        let spread = Spread::of(figures.map(|(_, figure)| *figure));
        let decimals = match &spread {
            Some(it) if it.is_whole() => 0,
            Some(it) if it.median < 10.0 => 2,
            Some(it) if it.median < 100.0 => 1,
            _ => 0,
        };
        format!("{} {wanted}", ranged(spread, decimals))
    });
    format!(
        "| {name} | {} | {} | {} | {} | {} | {} |",
        ranged(of(|it| Some(it.rate)), 0),
        ranged(of(|it| it.of_ceiling), 2),
        text(of(|it| Some(it.processor?.as_secs_f64() * 1e6)), 1),
        text(of(|it| it.p50), 2),
        text(of(|it| it.p99), 2),
        beside.collect::<Vec<_>>().join("; ")
    )
}

/// Median and range of some figures.
struct Spread {
    median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    fn of(figures: impl Iterator<Item = f64>) -> Option<Self> {
        let mut figures: Vec<f64> = figures.collect();
        figures.sort_by(f64::total_cmp);
        let (least, most) = (*figures.first()?, *figures.last()?);
        // The lower median of an even number, so that every printed figure was measured.
        let median = figures[(figures.len() - 1) / 2];
        Some(Self {
            median,
            least,
            most,
        })
    }

    fn is_whole(&self) -> bool {
        [self.median, self.least, self.most]
            .iter()
            .all(|it| it.fract() == 0.0)
    }

    fn to_text(&self, decimals: usize) -> String {
        let [median, least, most] =
            [self.median, self.least, self.most].map(|it| number(it, decimals));
        if least == most {
            return median;
        }
        format!("{median} ({least} to {most})")
    }
}

/// Formats a figure in groups of three digits.
fn number(figure: f64, decimals: usize) -> String {
    let text = format!("{figure:.decimals$}");
    let whole = text.find('.').unwrap_or(text.len());
    let mut grouped = String::new();
    for (at, digit) in text.chars().enumerate() {
        if at > 0 && at < whole && (whole - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
