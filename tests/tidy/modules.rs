//! The modules of all packages and their imports, read from the source.
//!
//! Comments, string literals and items compiled only for tests do not count.

use crate::sources::{Source, all, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The benchmark, a target of the product's package.
const BENCHMARK: &str = "benches/load";

/// A module: its package's folder, then the module names on its path.
pub type Module = Vec<String>;

/// An import: the importing module, and the module that defines the name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Import {
    pub from: Module,
    pub to: Module,
}

pub struct Modules {
    /// Each module with its file.
    pub files: BTreeMap<Module, String>,
    pub imports: BTreeSet<Import>,
}

struct ParsedFile {
    /// Paths in the file; a re-exported path (`pub use`) with its public name.
    paths: Vec<ImportPath>,
    /// Modules declared only for tests.
    test_modules: Vec<String>,
}

struct ImportPath {
    segments: Vec<String>,
    exported_as: Option<String>,
}

pub fn read() -> Modules {
    let packages = packages();
    let mut parsed = BTreeMap::new();
    let mut files = BTreeMap::new();
    for source in all() {
        if let Some(module) = module_of(&source, &packages) {
            parsed.insert(module.clone(), parse(&source.text, &packages));
            files.insert(module, source.path);
        }
    }
    let test_only: Vec<Module> = parsed
        .iter()
        .flat_map(|(module, it)| {
            let names = it.test_modules.iter();
            names.map(|name| [&module[..], std::slice::from_ref(name)].concat())
        })
        .collect();
    let is_test = |module: &Module| test_only.iter().any(|it| module.starts_with(it));
    parsed.retain(|module, _| !is_test(module));
    files.retain(|module, _| !is_test(module));
    let mut imports = BTreeSet::new();
    for (from, it) in &parsed {
        for named in &it.paths {
            if let Some(to) = resolve(from, &named.segments, &parsed, &packages, 0)
                && to != *from
            {
                let from = from.clone();
                imports.insert(Import { from, to });
            }
        }
    }
    Modules { files, imports }
}

/// The packages' folders by crate name.
fn packages() -> BTreeMap<String, String> {
    let mut folders = vec![("src".to_owned(), ".".to_owned())];
    for name in ["actors", "storage"] {
        folders.push((format!("{name}/src"), name.to_owned()));
    }
    for entry in fs::read_dir(root().join("crates")).into_iter().flatten() {
        let name = entry.expect("an entry").file_name();
        let name = name.to_str().expect("a name");
        folders.push((format!("crates/{name}/src"), format!("crates/{name}")));
    }
    let mut packages = BTreeMap::new();
    for (folder, package) in folders {
        let manifest = fs::read_to_string(root().join(&package).join("Cargo.toml"));
        let Ok(manifest) = manifest else { continue };
        let manifest: toml::Table = manifest.parse().expect("TOML");
        let name = manifest["package"]["name"].as_str().expect("a name");
        packages.insert(name.replace('-', "_"), folder);
    }
    // Not a valid identifier, so no path can begin with it.
    packages.insert("the benchmark".to_owned(), BENCHMARK.to_owned());
    packages
}

fn module_of(source: &Source, packages: &BTreeMap<String, String>) -> Option<Module> {
    let stem = source.path.strip_suffix(".rs")?;
    let (folder, inner) = packages.values().find_map(|folder| {
        let inner = stem.strip_prefix(&format!("{folder}/"))?;
        Some((folder, inner))
    })?;
    let mut module = vec![folder.clone()];
    module.extend(inner.split('/').map(str::to_owned));
    let is_root = |name: &str| name == "lib" || name == "main" && folder == BENCHMARK;
    if module.len() == 2 && is_root(&module[1]) || module.last().is_some_and(|it| it == "mod") {
        module.pop();
    }
    Some(module)
}

