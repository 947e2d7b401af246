//! The free space of the data directory. The log shows when it is low, also without an operator webhook.

use crate::application::blocking::blocking;
use crate::application::error::Error;
use crate::application::settings::Settings;
use crate::data_dir;

/// The free space at one time.
pub struct DiskSpace {
    pub free_bytes: u64,
    /// Less than `[operator] disk_low_bytes` is free.
    pub is_low: bool,
}

/// The free space now; `None` if the file system does not report it.
///
/// # Errors
/// The process is stopping.
pub async fn read(settings: &Settings) -> Result<Option<DiskSpace>, Error> {
    let data_dir = settings.config.storage.data_dir.clone();
    let low_bytes = settings.config.operator.disk_low_bytes;
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
        let low_bytes = settings.config.operator.disk_low_bytes;
        let free_bytes = found.free_bytes;
        // A quarter more must be free before the next warning, so that a disk at the limit does not fill the log.
        let has_space = free_bytes >= low_bytes.saturating_add(low_bytes / 4);
        if !self.was_low && found.is_low {
            self.was_low = true;
            tracing::warn!(%data_dir, free_bytes, low_bytes, "the disk is nearly full; on a full disk no image can be stored, and calls fail");
        } else if self.was_low && has_space {
            self.was_low = false;
            tracing::info!(%data_dir, free_bytes, low_bytes, "the disk has space again");
        }
    }
}
