//! Builds `LD_PRELOAD` libraries that change system calls.

use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Builds a library from a source of this repository.
pub struct Preload {
    _directory: TempDir,
    pub path: PathBuf,
}

impl Preload {
    /// # Panics
    /// There is no C compiler, or the source is wrong.
    pub fn build(source: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("preload.so");
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let compiled = Command::new(compiler)
            .args(["-O1", "-shared", "-fPIC", "-o"])
            .arg(&path)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(source))
            .arg("-ldl")
            .status();
        assert!(compiled.expect("a C compiler").success());
        Self {
            _directory: directory,
            path,
        }
    }
}