/// The module that a path leads to, through re-exports.
fn resolve(
    from: &Module,
    segments: &[String],
    parsed: &BTreeMap<Module, ParsedFile>,
    packages: &BTreeMap<String, String>,
    depth: usize,
) -> Option<Module> {
    let (first, mut rest) = segments.split_first()?;
    let mut at: Module = match first.as_str() {
        "crate" => vec![from[0].clone()],
        "self" => from.clone(),
        "super" => from[..from.len() - 1].to_vec(),
        name => match packages.get(name) {
            Some(folder) => vec![folder.clone()],
            None => {
                rest = segments;
                from.clone()
            }
        },
    };
    if at.is_empty() {
        return None;
    }
    let is_relative = rest.len() == segments.len();
    let begin = at.len();
    while let Some((name, after)) = rest.split_first() {
        if name == "super" {
            at.pop();
            rest = after;
            continue;
        }
        let child = [&at[..], std::slice::from_ref(name)].concat();
        if parsed.contains_key(&child) {
            at = child;
            rest = after;
            continue;
        }
        let given_on = parsed.get(&at).and_then(|it| {
            let mut paths = it.paths.iter();
            paths.find(|it| it.exported_as.as_ref() == Some(name))
        });
        if let (Some(given), true) = (given_on, depth < 8)
            && let Some(found) = resolve(&at, &given.segments, parsed, packages, depth + 1)
        {
            return Some(found);
        }
        break;
    }
    // A first name that is not a module here belongs to another crate or to an item.
    if is_relative && at.len() == begin {
        return None;
    }
    Some(at)
}

fn parse(text: &str, packages: &BTreeMap<String, String>) -> ParsedFile {
    let (tokens, test_modules) = without_tests(&tokens(text));
    let mut paths = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at] == "use" {
            let is_public = tokens[..at]
                .iter()
                .rev()
                .take(5)
                .take_while(|it| !matches!(it.as_str(), ";" | "}" | "]"))
                .any(|it| it == "pub");
            at += 1;
            at = use_tree(&tokens, at, &[], is_public, &mut paths);
            continue;
        }
        let begins =
            matches!(tokens[at].as_str(), "crate" | "super") || packages.contains_key(&tokens[at]);
        if begins && tokens.get(at + 1).is_some_and(|it| it == "::") {
            let mut segments = vec![tokens[at].clone()];
            at += 1;
            while tokens.get(at).is_some_and(|it| it == "::")
                && tokens.get(at + 1).is_some_and(|it| is_name(it))
            {
                segments.push(tokens[at + 1].clone());
                at += 2;
            }
            paths.push(ImportPath {
                segments,
                exported_as: None,
            });
            continue;
        }
        at += 1;
    }
    ParsedFile {
        paths,
        test_modules,
    }
}

/// Parses one tree of a `use` and returns its end.
fn use_tree(
    tokens: &[String],
    mut at: usize,
    before: &[String],
    is_public: bool,
    paths: &mut Vec<ImportPath>,
) -> usize {
    let mut segments = before.to_vec();
    while let Some(token) = tokens.get(at) {
        match token.as_str() {
            "::" => at += 1,
            "{" => {
                at += 1;
                while tokens.get(at).is_some_and(|it| it != "}") {
                    at = use_tree(tokens, at, &segments, is_public, paths);
                    if tokens.get(at).is_some_and(|it| it == ",") {
                        at += 1;
                    }
                }
                return at + 1;
            }
            "as" => {
                push(paths, segments, tokens.get(at + 1).cloned(), is_public);
                return at + 2;
            }
            "*" => at += 1,
            name if is_name(name) => {
                if name != "self" || segments.is_empty() {
                    segments.push(name.to_owned());
                }
                at += 1;
            }
            _ => break,
        }
    }
    let name = segments.last().cloned();
    push(paths, segments, name, is_public);
    at
}

fn push(paths: &mut Vec<ImportPath>, segments: Vec<String>, name: Option<String>, is_public: bool) {
    paths.push(ImportPath {
        segments,
        exported_as: name.filter(|_| is_public),
    });
}

fn is_name(token: &str) -> bool {
    token.starts_with(|it: char| it.is_alphabetic() || it == '_')
}

