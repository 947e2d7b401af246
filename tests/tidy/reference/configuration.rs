//! `docs/configuration.md` is generated from `config.toml`.

use super::check_or_write;
use crate::sources::root;
use std::fs;

const PAGE: &str = "docs/configuration.md";
const HEAD: &str = "# Configuration

This page is generated from [config.toml](../config.toml).

";

#[test]
fn the_reference_of_the_configuration_matches_the_file() {
    let file = fs::read_to_string(root().join("config.toml")).unwrap();
    check_or_write(PAGE, &page(&file));
}

#[test]
fn every_key_has_its_default_and_its_variable() {
    let file = "# About all.\n\n[a]\n\n# What it is: <x>.\n#\n#   list  of things\nkey = [1]\n\n# Examples:\n#\n#[a.b]\n#other = 2\n\n## More\n\n# First.\n\n# Of it.\n[b]\n";
    let expected = format!(
        "{HEAD}About all.\n\n## `[a]`\n\n### `key`\n\nDefault: `[1]`. Environment: `TINTYPE__A__KEY`.\n\nWhat it is: \\<x>.\n\n```text\nlist  of things\n```\n\nExamples:\n\n```toml\n[a.b]\nother = 2\n```\n\n## More\n\nFirst.\n\n## `[b]`\n\nOf it.\n"
    );
    assert_eq!(page(file), expected);
}

/// Renders the page of a configuration file.
fn page(file: &str) -> String {
    let mut page = HEAD.to_owned();
    let (mut section, mut comment) = (String::new(), Vec::new());
    for line in file.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            page += &prose(&std::mem::take(&mut comment));
            page += &format!("## {title}\n\n");
        } else if let Some(text) = line.strip_prefix('#') {
            comment.push(text);
        } else if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').to_owned();
            page += &format!("## `[{section}]`\n\n");
            page += &prose(&std::mem::take(&mut comment));
        } else if let Some((key, value)) = line.split_once(" = ") {
            let variable = format!("TINTYPE__{section}__{key}").replace('.', "__");
            let variable = variable.to_uppercase();
            page += &format!("### `{key}`\n\nDefault: `{value}`. Environment: `{variable}`.\n\n");
            page += &prose(&std::mem::take(&mut comment));
        } else {
            page += &prose(&std::mem::take(&mut comment));
        }
    }
    page += &prose(&comment);
    page.truncate(page.trim_end().len());
    page + "\n"
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Table,
    Example,
}

/// Renders a comment: paragraphs, tables unchanged, examples as code.
fn prose(comment: &[&str]) -> String {
    let mut out = String::new();
    let mut block: Option<(Kind, Vec<&str>)> = None;
    for line in comment {
        let kind = match line {
            it if it.trim().is_empty() => None,
            it if it.starts_with("   ") => Some(Kind::Table),
            it if it.starts_with(' ') => Some(Kind::Text),
            _ => Some(Kind::Example),
        };
        if kind != block.as_ref().map(|(kind, _)| *kind) {
            out += &rendered(block.take());
        }
        if let Some(kind) = kind {
            block.get_or_insert((kind, Vec::new())).1.push(line);
        }
    }
    out + &rendered(block)
}

fn rendered(block: Option<(Kind, Vec<&str>)>) -> String {
    let Some((kind, lines)) = block else {
        return String::new();
    };
    match kind {
        Kind::Text => {
            let lines: Vec<String> = lines.iter().map(|it| escaped(it.trim())).collect();
            lines.join("\n") + "\n\n"
        }
        Kind::Table => {
            let lines: Vec<&str> = lines.iter().map(|it| &it[3..]).collect();
            format!("```text\n{}\n```\n\n", lines.join("\n"))
        }
        Kind::Example => format!("```toml\n{}\n```\n\n", lines.join("\n")),
    }
}

/// Escapes the start of HTML tags outside of code.
fn escaped(line: &str) -> String {
    let parts = line.split('`').enumerate();
    let part = |(at, part): (usize, &str)| match at % 2 {
        0 => part.replace('<', "\\<"),
        _ => part.to_owned(),
    };
    parts.map(part).collect::<Vec<_>>().join("`")
}
