//! Limits and forbidden contents of every file.

use crate::sources::{all, assert_none};

/// A longer file covers more than one subject.
const MAX_LINES: usize = 500;

#[test]
fn no_source_is_long() {
    let mut sources = all();
    sources.retain(|source| source.is_rust());
    let long = sources.iter().filter_map(|source| {
        let lines = source.text.lines().count();
        (lines > MAX_LINES).then(|| format!("{}: {lines} lines", source.path))
    });
    assert_none("files of more than 500 lines", long.collect());
}

#[test]
fn every_source_begins_with_a_module_comment() {
    let mut sources = all();
    sources.retain(|source| source.is_rust() && !source.text.starts_with("//! "));
    let silent = sources.into_iter().map(|source| source.path);
    assert_none("files that do not begin with `//! `", silent.collect());
}

#[test]
fn no_source_contains_a_marker_of_unfinished_work() {
    // Split, so that this file does not match.
    let words = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("dbg", "!("),
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("#[", "ignore"),
    ];
    let sources = all();
    let mut found = Vec::new();
    for source in &sources {
        for word in words {
            found.extend(source.lines_with(word));
        }
    }
    assert_none("left for later", found);
}

#[test]
fn no_source_contains_a_path_of_a_development_machine() {
    let words = [
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
        concat!("/ho", "me/"),
    ];
    let sources = all();
    let mut found = Vec::new();
    for source in &sources {
        for word in words {
            found.extend(source.lines_with(word));
        }
    }
    assert_none("paths of a machine", found);
}

/// It can deadlock in the version of sled in use.
#[test]
fn sled_is_never_flushed_asynchronously() {
    let call = concat!(".flush", "_async");
    let sources = all();
    let found = sources.iter().flat_map(|source| source.lines_with(call));
    assert_none("calls that can deadlock", found.collect());
}
