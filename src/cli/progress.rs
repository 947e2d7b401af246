//! The progress line of a command. It is written to a terminal only and is not part of the output.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// Starts a progress line with this message.
pub fn line(words: &'static str) -> ProgressBar {
    let progress = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
        progress.set_style(style);
    }
    progress.enable_steady_tick(Duration::from_millis(100));
    progress.set_message(words);
    progress
}
