//! `[storage]`, `[results]` and `[idempotency]`: where data is stored, and for how long.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tintype_postgres::DatabaseUrl;
use url::Url;

use super::addresses::bucket_url;
use super::reader::Section;
use super::render;
use super::section::section;
use super::values::{integer, or_empty, redacted, text};

section! {
    pub struct Storage {
        /// Holds all data that must survive a restart.
        pub data_dir: PathBuf = text(directory),
        /// The database of the records. `None`: sled in the data directory.
        #[serde(serialize_with = "render::or_blank")]
        pub url: Option<DatabaseUrl> = redacted(or_empty(database_url)),
        /// To the database.
        pub connections: usize = integer(3..=100),
        /// A longer outage of the database ends the process.
        pub outage_seconds: u64 = integer(1..=3600),
        /// The bucket of the images. `None`: a directory in the data directory.
        #[serde(serialize_with = "render::or_blank")]
        pub objects: Option<Url> = redacted(or_empty(bucket_url)),
        /// The cache of the engine.
        pub cache_bytes: u64 = integer(1_048_576..=1_099_511_627_776),
        /// A slower commit ends the process.
        commit_timeout_seconds: u64 = integer(1..=300),
    }
}

impl Storage {
    /// A slower commit ends the process.
    pub fn commit_timeout(&self) -> Duration {
        Duration::from_secs(self.commit_timeout_seconds)
    }
}

/// Reads the section. A database requires a bucket, because nodes share no directory.
pub(super) fn read(section: Section<'_>) -> Storage {
    let (context, location) = (section.context, section.location_of("url").clone());
    let storage = Storage::read(section);
    if storage.url.is_some() && storage.objects.is_none() {
        let message = "a bucket such as s3://bucket/prefix is required with `[storage] url`";
        let faults = context.faults;
        faults.push(&location, "storage.objects", message.to_owned());
    }
    storage
}

fn database_url(text: &str) -> Result<DatabaseUrl, String> {
    DatabaseUrl::parse(text).map_err(|expected| expected.to_string())
}

fn directory(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() || text.contains('\0') {
        return Err("the path of a directory".to_owned());
    }
    Ok(Path::new(text).to_owned())
}

section! {
    /// `[results]`: generated images.
    pub struct Results {
        /// Of download URLs.
        // Bucket URLs can be signed for at most seven days.
        pub url_lifetime_seconds: u64 = integer(60..=7 * 86_400),
        /// 0: images are kept for ever.
        pub(super) retention_days: u64 = integer(0..=36_500),
    }
}

impl Results {
    /// Of download URLs.
    pub fn url_lifetime(&self) -> Duration {
        Duration::from_secs(self.url_lifetime_seconds)
    }

    /// `None`: images are kept for ever.
    pub fn retention(&self) -> Option<Duration> {
        days(self.retention_days)
    }
}

section! {
    pub struct Idempotency {
        /// From the response with status 202.
        pub retention_hours: u64 = integer(1..=8760),
    }
}

impl Idempotency {
    /// How long an idempotency key is stored, from the response with status 202.
    pub fn retention(&self) -> Duration {
        Duration::from_secs(self.retention_hours.saturating_mul(3600))
    }
}

/// `None` for 0, which means "for ever".
pub(super) fn days(days: u64) -> Option<Duration> {
    (days > 0).then(|| Duration::from_secs(days.saturating_mul(86_400)))
}
