//! The text files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

/// Source folders, relative to the root.
const FOLDERS: &[&str] = &[
    ".ci", "actors", "benches", "clients", "crates", "deploy", "docs", "src", "storage", "tests",
];
/// Single files at the root.
const FILES: &[&str] = &[
    "CONTRIBUTING.md",
    "Cargo.toml",
    "README.md",
    "SECURITY.md",
    "config.toml",
];
/// Extensions of text files.
const TEXTS: &[&str] = &[
    "css",
    "html",
    "js",
    "json",
    "md",
    "mjs",
    "py",
    "rs",
    "sh",
    "snap",
    "toml",
    "ts",
    "txt",
    "run",
    "yml",
    "yaml",
    "conf",
    "service",
    "Caddyfile",
    "Dockerfile",
    "postinst",
    "postrm",
];
/// Folders of build products and downloads.
const BUILD_FOLDERS: &[&str] = &["target", "node_modules", "build", "dist"];

/// A text with its path relative to the root.
pub struct Source {
    pub path: String,
    pub text: String,
}

impl Source {
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The lines that contain a word, formatted for a report.
    pub fn lines_with<'a>(&'a self, word: &'a str) -> impl Iterator<Item = String> + 'a {
        let numbered = self.text.lines().enumerate();
        numbered
            .filter(move |(_, line)| line.contains(word))
            .map(|(at, line)| format!("{}:{}: {}", self.path, at + 1, line.trim()))
    }
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All texts, ordered by path.
pub fn all() -> Vec<Source> {
    let mut paths: Vec<PathBuf> = FILES.iter().map(|file| root().join(file)).collect();
    let mut folders: Vec<PathBuf> = FOLDERS.iter().map(|folder| root().join(folder)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                if !BUILD_FOLDERS.iter().any(|it| path.ends_with(it)) {
                    folders.push(path);
                }
            } else if is_text(&path) {
                paths.push(path);
            }
        }
    }
    paths.sort();
    let sources: Vec<Source> = paths.iter().filter_map(|path| read(path)).collect();
    assert!(sources.len() > 200, "the sources are elsewhere");
    sources
}

/// The texts below a folder.
pub fn below(folder: &str) -> Vec<Source> {
    let mut found = all();
    found.retain(|source| source.path.starts_with(folder));
    assert!(!found.is_empty(), "nothing below {folder}");
    found
}

fn is_text(path: &Path) -> bool {
    let name = path.extension().or(path.file_name());
    name.is_some_and(|name| TEXTS.iter().any(|it| name == *it))
}

fn read(path: &Path) -> Option<Source> {
    let text = fs::read_to_string(path).ok()?;
    let path = path.strip_prefix(root()).ok()?.to_str()?.to_owned();
    Some(Source { path, text })
}

/// Asserts that a list of violations is empty.
pub fn assert_none(rule: &str, found: Vec<String>) {
    assert!(found.is_empty(), "{rule}:\n{}", found.join("\n"));
}
