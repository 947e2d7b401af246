//! Tests of the configuration as a whole, through `Config::load`.

mod backends;
mod defaults;
mod faults;
mod files;
mod fingerprint;
mod hostile;
mod layers;
mod local;
mod secrets;
mod tiers;
mod warnings;

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::{Config, ConfigErrors, Sources};

/// A directory with a configuration file in it.
struct TestConfig {
    directory: TempDir,
    sources: Sources,
}

impl TestConfig {
    fn nothing() -> Self {
        Self {
            directory: TempDir::new().unwrap(),
            sources: Sources::default(),
        }
    }

    fn file(content: impl AsRef<[u8]>) -> Self {
        let mut given = Self::nothing();
        let path = given.path();
        fs::write(&path, content).unwrap();
        given.sources.file = Some(path);
        given
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("config.toml")
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.sources.env.push((name.into(), value.into()));
        self
    }

    fn flag(mut self, key: &str, value: impl Into<toml::Value>) -> Self {
        self.sources.flags.push((key.into(), value.into()));
        self
    }

    fn load(&self) -> Result<Config, ConfigErrors> {
        Config::load(&self.sources)
    }

    fn config(&self) -> Config {
        match self.load() {
            Ok(config) => config,
            Err(errors) => panic!("{errors}"),
        }
    }

    /// The faults as text, with paths relative to the directory.
    fn faults(&self) -> Vec<String> {
        let directory = format!("{}/", self.directory.path().display());
        let errors = self.load().expect_err("faults");
        errors
            .faults()
            .iter()
            .map(|fault| fault.to_string().replace(&directory, ""))
            .collect()
    }
}

fn defaults() -> Config {
    TestConfig::nothing().config()
}

/// Compares configurations of which one spells out the concurrency of its backends.
fn assert_same(mut left: Config, mut right: Config) {
    for config in [&mut left, &mut right] {
        for backend in config.backends.values_mut() {
            backend.has_default_concurrency = false;
        }
    }
    assert_eq!(left, right);
}
