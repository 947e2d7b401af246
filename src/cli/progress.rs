//! The line that says how far a command is. It is not part of its output, and is not there where nobody looks on.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// A line that begins with these words.
pub fn line(words: &'static str) -> ProgressBar {
    let progress = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
        progress.set_style(style);
    }
    progress.enable_steady_tick(Duration::from_millis(100));
    progress.set_message(words);
    progress
}
