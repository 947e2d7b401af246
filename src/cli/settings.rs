//! Options that several commands share, and the configuration that they lead to.

use crate::config::{Config, ConfigErrors, Sources};
use clap::Args;
use std::path::PathBuf;

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
    pub fn load(&self, mut flags: Vec<(String, toml::Value)>) -> Result<Config, ConfigErrors> {
        if let Some(data_dir) = &self.data_dir {
            let path = data_dir.to_string_lossy().into_owned();
            flags.push(("storage.data_dir".into(), toml::Value::String(path)));
        }
        Config::load(&Sources {
            file: self.config.clone(),
            default_file: Some(PathBuf::from("config.toml")),
            env: Sources::process_environment(),
            flags,
        })
    }
}
