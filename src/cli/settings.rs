//! The options --config and --data-dir, and how the configuration is loaded.

use crate::config::{Config, ConfigErrors, Sources};
use clap::Args;
use std::path::PathBuf;

/// Read without --config.
const LOCAL_FILE: &str = "config.toml";
/// Installed by the Debian package and in the container image.
const INSTALLED_FILE: &str = "/etc/tintype/config.toml";

#[derive(Args, Clone, Debug, Default)]
pub struct Settings {
    /// Configuration file [default: ./config.toml if it exists; without it, commands that call a running server read
    /// /etc/tintype/config.toml].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Data directory [default: data_dir in [storage] of the configuration].
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
}

impl Settings {
    /// Loads the effective configuration. `flags` (the path of a key and its value) take precedence.
    pub fn load(&self, flags: Vec<(String, toml::Value)>) -> Result<Config, ConfigErrors> {
        Config::load(&self.sources(flags, PathBuf::from(LOCAL_FILE)))
    }

    /// As [`Settings::load`], for a command that calls no backend and so needs none of their keys.
    pub fn load_without_backend_keys(
        &self,
        flags: Vec<(String, toml::Value)>,
    ) -> Result<Config, ConfigErrors> {
        Config::load_for_command(&self.sources(flags, PathBuf::from(LOCAL_FILE)))
    }

    /// Loads the configuration of the server on this machine: without --config and ./config.toml, that of the package.
    pub fn load_installed(&self) -> Result<Config, ConfigErrors> {
        let local = PathBuf::from(LOCAL_FILE);
        let file = if local.exists() {
            local
        } else {
            INSTALLED_FILE.into()
        };
        Config::load_for_command(&self.sources(Vec::new(), file))
    }

    fn sources(&self, mut flags: Vec<(String, toml::Value)>, default_file: PathBuf) -> Sources {
        if let Some(data_dir) = &self.data_dir {
            let path = data_dir.to_string_lossy().into_owned();
            flags.push(("storage.data_dir".into(), toml::Value::String(path)));
        }
        Sources {
            file: self.config.clone(),
            default_file: Some(default_file),
            env: Sources::process_environment(),
            flags,
        }
    }
}
