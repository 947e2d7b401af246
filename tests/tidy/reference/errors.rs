//! The table of codes in `docs/errors.md` is generated from `src/web/problem/codes.rs`, which `/docs` shows too.

use super::check_or_write;
use crate::sources::root;
use std::fs;

const PAGE: &str = "docs/errors.md";
const SOURCE: &str = "src/web/problem/codes.rs";
const HEAD: &str = "| Status | `code` | When | What to do | Retry |\n|---|---|---|---|---|\n";

#[test]
fn the_table_of_errors_matches_the_source() {
    let source = fs::read_to_string(root().join(SOURCE)).unwrap();
    let rows = rows(&source);
    assert!(rows.len() > 20, "the table of codes has another form");
    let page = fs::read_to_string(root().join(PAGE)).unwrap();
    check_or_write(PAGE, &with_rows(&page, &rows.concat()));
}

#[test]
fn a_row_has_the_texts_of_its_code() {
    let source = "codes!(\n    Gone = 410, \"gone\", \"Gone\",\n        \"it is gone\",\n        \"go\", \"no\",\n        \"x\";\n);\n\nimpl Code {}";
    let row = "| 410 | `gone` | it is gone | go | no |\n";
    assert_eq!(rows(source), [row]);
    let page = format!("Before.\n\n{HEAD}| old |\n\nAfter.\n");
    let expected = format!("Before.\n\n{HEAD}{row}\nAfter.\n");
    assert_eq!(with_rows(&page, row), expected);
}

/// The lines of the table, from the rows of the macro call: a status, then word, title, meaning, action, retry and example.
fn rows(source: &str) -> Vec<String> {
    let (_, table) = source.split_once("codes!(\n").expect("the table");
    let (table, _) = table.split_once("\n);").expect("the end of the table");
    let rows = table.split_terminator("\";");
    rows.map(|row| {
        let texts: Vec<&str> = row.split('"').collect();
        let status = texts[0].split(['=', ',']).nth(1).unwrap_or_default();
        let [word, meaning, action, retry] = [1, 5, 7, 9].map(|at| texts[at]);
        assert!(["yes", "later", "no"].contains(&retry), "{word}: {retry}");
        let status = status.trim();
        format!("| {status} | `{word}` | {meaning} | {action} | {retry} |\n")
    })
    .collect()
}

/// Replaces the rows below the head of the table.
fn with_rows(page: &str, rows: &str) -> String {
    let (before, rest) = page.split_once(HEAD).expect("the head of the table");
    let (_, after) = rest.split_once("\n\n").expect("the end of the table");
    format!("{before}{HEAD}{rows}\n{after}")
}
