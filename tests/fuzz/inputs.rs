//! The corpora of the targets: the files of `corpus/<target>`, each an input, in hexadecimal if its name ends in `.hex`. A
//! file named `found-*` once broke its target.

use std::fs;
use std::path::PathBuf;

/// The inputs of a target, ordered by file name.
pub fn of(target: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fuzz/corpus")
        .join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(
        paths.len() >= 3,
        "{folder:?} has only {} inputs",
        paths.len()
    );
    paths.iter().map(read).collect()
}

fn read(path: &PathBuf) -> Vec<u8> {
    let bytes = fs::read(path).unwrap();
    if path.extension().is_none_or(|it| it != "hex") {
        return bytes;
    }
    let digits: Vec<u8> = bytes
        .into_iter()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    hex::decode(digits).unwrap_or_else(|error| panic!("{path:?}: {error}"))
}
