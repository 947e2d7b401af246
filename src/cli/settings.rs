//! The options --config and --data-dir, and how the configuration is loaded.

use crate::config::{Config, ConfigErrors, Sources};
use clap::Args;
use std::fs::{self, File};
use std::path::{self, Path, PathBuf};

/// Read without --config.
const LOCAL_FILE: &str = "config.toml";
/// Installed by the Debian package and in the container image.
const INSTALLED_FILE: &str = "/etc/tintype/config.toml";

/// The help of --config for commands that do not read the installed file.
pub const LOCAL_CONFIG: &str = "Configuration file [default: ./config.toml if it exists]";

#[derive(Args, Clone, Debug, Default)]
pub struct Settings {
    /// Configuration file [default: ./config.toml, or else /etc/tintype/config.toml].
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

    /// As [`Settings::load`], for a command that runs the service: with --data-dir, the file that applies to that directory is read, so
    /// that the installed server's jobs do not run with other settings.
    pub fn load_to_run(&self, flags: Vec<(String, toml::Value)>) -> Result<Config, ConfigErrors> {
        match self.data_dir {
            Some(_) => self.with_file().load(flags),
            None => self.load(flags),
        }
    }

    /// As [`Settings::load`], for a command that calls no backend and so needs none of their keys.
    pub fn load_without_backend_keys(
        &self,
        flags: Vec<(String, toml::Value)>,
    ) -> Result<Config, ConfigErrors> {
        Config::load_for_command(&self.sources(flags, PathBuf::from(LOCAL_FILE)))
    }

    /// Why [`Settings::load`] reads no file.
    pub fn no_file(&self) -> Option<String> {
        if self.config.is_some() || Path::new(LOCAL_FILE).exists() {
            return None;
        }
        let advice = match Path::new(INSTALLED_FILE).exists() {
            true => format!("; to check the installed file, add --config {INSTALLED_FILE}"),
            false => String::new(),
        };
        Some(format!(
            "no file was checked, only the defaults and the environment: there is no {LOCAL_FILE} in this directory{advice}"
        ))
    }

    /// Loads the configuration for a command that reads or fills records. Such a command needs the object store and the retention of the
    /// server that uses the records.
    pub fn load_for_records(&self) -> Result<Config, ConfigErrors> {
        self.with_file().load_without_backend_keys(Vec::new())
    }

    /// These settings with --config set to the file that applies to the data directory, if there is one.
    pub fn with_file(&self) -> Self {
        self.with_file_of(Path::new(LOCAL_FILE), Path::new(INSTALLED_FILE))
    }

    fn with_file_of(&self, local: &Path, installed: &Path) -> Self {
        let mut settings = self.clone();
        if self.config.is_none() && !local.exists() && self.is_of_installation(installed) {
            settings.config = Some(installed.to_owned());
        }
        settings
    }

    /// Does --data-dir name the data directory of the installed server? Without the option a command uses that directory.
    fn is_of_installation(&self, installed: &Path) -> bool {
        let Some(data_dir) = &self.data_dir else {
            return installed.exists();
        };
        // A user who cannot read the file cannot read the server's data directory either.
        if File::open(installed).is_err() {
            return false;
        }
        let named = Self {
            config: Some(installed.to_owned()),
            data_dir: None,
        };
        match named.load_without_backend_keys(Vec::new()) {
            Ok(config) => is_same_directory(data_dir, &config.storage.data_dir),
            // The command reports the errors.
            Err(_) => true,
        }
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

/// A directory to restore into may not exist yet.
fn is_same_directory(one: &Path, other: &Path) -> bool {
    let [one, other] = [one, other].map(|it| fs::canonicalize(it).or_else(|_| path::absolute(it)));
    matches!((one, other), (Ok(one), Ok(other)) if one == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_installed_file_applies_to_its_own_data_directory_only() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let (local, installed, data) = (path("config.toml"), path("installed.toml"), path("data"));
        let used = |settings: &Settings| settings.with_file_of(&local, &installed).config;
        let of = |data_dir: Option<PathBuf>| Settings {
            data_dir,
            ..Settings::default()
        };
        assert_eq!(used(&of(None)), None, "there is no installed file");
        fs::write(&installed, format!("[storage]\ndata_dir = {data:?}\n")).unwrap();
        let expected = Some(installed.clone());
        assert_eq!(used(&of(None)), expected);
        // The directory does not exist at first.
        assert_eq!(used(&of(Some(path("data/")))), expected);
        fs::create_dir(&data).unwrap();
        std::os::unix::fs::symlink(&data, path("link")).unwrap();
        assert_eq!(used(&of(Some(path("link")))), expected);
        assert_eq!(used(&of(Some(path("other")))), None);
        fs::write(&installed, "not TOML").unwrap();
        assert_eq!(used(&of(Some(path("other")))), expected, "its errors show");
        fs::write(&local, "").unwrap();
        assert_eq!(used(&of(None)), None, "the local file comes first");
        let named = Settings {
            config: Some(path("named.toml")),
            data_dir: None,
        };
        assert_eq!(used(&named), named.config);
    }
}
