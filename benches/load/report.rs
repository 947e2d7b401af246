//! The one table of a run.

use crate::client::Outcome;

/// Rows in the order in which they were measured.
#[derive(Default)]
pub struct Table {
    rows: Vec<String>,
}

impl Table {
    /// Adds a row; `beside` is the ceiling, and how many commits shared a sync.
    pub fn add(&mut self, name: &str, outcome: &Outcome, beside: Option<(&Outcome, f64)>) {
        let (ratio, per_sync) = match beside {
            Some((ceiling, per_sync)) => (format!("{:.2}", outcome.rate / ceiling.rate), per_sync),
            None => ("1.00".into(), 0.0),
        };
        let per_sync = if per_sync > 0.0 {
            format!("{per_sync:.1}")
        } else {
            "-".into()
        };
        let row = format!(
            "| {name} | {:.0} | {ratio} | {:.2} | {:.2} | {per_sync} | {} |",
            outcome.rate,
            outcome.percentile(0.5),
            outcome.percentile(0.99),
            outcome.bad
        );
        eprintln!("{row}");
        self.rows.push(row);
    }

    /// Prints the table.
    pub fn print(&self) {
        println!(
            "| What | per second | of the ceiling | p50 ms | p99 ms | commits per sync | wrong answers |"
        );
        println!("|---|---|---|---|---|---|---|");
        self.rows.iter().for_each(|row| println!("{row}"));
    }
}
