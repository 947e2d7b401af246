//! `docs/conformance.md` names existing tests, and every test named after a statement of the specification.

use crate::sources::{Source, all, assert_none};
use std::collections::BTreeSet;

const PAGE: &str = "docs/conformance.md";

/// The tests in the second column of each table.
fn tests_by_row(page: &str) -> impl Iterator<Item = (&str, Vec<&str>)> {
    page.lines().filter_map(|line| {
        let (statement, shown) = line.strip_prefix("| ")?.rsplit_once(" | ")?;
        let is_row = shown.starts_with('`') || shown.trim_end_matches(" |").is_empty();
        let tests = shown.trim_end_matches(" |").split("<br>");
        is_row.then(|| (statement, tests.map(|it| it.trim_matches('`')).collect()))
    })
}

/// The names of the functions with `#[test]` or a similar attribute.
pub fn tests_of(text: &str) -> impl Iterator<Item = &str> {
    let attributed = text.split("test]\n").skip(1);
    attributed.filter_map(|rest| {
        let name = rest.split_once("fn ")?.1;
        Some(&name[..name.find('(')?])
    })
}

fn exists(sources: &[Source], test: &str) -> bool {
    let Some((path, name)) = test.split_once("::") else {
        return false;
    };
    let source = sources.iter().find(|it| it.path == path);
    source.is_some_and(|it| tests_of(&it.text).any(|it| it == name))
}

#[test]
fn every_statement_is_shown_by_tests_that_exist() {
    let sources = all();
    let page = sources.iter().find(|it| it.path == PAGE).expect("the page");
    let rows: Vec<_> = tests_by_row(&page.text).collect();
    assert!(rows.len() > 80, "the tables have another form");
    let missing = rows.iter().flat_map(|(statement, tests)| {
        let missing = tests.iter().filter(|it| !exists(&sources, it));
        missing.map(move |it| format!("{statement}: {it:?}"))
    });
    assert_none("tests that do not exist", missing.collect());
}

#[test]
fn every_test_of_a_statement_is_on_the_page() {
    let sources = all();
    let page = sources.iter().find(|it| it.path == PAGE).expect("the page");
    let listed: BTreeSet<&str> = tests_by_row(&page.text)
        .flat_map(|(_, tests)| tests)
        .collect();
    let mut missing = Vec::new();
    for source in sources.iter().filter(|it| it.path.contains("/spec_")) {
        let tests = tests_of(&source.text).map(|it| format!("{}::{it}", source.path));
        missing.extend(tests.filter(|it| !listed.contains(&**it)));
    }
    assert_none("tests that the page does not name", missing);
}

#[test]
fn rows_and_tests_are_read_from_their_text() {
    let page =
        "| Statement | Shown by |\n|---|---|\n| a \\| b | `x.rs::y`<br>`x.rs::z` |\n| c |  |\n";
    let rows: Vec<_> = tests_by_row(page).collect();
    assert_eq!(
        rows,
        [("a \\| b", vec!["x.rs::y", "x.rs::z"]), ("c", vec![""])]
    );
    let text = "#[test]\nfn one() {}\n#[actix_web::test]\nasync fn two() {}\nfn other() {}\n";
    assert_eq!(tests_of(text).collect::<Vec<_>>(), ["one", "two"]);
}
