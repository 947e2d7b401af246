//! `[cluster]`: the processes that share a database.

use std::time::Duration;

use super::reader::Section;
use super::render;
use super::secret::Secret;
use super::section::section;
use super::values::{integer, or_empty, private, random_text};

section! {
    /// `[cluster]`: the processes that share a database.
    pub struct Cluster {
        /// What the nodes derive from what they have in common; `None`: not set.
        #[serde(serialize_with = "render::or_blank")]
        pub secret: Option<Secret> = private(or_empty(random_text)),
        /// A node that shows no sign of life for so long is taken for dead.
        pub dead_after_seconds: u64 = integer(2..=60),
    }
}

impl Cluster {
    /// A node that shows no sign of life for so long is taken for dead.
    pub fn dead_after(&self) -> Duration {
        Duration::from_secs(self.dead_after_seconds)
    }
}

/// Reads the section. A service demands the secret where it shares a database.
pub(super) fn read(section: Section<'_>, shares_database: bool) -> Cluster {
    let (context, place) = (section.context, section.place_of("secret").clone());
    let cluster = Cluster::read(section);
    if shares_database && context.needs_keys && cluster.secret.is_none() {
        let message = "a secret is required beside `[storage] url`; set the environment variable TINTYPE_SECRET to the output of \
             `openssl rand -hex 32`, the same for all processes on that database";
        context
            .faults
            .push(&place, "cluster.secret", message.to_owned());
    }
    cluster
}
