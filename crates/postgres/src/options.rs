//! The options of an engine.

use crate::url::DatabaseUrl;
use std::time::Duration;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::engine::OnFailure;

#[derive(Clone)]
pub struct PostgresOptions {
    pub url: DatabaseUrl,
    /// One for the claim, the others for writers and readers. At least three.
    pub connections: usize,
    /// This process among the nodes that share the database; `None` claims the database exclusively.
    pub node: Option<NodeId>,
    /// The name of this machine, for people.
    pub host: String,
    /// How long the database may be unreachable, at the start or later, before the engine fails.
    pub outage: Duration,
    /// Called once, on the first failure.
    pub on_failure: OnFailure,
}

impl PostgresOptions {
    pub(crate) fn readers(&self) -> usize {
        (self.connections.max(3) - 1) / 2
    }

    /// An odd connection goes to the writers.
    pub(crate) fn writers(&self) -> u8 {
        let writers = self.connections.max(3) - 1 - self.readers();
        u8::try_from(writers).unwrap_or(u8::MAX)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Serve: claim or share the database, and create missing tables.
    Serve,
    /// Read the content at the time of opening. Changes nothing and refuses commits, so it needs no claim.
    ReadOnly,
}
