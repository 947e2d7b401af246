//! The free space of the data directory. The log shows when it is low, also without an operator webhook.

use crate::application::blocking::blocking;
use crate::application::error::Error;
use crate::application::settings::Settings;
use crate::data_dir;

/// The free space at one time.
pub struct DiskSpace {
    pub free_bytes: u64,
    pub is_low: bool,
}

/// Less free space is low. A node writes nothing to its data directory once it has started.
pub fn low_bytes(settings: &Settings) -> u64 {
    match settings.config.storage.url {
        Some(_) => 0,
        None => settings.config.operator.disk_low_bytes,
    }
}

/// The free space now; `None` if the file system does not report it.
///
/// # Errors
/// The process is stopping.
pub async fn read(settings: &Settings) -> Result<Option<DiskSpace>, Error> {
    let data_dir = settings.config.storage.data_dir.clone();
    let low_bytes = low_bytes(settings);
    let shown = data_dir.display().to_string();
    let found = blocking(move || Ok::<_, Error>(data_dir::free_bytes(&data_dir))).await?;
    match found {
        Ok(free_bytes) => Ok(Some(DiskSpace {
            free_bytes,
            is_low: free_bytes < low_bytes,
        })),
        Err(fault) => {
            tracing::warn!(data_dir = %shown, %fault, "could not read the free space of the data directory");
            Ok(None)
        }
    }
}

/// Logs when the disk becomes low, and when it has space again.
#[derive(Default)]
pub struct DiskWatch {
    was_low: bool,
}

impl DiskWatch {
    pub fn observe(&mut self, settings: &Settings, found: &DiskSpace) {
        let data_dir = settings.config.storage.data_dir.display();
        let low_bytes = low_bytes(settings);
        let free_bytes = found.free_bytes;
        // A quarter more must be free before the next warning, so that a disk at the limit does not fill the log.
        let has_space = free_bytes >= low_bytes.saturating_add(low_bytes / 4);
        if !self.was_low && found.is_low {
            self.was_low = true;
            tracing::warn!(%data_dir, free_bytes, low_bytes, "the disk is nearly full; on a full disk nothing can be stored, and calls fail");
        } else if self.was_low && has_space {
            self.was_low = false;
            tracing::info!(%data_dir, free_bytes, low_bytes, "the disk has space again");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::catalog;
    use crate::config::{Config, Sources};

    #[test]
    fn a_node_stores_nothing_on_its_disk() {
        let low_bytes = |variables: &[(&str, &str)]| {
            let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            let sources = Sources {
                env: variables.iter().map(owned).collect(),
                ..Sources::default()
            };
            let config = Config::load_for_command(&sources).unwrap();
            low_bytes(&Settings {
                catalog: catalog(&config.tiers),
                config,
                public_url: String::new(),
            })
        };
        let bucket = ("TINTYPE__STORAGE__OBJECTS", "s3://bucket");
        let database = (
            "TINTYPE__STORAGE__URL",
            "postgres://tintype@localhost/tintype",
        );
        assert_eq!(low_bytes(&[]), 1 << 30);
        assert_eq!(low_bytes(&[bucket]), 1 << 30, "it holds the records");
        assert_eq!(low_bytes(&[bucket, database]), 0);
    }
}
