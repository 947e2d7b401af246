//! What belongs to a backup. Without it there is none.

use crate::images::Written;
use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

/// The version of the layout that is written, and the one that is read.
const VERSION: u32 = 1;

/// A file of a backup.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Part {
    /// Its name below the backup.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
}

impl Part {
    /// A file as it was written.
    pub fn new(name: &str, written: Written) -> Self {
        Self {
            name: name.to_owned(),
            bytes: written.bytes,
            sha256: written.sha256,
        }
    }

    /// What is to be found.
    pub fn written(&self) -> Written {
        Written {
            bytes: self.bytes,
            sha256: self.sha256.clone(),
        }
    }
}

/// The pictures of a backup.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Pictures {
    /// The list of them.
    pub list: Part,
    /// Objects that are in the backup.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Of these, objects that were copied for this backup; the others were there.
    pub copied: u64,
    /// Objects that the records name and that retention had removed.
    pub expired: u64,
    /// Objects that the records name and that were not there, though they should have been.
    pub missing: u64,
}

/// A whole backup.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Manifest {
    tintype_backup: u32,
    /// The program that made it, for people.
    pub written_by: String,
    /// Its id, which sorts by time.
    pub id: String,
    /// The moment that it shows, RFC 3339.
    pub taken_at: String,
    /// Was the service running?
    pub running: bool,
    /// The export.
    pub records: Part,
    /// How many records that has.
    pub record_count: u64,
    /// `None`: they were left out because somebody wanted it so.
    pub pictures: Option<Pictures>,
    /// `None`: they were left out because somebody wanted it so.
    pub keys: Option<Vec<Part>>,
}

impl Manifest {
    /// What every manifest of this version begins with.
    pub fn new(id: String, taken_at: String, records: Part, record_count: u64) -> Self {
        Self {
            tintype_backup: VERSION,
            written_by: concat!("tintype ", env!("CARGO_PKG_VERSION")).into(),
            id,
            taken_at,
            running: false,
            records,
            record_count,
            pictures: None,
            keys: None,
        }
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// It is damaged, of another version, or of another backup.
    pub fn read(id: &str, bytes: &[u8]) -> anyhow::Result<Self> {
        #[derive(Deserialize)]
        struct Version {
            tintype_backup: u32,
        }
        let version: Version = serde_json::from_slice(bytes).context("its manifest is damaged")?;
        if version.tintype_backup != VERSION {
            bail!(
                "it has layout {}, this version reads layout {VERSION}; use a newer one",
                version.tintype_backup
            );
        }
        let manifest: Self = serde_json::from_slice(bytes).context("its manifest is damaged")?;
        if manifest.id != id {
            bail!("its manifest is that of the backup {:?}", manifest.id);
        }
        Ok(manifest)
    }
}
