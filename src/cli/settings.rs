//! The options --config and --data-dir, and how the configuration is loaded.

use crate::config::{Config, ConfigErrors, Sources};
use clap::Args;
use std::path::PathBuf;

/// Read if --config is not given.
const OWN_FILE: &str = "config.toml";
/// Installed by the Debian package and the container.
const INSTALLED_FILE: &str = "/etc/tintype/config.toml";

/// Paths of the configuration and the data.
#[derive(Args, Clone, Debug, Default)]
pub struct Settings {
    /// The configuration file [default: ./config.toml if it exists].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The data directory [default: storage.data_dir of the configuration].
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
}

impl Settings {
    /// Loads the effective configuration. `flags` (a key's path and its value) take precedence.
    pub fn load(&self, flags: Vec<(String, toml::Value)>) -> Result<Config, ConfigErrors> {
        Config::load(&self.sources(flags, PathBuf::from(OWN_FILE)))
    }

    /// The same for commands that call no back end.
    pub fn beside(&self) -> Result<Config, ConfigErrors> {
        self.beside_with(Vec::new())
    }

    /// The same with values that take precedence.
    pub fn beside_with(&self, flags: Vec<(String, toml::Value)>) -> Result<Config, ConfigErrors> {
        Config::load_for_command(&self.sources(flags, PathBuf::from(OWN_FILE)))
    }

    /// Loads the configuration of the service on this machine: that of the package if --config is not given and ./config.toml does
    /// not exist.
    pub fn of_service(&self) -> Result<Config, ConfigErrors> {
        let own = PathBuf::from(OWN_FILE);
        let file = if own.exists() {
            own
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
