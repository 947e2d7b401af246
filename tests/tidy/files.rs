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

/// The lines of a Rust source that begin a block which rustdoc would compile.
fn examples_in(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut is_fenced, mut follows_blank) = (false, true);
    for line in text.lines() {
        let comment = line.trim_start();
        let comment = comment.strip_prefix("///").or(comment.strip_prefix("//!"));
        let Some(comment) = comment else {
            (is_fenced, follows_blank) = (false, true);
            continue;
        };
        let words = comment.trim_start();
        if let Some(kind) = words.strip_prefix("```").or(words.strip_prefix("~~~")) {
            if !is_fenced && !kind.starts_with("text") {
                found.push(line);
            }
            is_fenced = !is_fenced;
        } else if !is_fenced && follows_blank && comment.starts_with("     ") {
            found.push(line);
        }
        follows_blank = words.is_empty();
    }
    found
}

/// `tests/run` compiles no examples, because there are none.
#[test]
fn no_documentation_contains_an_example_in_rust() {
    let of_each_kind =
        "/// ```\n/// ```\n//! ~~~rust\n//! ~~~\n///\n///     code\n/// ```text\n/// ```";
    assert_eq!(examples_in(of_each_kind).len(), 3);
    let mut found = Vec::new();
    for source in all().iter().filter(|source| source.is_rust()) {
        let lines = examples_in(&source.text).into_iter();
        found.extend(lines.map(|line| format!("{}: {}", source.path, line.trim())));
    }
    assert_none("examples that no test compiles", found);
}

/// It can deadlock in the version of sled in use.
#[test]
fn sled_is_never_flushed_asynchronously() {
    let call = concat!(".flush", "_async");
    let sources = all();
    let found = sources.iter().flat_map(|source| source.lines_with(call));
    assert_none("calls that can deadlock", found.collect());
}
