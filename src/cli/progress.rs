//! Progress indicators, which are written to a terminal only.

use actix_web::rt::System;
use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

pub fn bar(total: u64, message: &'static str) -> ProgressBar {
    let progress = ProgressBar::new(total);
    let template = "{msg} [{bar:32}] {pos}/{len} {elapsed} (about {eta} left)";
    if let Ok(style) = ProgressStyle::with_template(template) {
        progress.set_style(style.progress_chars("=> "));
    }
    progress.enable_steady_tick(Duration::from_millis(200));
    progress.set_message(message);
    progress
}

pub fn spinner(message: &'static str) -> ProgressBar {
    let progress = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
        progress.set_style(style);
    }
    progress.enable_steady_tick(Duration::from_millis(100));
    progress.set_message(message);
    progress
}

/// Runs work behind a spinner, whose message the work may change.
pub fn run<T>(
    message: &'static str,
    work: impl AsyncFnOnce(&dyn Fn(String)) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let progress = spinner(message);
    let say = |message: String| progress.set_message(message);
    let outcome = System::new().block_on(work(&say))?;
    progress.finish_and_clear();
    Ok(outcome)
}
