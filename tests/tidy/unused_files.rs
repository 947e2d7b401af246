//! Every file is compiled or run: Rust silently ignores a file that no `mod` names.

use crate::sources::{Source, all, assert_none};
use std::collections::BTreeSet;

fn declares(text: &str, module: &str) -> bool {
    let declared = format!("mod {module};");
    text.lines().any(|line| {
        line.trim_start_matches("pub ")
            .trim_start_matches("pub(super) ")
            .trim_start_matches("pub(crate) ")
            == declared
    })
}

/// The files that could declare the module of this path, and the module's name.
fn parents(path: &str) -> (Vec<String>, &str) {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let name = file.trim_end_matches(".rs");
    let (folder, name) = match (name, folder.rsplit_once('/')) {
        ("mod", Some((above, module))) => (above, module),
        _ => (folder, name),
    };
    let in_folder = ["mod.rs", "lib.rs", "main.rs"].map(|it| format!("{folder}/{it}"));
    (
        in_folder
            .into_iter()
            .chain([format!("{folder}.rs")])
            .collect(),
        name,
    )
}

/// Cargo finds these by convention or through the manifest.
fn is_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let file = parts[parts.len() - 1];
    match parts[parts.len() - 2] {
        "src" => file == "lib.rs" || file == "main.rs",
        "benches" | "examples" => true,
        _ => file == "main.rs",
    }
}

#[test]
fn every_source_is_part_of_a_program() {
    let mut sources = all();
    sources.retain(Source::is_rust);
    let left_out = sources
        .iter()
        .filter(|source| !is_root(&source.path))
        .filter(|source| {
            let (parents, module) = parents(&source.path);
            !sources
                .iter()
                .any(|it| parents.contains(&it.path) && declares(&it.text, module))
        });
    assert_none(
        "files that no `mod` names",
        left_out.map(|it| it.path.clone()).collect(),
    );
}

#[test]
fn every_folder_of_tests_is_a_program() {
    let sources = all();
    let mut folders = BTreeSet::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        if let Some((package, rest)) = source.path.split_once("tests/")
            && ["", "actors/", "storage/"].contains(&package)
        {
            let folder = rest.split_once('/').map_or(rest, |(folder, _)| folder);
            folders.insert(format!("{package}tests/{folder}"));
        }
    }
    folders.retain(|folder| {
        let main = format!("{folder}/main.rs");
        !sources.iter().any(|source| source.path == main)
    });
    assert_none("tests without a main.rs", folders.into_iter().collect());
}

/// A script that nothing runs would break unnoticed.
#[test]
fn every_script_is_run_by_tests_run() {
    let sources = all();
    let command = sources.iter().find(|source| source.path == "tests/run");
    let command = &command.expect("the one test command").text;
    let is_script = |path: &str| {
        path.starts_with("tests/") && [".sh", ".py", ".mjs"].iter().any(|end| path.ends_with(end))
    };
    let unknown = sources.iter().filter(|source| {
        let file = source.path.rsplit('/').next().unwrap_or_default();
        let named = |text: &str| text.contains(file);
        let from_a_script = sources
            .iter()
            .any(|it| is_script(&it.path) && it.path != source.path && named(&it.text));
        is_script(&source.path) && !named(command) && !from_a_script
    });
    assert_none(
        "scripts that nothing runs",
        unknown.map(|it| it.path.clone()).collect(),
    );
}
