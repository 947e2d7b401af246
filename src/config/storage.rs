//! `[storage]`, `[results]` and `[idempotency]`: what is kept, where and for how long.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tintype_postgres::DatabaseUrl;
use url::Url;

use super::addresses::bucket_url;
use super::reader::Section;
use super::render;
use super::section::section;
use super::values::{integer, or_empty, private, text};

section! {
    /// `[storage]`: what is kept, and where.
    pub struct Storage {
        /// The directory that holds everything that must survive a restart.
        pub data_dir: PathBuf = text(directory),
        /// The database of the records; `None`: sled in the data directory.
        #[serde(serialize_with = "render::or_blank")]
        pub url: Option<DatabaseUrl> = private(or_empty(database_url)),
        /// Connections to the database.
        pub connections: usize = integer(3..=100),
        /// How long the database may be away before the process ends.
        pub outage_seconds: u64 = integer(1..=3600),
        /// The bucket of the pictures; `None`: [`Storage::local_objects`].
        #[serde(serialize_with = "render::or_blank")]
        pub objects: Option<Url> = private(or_empty(bucket_url)),
        /// The cache of the engine, in bytes.
        pub cache_bytes: u64 = integer(1_048_576..=1_099_511_627_776),
        /// A commit that takes longer than this ends the process.
        pub commit_timeout_seconds: u64 = integer(1..=300),
    }
}

impl Storage {
    /// The directory of the pictures where no bucket is named.
    pub fn local_objects(&self) -> PathBuf {
        self.data_dir.join("objects")
    }

    /// A commit that takes longer than this ends the process.
    pub fn commit_timeout(&self) -> Duration {
        Duration::from_secs(self.commit_timeout_seconds)
    }
}

/// Reads the section, and demands a bucket beside a database.
pub(super) fn read(section: Section<'_>) -> Storage {
    let (context, place) = (section.context, section.place_of("url").clone());
    let storage = Storage::read(section);
    if storage.url.is_some() && storage.objects.is_none() {
        let message = "a bucket such as s3://bucket/prefix is required beside `[storage] url`";
        let faults = context.faults;
        faults.push(&place, "storage.objects", message.to_owned());
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
    /// `[results]`: finished pictures.
    pub struct Results {
        /// How long a download URL is valid.
        // Buckets sign for seven days at most.
        pub url_lifetime_seconds: u64 = integer(60..=7 * 86_400),
        /// How long a picture is kept; 0: for ever.
        pub retention_days: u64 = integer(0..=36_500),
    }
}

impl Results {
    /// How long a download URL is valid.
    pub fn url_lifetime(&self) -> Duration {
        Duration::from_secs(self.url_lifetime_seconds)
    }

    /// How long a picture is kept; `None`: for ever.
    pub fn retention(&self) -> Option<Duration> {
        days(self.retention_days)
    }
}

section! {
    /// `[idempotency]`: how long keys are remembered.
    pub struct Idempotency {
        /// Hours from the answer 202 on.
        pub retention_hours: u64 = integer(1..=8760),
    }
}

impl Idempotency {
    /// How long an idempotency key is remembered, from the answer 202 on.
    pub fn retention(&self) -> Duration {
        Duration::from_secs(self.retention_hours.saturating_mul(3600))
    }
}

/// A number of days in which 0 stands for "for ever".
pub(super) fn days(days: u64) -> Option<Duration> {
    (days > 0).then(|| Duration::from_secs(days.saturating_mul(86_400)))
}
