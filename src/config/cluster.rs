//! `[cluster]`: the processes that share a database.

use std::time::Duration;

use super::reader::Section;
use super::render;
use super::secret::Secret;
use super::section::section;
use super::values::{integer, or_empty, random_text, redacted};

section! {
    /// `[cluster]`: the processes that share a database.
    pub struct Cluster {
        /// All nodes derive their keys and tokens from it.
        #[serde(serialize_with = "render::or_blank")]
        pub secret: Option<Secret> = redacted(or_empty(random_text)),
        /// A node without a heartbeat for this long counts as dead.
        pub(super) dead_after_seconds: u64 = integer(2..=60),
    }
}

impl Cluster {
    /// A node without a heartbeat for this long counts as dead.
    pub fn dead_after(&self) -> Duration {
        Duration::from_secs(self.dead_after_seconds)
    }
}

/// Reads the section. The service requires the secret if it uses a database.
pub(super) fn read(section: Section<'_>, shares_database: bool) -> Cluster {
    let (context, location) = (section.context, section.location_of("secret").clone());
    let cluster = Cluster::read(section);
    let is_invalid = context.faults.contains("cluster.secret");
    if shares_database && context.needs_keys && cluster.secret.is_none() && !is_invalid {
        let message = "a secret is required with `[storage] url`; set the environment variable TINTYPE_SECRET to the output of \
             `openssl rand -hex 32`, the same for all processes on that database";
        context
            .faults
            .push(&location, "cluster.secret", message.to_owned());
    }
    cluster
}
