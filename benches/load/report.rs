//! The one table of a run.

use crate::client::Outcome;
use std::time::Duration;

/// What a run over one server gave.
pub struct Measured {
    /// As the client saw it.
    pub outcome: Outcome,
    /// Processor time of the server for one answer. It depends less on what else the machine does than the rate.
    pub cpu_per_answer: Duration,
    /// Answers for each sync of the disk, where there were any.
    pub answers_per_sync: f64,
}

/// Rows in the order in which they were measured.
#[derive(Default)]
pub struct Table {
    rows: Vec<String>,
}

impl Table {
    /// Adds a row; `ceiling` is what it is compared with, when it is not that itself.
    pub fn add(&mut self, name: &str, measured: &Measured, ceiling: Option<&Measured>) {
        let (outcome, per_sync) = (&measured.outcome, measured.answers_per_sync);
        let ratio = outcome.rate / ceiling.unwrap_or(measured).outcome.rate;
        let per_sync = if per_sync > 0.0 {
            format!("{per_sync:.1}")
        } else {
            "-".into()
        };
        let row = format!(
            "| {name} | {:.0} | {ratio:.2} | {:.1} | {:.2} | {:.2} | {per_sync} | {} |",
            outcome.rate,
            measured.cpu_per_answer.as_secs_f64() * 1e6,
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
            "| What | per second | of the ceiling | server's processor time each, us | p50 ms | p99 ms | answers per sync | wrong answers |"
        );
        println!("|---|---|---|---|---|---|---|---|");
        self.rows.iter().for_each(|row| println!("{row}"));
    }
}
