//! Pages, or parts of them, that are generated from the source. These tests check that the two agree.
//!
//! To generate them: `TINTYPE_WRITE_DOCS=1 cargo test --test tidy reference`.

mod configuration;
mod errors;

use crate::sources::root;
use std::fs;

/// Checks that a page has this text, or writes it.
fn check_or_write(page: &str, text: &str) {
    let path = root().join(page);
    if std::env::var_os("TINTYPE_WRITE_DOCS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    let differs = written.lines().zip(text.lines()).find(|(a, b)| a != b);
    assert!(
        written == text,
        "{page} does not follow its source; write it anew as tests/tidy/reference.rs says. First difference: {differs:?}"
    );
}
