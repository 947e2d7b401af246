//! `tests/hostile.md` names existing tests, and every test that carries one of its numbers.

use crate::sources::{Source, all, assert_none, root};
use std::collections::{BTreeMap, BTreeSet};

const GROUPS: u32 = 122;

/// The tests in the row of each group: `path`, or `path::test`.
fn table(text: &str) -> BTreeMap<u32, BTreeSet<String>> {
    let mut rows = BTreeMap::new();
    for line in text.lines() {
        let mut cells = line.trim_matches('|').split(" | ");
        let Some(group) = cells.next().and_then(|it| it.trim().parse().ok()) else {
            continue;
        };
        let shown = cells.nth(1).unwrap_or_default();
        let names = shown.split("<br>").map(|it| it.trim().trim_matches('`'));
        let names = names.map(str::to_owned).collect();
        assert!(rows.insert(group, names).is_none(), "{group} occurs twice");
    }
    rows
}

/// The groups in a test's name: `hostile_57_58_...` covers 57 and 58.
fn groups(name: &str) -> impl Iterator<Item = u32> {
    let rest = name.strip_prefix("hostile_").unwrap_or_default();
    let parts = rest.split('_').filter(|it| *it != "and");
    parts.map_while(|it| it.parse().ok())
}

/// The tests of a file that carry a number.
fn numbered(source: &Source) -> Vec<String> {
    let rests = source.text.split("fn hostile_").skip(1);
    let names = rests.filter_map(|rest| Some(format!("hostile_{}", &rest[..rest.find('(')?])));
    names.filter(|name| groups(name).next().is_some()).collect()
}

#[test]
fn every_group_is_shown_by_tests_that_exist() {
    let sources = all();
    let text = sources.iter().find(|it| it.path == "tests/hostile.md");
    let table = table(&text.expect("the table").text);
    let groups: Vec<u32> = table.keys().copied().collect();
    assert_eq!(groups, (1..=GROUPS).collect::<Vec<_>>());
    let exists = |shown: &str| match shown.split_once("::") {
        Some((path, test)) => {
            sources
                .iter()
                .any(|it| it.path == path && it.text.contains(&format!("fn {test}(")))
                || is_generated(&sources, path, test)
        }
        None => root().join(shown).is_file(),
    };
    let missing = table.iter().flat_map(|(group, shown)| {
        let missing = shown.iter().filter(|it| !exists(it));
        missing.map(move |it| format!("{group}: {it:?}"))
    });
    assert_none("tests that are not there", missing.collect());
}

/// A macro generates the tests of the fuzz targets from the list of their names.
fn is_generated(sources: &[Source], path: &str, test: &str) -> bool {
    let source = sources.iter().find(|it| it.path == path);
    path == "tests/fuzz/rounds.rs"
        && source.is_some_and(|it| it.text.contains(&format!("    {test},\n")))
}

#[test]
fn every_test_with_a_number_is_listed_in_its_row() {
    let sources = all();
    let text = sources.iter().find(|it| it.path == "tests/hostile.md");
    let table = table(&text.expect("the table").text);
    let mut missing = Vec::new();
    for source in sources.iter().filter(|it| it.is_rust()) {
        for name in numbered(source) {
            let shown = format!("{}::{name}", source.path);
            let absent = |group: &u32| !table.get(group).is_some_and(|row| row.contains(&shown));
            missing.extend(
                groups(&name)
                    .filter(absent)
                    .map(|it| format!("{it}: {shown}")),
            );
        }
    }
    assert_none("tests that their row does not name", missing);
}

#[test]
fn numbers_are_read_from_names() {
    let of = |name| groups(name).collect::<Vec<_>>();
    assert_eq!(of("hostile_037_and_45_a"), [37, 45]);
    assert_eq!(of("hostile_1_2_3_4"), [1, 2, 3, 4]);
    assert!(of("hostile_prompts").is_empty() && of("other_1").is_empty());
    let rows = table("| 7 | a | `x.rs::y`<br>`z` |\n| | b | c |\n");
    assert_eq!(rows[&7], ["x.rs::y".to_owned(), "z".to_owned()].into());
}
