//! The links of the documents lead to existing files and headings.

use crate::sources::{all, assert_none, root};
use std::fs;
use std::path::Path;

/// The targets of the links in a text.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| {
        let target = &rest[..rest.find([')', ' ', '\n'])?];
        (!target.contains("://")).then_some(target)
    })
}

/// The anchor that Markdown hosts derive from a heading.
fn anchor(heading: &str) -> String {
    let kept = |it: &char| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_');
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    text.chars()
        .filter(kept)
        .collect::<String>()
        .replace(' ', "-")
}

fn exists(from: &Path, target: &str) -> bool {
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = match file {
        "" => from.to_owned(),
        file => from.parent().unwrap_or(from).join(file),
    };
    if heading.is_empty() {
        return path.exists();
    }
    let text = fs::read_to_string(path).unwrap_or_default();
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(anchor).any(|it| it == heading)
}

#[test]
fn every_link_of_the_documents_resolves() {
    let mut sources = all();
    sources.retain(|source| source.path.ends_with(".md"));
    assert!(sources.len() > 10);
    let mut dead = Vec::new();
    for source in &sources {
        let from = root().join(&source.path);
        for target in links(&source.text).filter(|it| !exists(&from, it)) {
            dead.push(format!("{}: {target}", source.path));
        }
    }
    assert_none("links that lead nowhere", dead);
}

#[test]
fn links_and_headings_are_parsed_as_hosts_parse_them() {
    let text = "a [b](c.md#d) and ![e](f.png) and [g](https://h.example) and [i](#j-k)";
    assert_eq!(links(text).collect::<Vec<_>>(), ["c.md#d", "f.png", "#j-k"]);
    assert_eq!(
        anchor("## Behind a proxy, with `TLS`"),
        "behind-a-proxy-with-tls"
    );
}
