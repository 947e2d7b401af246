//! The manifest of a backup: its files, with checksums. A backup without a manifest is incomplete.

use crate::objects::ObjectDigest;
use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

/// The version of the layout that this program reads and writes.
const VERSION: u32 = 1;

/// The key that encrypts webhook secrets.
pub const SECRETS_KEY: &str = "secrets-key";
/// The key that signs the download URLs of a local directory.
pub const FILE_SIGNING_KEY: &str = "file-signing-key";
/// The operator's token.
pub const ADMIN_TOKEN: &str = "admin-token";

/// The files that a service cannot recreate without loss: the key of the webhook secrets, the key that signs download URLs, and
/// the operator's token.
pub const KEY_FILES: [&str; 3] = [SECRETS_KEY, FILE_SIGNING_KEY, ADMIN_TOKEN];

/// A file of a backup.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Part {
    /// Relative to the backup.
    pub name: String,
    #[serde(flatten)]
    pub digest: ObjectDigest,
}

/// The objects of a backup.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct ObjectTotals {
    /// The file with their list.
    pub list: Part,
    /// Objects in the backup.
    pub count: u64,
    /// Of the objects in the backup.
    pub bytes: u64,
    /// Objects copied for this backup. Earlier backups had copied the others.
    pub copied: u64,
    /// Of the copied objects, those whose earlier copy was damaged. Not part of the file.
    #[serde(skip)]
    pub repaired: u64,
    /// Referenced objects that retention had removed.
    pub expired: u64,
    /// Referenced objects that should exist and did not, or had another length than recorded.
    pub missing: u64,
    /// Of the missing objects, those of another length. Not part of the file.
    #[serde(skip)]
    pub damaged: u64,
    /// A sentence for each of the first damaged objects. Not part of the file.
    #[serde(skip)]
    pub damaged_names: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Manifest {
    tintype_backup: u32,
    /// The program and its version, for people.
    pub written_by: String,
    /// Ids sort by time.
    pub id: String,
    /// The time of the export, in RFC 3339.
    pub taken_at: String,
    /// Was the service running?
    pub running: bool,
    /// The export.
    pub records: Part,
    pub record_count: u64,
    /// `None`: omitted on request.
    #[serde(rename = "pictures")]
    pub images: Option<ObjectTotals>,
    /// `None`: omitted on request.
    pub keys: Option<Vec<Part>>,
}

impl Manifest {
    /// A manifest without objects and key files.
    pub fn new(id: String, taken_at: String, records: Part, record_count: u64) -> Self {
        Self {
            tintype_backup: VERSION,
            written_by: concat!("tintype ", env!("CARGO_PKG_VERSION")).into(),
            id,
            taken_at,
            running: false,
            records,
            record_count,
            images: None,
            keys: None,
        }
    }

    /// # Errors
    /// The manifest is damaged, has another version, or belongs to another backup.
    pub fn read(id: &str, bytes: &[u8]) -> anyhow::Result<Self> {
        #[derive(Deserialize)]
        struct Version {
            tintype_backup: u32,
        }
        let version: Version = serde_json::from_slice(bytes).context("its manifest is damaged")?;
        if version.tintype_backup != VERSION {
            bail!(
                "it has layout {}, but this version of tintype reads layout {VERSION}; use a newer version",
                version.tintype_backup
            );
        }
        let manifest: Self = serde_json::from_slice(bytes).context("its manifest is damaged")?;
        if manifest.id != id {
            bail!("its manifest belongs to the backup {:?}", manifest.id);
        }
        Ok(manifest)
    }
}