/// Removes every item behind `#[cfg(test)]`, and returns the names of the removed modules.
fn without_tests(tokens: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut kept, mut modules, mut at) = (Vec::new(), Vec::new(), 0);
    while at < tokens.len() {
        let marks = |words: &[&str]| {
            let found = tokens[at..].iter().take(words.len());
            found.eq(words.iter())
        };
        let is_test = marks(&["#", "[", "cfg", "(", "test", ")", "]"])
            || marks(&["#", "[", "cfg", "(", "any", "(", "test"]);
        if !is_test {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        let mut depth = 0;
        let mut last = String::new();
        while at < tokens.len() {
            let token = tokens[at].as_str();
            at += 1;
            if last == "mod" {
                modules.push(token.to_owned());
            }
            match token {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth -= 1,
                _ => {}
            }
            if depth == 0 && matches!(token, "}" | ";") {
                break;
            }
            last = token.to_owned();
        }
    }
    (kept, modules)
}

/// Names, `::` and single characters, without comments and string literals.
fn tokens(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let (mut tokens, mut at) = (Vec::new(), 0);
    let is = |at: usize, wanted: &str| {
        let found = characters[at.min(characters.len())..].iter();
        found.take(wanted.len()).copied().eq(wanted.chars())
    };
    while at < characters.len() {
        let one = characters[at];
        if is(at, "//") {
            while at < characters.len() && characters[at] != '\n' {
                at += 1;
            }
        } else if is(at, "/*") {
            while at < characters.len() && !is(at, "*/") {
                at += 1;
            }
            at += 2;
        } else if let Some(hashes) = raw_text(&characters[at..]) {
            let end = format!("\"{}", "#".repeat(hashes));
            at += hashes + 2;
            while at < characters.len() && !is(at, &end) {
                at += 1;
            }
            at += end.len();
        } else if one == '"' {
            at += 1;
            while at < characters.len() && characters[at] != '"' {
                at += if characters[at] == '\\' { 2 } else { 1 };
            }
            at += 1;
        } else if one == '\'' {
            // A character literal ends in another quote; a lifetime does not.
            match characters.get(at + 1) {
                Some('\\') => {
                    at += 3;
                    while at < characters.len() && characters[at] != '\'' {
                        at += 1;
                    }
                    at += 1;
                }
                _ if characters.get(at + 2) == Some(&'\'') => at += 3,
                _ => at += 1,
            }
        } else if one.is_alphanumeric() || one == '_' {
            let begin = at;
            while at < characters.len()
                && (characters[at].is_alphanumeric() || characters[at] == '_')
            {
                at += 1;
            }
            tokens.push(characters[begin..at].iter().collect());
        } else if is(at, "::") {
            tokens.push("::".into());
            at += 2;
        } else {
            if !one.is_whitespace() {
                tokens.push(one.into());
            }
            at += 1;
        }
    }
    tokens
}

/// The number of hashes, if a raw string begins here.
fn raw_text(characters: &[char]) -> Option<usize> {
    let rest = characters.strip_prefix(&['r'])?;
    let hashes = rest.iter().take_while(|it| **it == '#').count();
    (rest.get(hashes) == Some(&'"')).then_some(hashes)
}

#[test]
fn paths_are_read_as_the_compiler_reads_them() {
    let text = r##"
        //! use crate::comment;
        pub(crate) use inner::{self, Thing as Other, deep::{A, B}};
        use super::sibling::*;
        #[cfg(test)]
        mod tests { use crate::test_only; }
        #[cfg(test)]
        mod others;
        fn f<'a>(it: &'a str) { let x = "use crate::text;"; crate::called::here(r#"crate::raw"#, '"'); }
    "##;
    let parsed = parse(text, &BTreeMap::new());
    let paths: Vec<String> = parsed
        .paths
        .iter()
        .map(|it| it.segments.join("::"))
        .collect();
    let expected = [
        "inner",
        "inner::Thing",
        "inner::deep::A",
        "inner::deep::B",
        "super::sibling",
        "crate::called::here",
    ];
    assert_eq!(paths, expected);
    assert_eq!(parsed.test_modules, ["tests", "others"]);
    assert_eq!(parsed.paths[1].exported_as.as_deref(), Some("Other"));
}
