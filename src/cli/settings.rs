//! Options that several commands share, and the configuration that they lead to.

use crate::config::{Config, ConfigErrors, Sources};
use clap::Args;
use std::path::PathBuf;

/// The file that is read where none is named.
const OWN_FILE: &str = "config.toml";
/// That of the package and of the container.
const INSTALLED_FILE: &str = "/etc/tintype/config.toml";

/// Where the configuration and the data are.
#[derive(Args, Clone, Debug, Default)]
pub struct Settings {
    /// The configuration file [default: ./config.toml, if it is there].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The data directory [default: storage.data_dir of the configuration].
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
}

impl Settings {
    /// The effective configuration, with `flags` (a key's path and its value) above all else.
    pub fn load(&self, flags: Vec<(String, toml::Value)>) -> Result<Config, ConfigErrors> {
        Config::load(&self.sources(flags, PathBuf::from(OWN_FILE)))
    }

    /// The same for what asks no back end.
    pub fn beside(&self) -> Result<Config, ConfigErrors> {
        Config::load_beside(&self.sources(Vec::new(), PathBuf::from(OWN_FILE)))
    }

    /// The configuration of the service that runs on this machine: where no file is named and there is none here, the one that
    /// the package installs.
    pub fn of_service(&self) -> Result<Config, ConfigErrors> {
        let own = PathBuf::from(OWN_FILE);
        let file = if own.exists() {
            own
        } else {
            INSTALLED_FILE.into()
        };
        Config::load_beside(&self.sources(Vec::new(), file))
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
