//! The file layer: reads and parses the configuration file, with the line of each key.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

use toml::de::DeTable;

use super::error::{Faults, Location};
use super::node::{Tree, tree_of};

/// A configuration file is far smaller. A larger file is not one.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Parses a document. Records what cannot be parsed as faults, and reads the rest.
pub(super) fn parse(text: &str, location: &dyn Fn(usize) -> Location, faults: &Faults) -> Tree {
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        // Only the message: the parser's `Display` quotes the line, which may hold a secret.
        let offset = error.span().map_or(0, |span| span.start.min(text.len()));
        if faults.push_broken(&location(offset), format!("not TOML: {}", error.message())) {
            mute_below_broken_header(text, offset, location, faults);
        }
    }
    tree_of(table.get_ref(), location)
}

/// Mutes the keys below a header that cannot be parsed: the parser puts them into the wrong table, where all would be unknown.
fn mute_below_broken_header(
    text: &str,
    offset: usize,
    location: &dyn Fn(usize) -> Location,
    faults: &Faults,
) {
    let start = text.as_bytes()[..offset]
        .iter()
        .rposition(|b| *b == b'\n')
        .map_or(0, |at| at + 1);
    let is_header = |line: &[u8]| line.trim_ascii_start().starts_with(b"[");
    let mut at = start;
    for (index, line) in text.as_bytes()[start..]
        .split_inclusive(|b| *b == b'\n')
        .enumerate()
    {
        if is_header(line) != (index == 0) {
            break;
        }
        faults.mute(location(at));
        at += line.len();
    }
}

/// Reads the file that the user named, or the default file if it exists.
pub(super) fn read_file(
    named: Option<&Path>,
    default: Option<&Path>,
    faults: &Faults,
) -> Option<Tree> {
    let path = named.or(default)?;
    let shared: Arc<Path> = path.into();
    let whole = Location::File {
        path: shared.clone(),
        line: None,
    };
    let bytes = match read_bytes(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound && named.is_none() => return None,
        Err(error) => {
            let reason = match error.kind() {
                ErrorKind::NotFound => "no such file".to_owned(),
                ErrorKind::IsADirectory => "is a directory, expected a TOML file".to_owned(),
                ErrorKind::PermissionDenied => "no permission to read it".to_owned(),
                _ => format!("cannot be read: {error}"),
            };
            faults.push_broken(&whole, reason);
            return None;
        }
    };
    if bytes.len() as u64 > MAX_FILE_BYTES {
        faults.push_broken(
            &whole,
            format!("longer than {MAX_FILE_BYTES} bytes, expected a TOML file"),
        );
        return None;
    }
    let starts: Vec<usize> = std::iter::once(0)
        .chain(
            bytes
                .iter()
                .enumerate()
                .filter(|(_, b)| **b == b'\n')
                .map(|(at, _)| at + 1),
        )
        .collect();
    let location = |offset: usize| Location::File {
        path: shared.clone(),
        line: Some(starts.partition_point(|start| *start <= offset)),
    };
    match std::str::from_utf8(&bytes) {
        Ok(text) => Some(parse(text, &location, faults)),
        Err(error) => {
            faults.push_broken(
                &location(error.valid_up_to()),
                "not TOML: the line holds bytes that are not UTF-8".to_owned(),
            );
            None
        }
    }
}

fn read_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}
