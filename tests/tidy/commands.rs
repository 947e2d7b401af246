//! The test commands of the documents are valid and select tests that exist: without a match, cargo reports success.

use crate::conformance::tests_of;
use crate::sources::{Source, all, assert_none};

/// The words of each `cargo test` of a page, up to the end of the code, of the line or of the command.
fn commands(page: &str) -> impl Iterator<Item = Vec<&str>> {
    let rests = page.split("cargo test ").skip(1);
    rests.map(|rest| {
        let command = rest.split(['`', '\n', '#', '&', ';']).next();
        command.unwrap_or_default().split_whitespace().collect()
    })
}

/// The words that select tests: before `--`, of which cargo accepts one, and after it.
fn filters<'a>(command: &[&'a str]) -> (Vec<&'a str>, Vec<&'a str>) {
    let end = command.iter().position(|it| *it == "--");
    let (own, passed) = command.split_at(end.unwrap_or(command.len()));
    let is_value = |at: usize| at > 0 && ["-p", "--test"].contains(&own[at - 1]);
    let own = own.iter().enumerate();
    let own = own.filter(|(at, it)| !it.starts_with('-') && !is_value(*at));
    let passed = passed.iter().filter(|it| !it.starts_with('-'));
    (own.map(|(_, it)| *it).collect(), passed.copied().collect())
}

/// Does a folder of tests have this name?
fn is_program(sources: &[Source], name: &str) -> bool {
    let main = format!("tests/{name}/main.rs");
    sources.iter().any(|it| it.path.ends_with(&main))
}

fn selects(sources: &[Source], filter: &str) -> bool {
    let mut programs = sources.iter().filter(|it| it.is_rust());
    programs.any(|it| {
        let is_module = it.path.contains(filter);
        tests_of(&it.text).any(|name| is_module || name.contains(filter))
    })
}

#[test]
fn every_test_command_selects_tests() {
    let sources = all();
    let mut faults = Vec::new();
    for page in sources.iter().filter(|it| it.path.ends_with(".md")) {
        for command in commands(&page.text) {
            let (own, passed) = filters(&command);
            let text = command.join(" ");
            if own.len() > 1 {
                faults.push(format!("{}: several names before --: {text}", page.path));
            }
            let programs = command.windows(2).filter(|it| it[0] == "--test");
            let absent = programs.filter(|it| !is_program(&sources, it[1]));
            faults.extend(absent.map(|it| format!("{}: no program {}: {text}", page.path, it[1])));
            let mut unknown = own
                .iter()
                .chain(&passed)
                .filter(|it| !selects(&sources, it));
            faults.extend(
                unknown
                    .by_ref()
                    .map(|it| format!("{}: no test {it}: {text}", page.path)),
            );
        }
    }
    assert_none("commands that select no tests", faults);
}

#[test]
fn names_are_told_from_options() {
    let words: Vec<&str> = "-p a --test b one -- two --nocapture".split(' ').collect();
    assert_eq!(filters(&words), (vec!["one"], vec!["two"]));
    let found: Vec<_> = commands("`X=1 cargo test --test a b`; `cargo test --workspace`").collect();
    assert_eq!(found, [vec!["--test", "a", "b"], vec!["--workspace"]]);
}
