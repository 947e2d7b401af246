//! Imports go down the layers that `docs/architecture.md` draws, and no modules form an import cycle.

use crate::modules::{self, Module, Modules};
use crate::sources::{assert_none, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The rows of the drawing from the top. The modules of one row do not import each other.
fn layers() -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join("docs/architecture.md")).expect("the document");
    let (_, rest) = text.split_once("```layers\n").expect("the drawing");
    let (drawing, _) = rest.split_once("```").expect("its end");
    let rows = drawing.lines().map(|line| {
        let names = line.split_whitespace();
        let paths = names.filter(|it| it.contains('/') || ["actors", "src"].contains(it));
        paths.map(str::to_owned).collect()
    });
    rows.filter(|row: &Vec<String>| !row.is_empty()).collect()
}

/// The row of the drawing that a file belongs to, and the longest name there that the file lies below.
fn row_of<'a>(file: &str, layers: &'a [Vec<String>]) -> Option<(usize, &'a str)> {
    let rows = layers.iter().enumerate();
    let all = rows.flat_map(|(row, names)| names.iter().map(move |name| (row, name.as_str())));
    let covers = |name: &str| {
        let stem = file.strip_suffix(".rs").unwrap_or(file);
        file == name || stem == name || file.starts_with(&format!("{name}/"))
    };
    all.filter(|(_, name)| covers(name))
        .max_by_key(|(_, name)| name.len())
}

#[test]
fn every_module_is_in_the_diagram_and_imports_point_down() {
    let (modules, layers) = (modules::read(), layers());
    let missing: Vec<String> = modules
        .files
        .values()
        .filter(|file| row_of(file, &layers).is_none())
        .cloned()
        .collect();
    assert_none("files that the drawing does not cover", missing);
    let unknown = layers.iter().flatten().filter(|name| {
        let path = root().join(name);
        !path.exists() && !path.with_extension("rs").exists()
    });
    assert_none(
        "names of the drawing without a file",
        unknown.cloned().collect(),
    );
    let mut found = BTreeMap::new();
    for import in &modules.imports {
        let ends = [&import.from, &import.to].map(|it| row_of(&modules.files[it], &layers));
        let [Some((from_row, from)), Some((to_row, to))] = ends else {
            continue;
        };
        if from != to && to_row <= from_row {
            let file = &modules.files[&import.from];
            found.entry((from, to)).or_insert_with(|| file.clone());
        }
    }
    let found = found.iter();
    let found = found.map(|((from, to), file)| format!("{from} -> {to}, for example in {file}"));
    assert_none("imports that do not go down", found.collect());
}

#[test]
fn no_modules_import_each_other_in_a_circle() {
    let found = cycles(&modules::read()).into_iter();
    let found = found.map(|(folder, members)| format!("{folder}: {members:?}"));
    assert_none("modules that import each other", found.collect());
}

/// The children of each folder that reach each other.
fn cycles(modules: &Modules) -> Vec<(String, BTreeSet<String>)> {
    let mut folders: BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for import in &modules.imports {
        let (from, to) = (&import.from, &import.to);
        let common = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        if 0 < common && common < from.len() && common < to.len() {
            let edges = folders.entry(from[..common].to_vec()).or_default();
            let targets = edges.entry(from[common].clone()).or_default();
            targets.insert(to[common].clone());
        }
    }
    let mut found = Vec::new();
    for (folder, edges) in &folders {
        let mut left: BTreeSet<&String> = edges.keys().collect();
        while let Some(one) = left.pop_first() {
            let ahead = reachable(one, edges);
            let back = |it: &&String| reachable(it, edges).contains(one);
            let circle: BTreeSet<String> = ahead.iter().filter(back).cloned().collect();
            if circle.len() > 1 {
                left.retain(|it| !circle.contains(*it));
                found.push((folder.join("/"), circle));
            }
        }
    }
    found
}

fn reachable(from: &str, edges: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let (mut found, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(one) = next.pop() {
        for target in edges.get(one).into_iter().flatten() {
            if found.insert(target.clone()) {
                next.push(target);
            }
        }
    }
    found
}

#[test]
fn circles_are_found_at_every_level() {
    let module = |path: &str| -> Module { path.split('/').map(str::to_owned).collect() };
    let import = |(from, to)| modules::Import {
        from: module(from),
        to: module(to),
    };
    let pairs = [
        ("p/a/x", "p/b/y"),
        ("p/b", "p/c"),
        ("p/c/z", "p/a"),
        ("p/a/x", "p/a/w"),
        ("p/a/w", "p/a"),
        ("p/d/e", "p/d/f/g"),
        ("p/d/f", "p/d/e"),
        ("p/d", "p/a"),
    ];
    let modules = Modules {
        files: BTreeMap::new(),
        imports: pairs.map(import).into(),
    };
    let found = cycles(&modules);
    let set = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
    let expected: [(String, BTreeSet<String>); 2] = [
        ("p".into(), set(&["a", "b", "c"])),
        ("p/d".into(), set(&["e", "f"])),
    ];
    assert_eq!(found, expected);
}
