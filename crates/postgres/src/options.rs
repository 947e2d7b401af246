//! How an engine is opened.

use crate::url::DatabaseUrl;
use std::time::Duration;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::engine::OnFailure;

/// How an engine is opened.
#[derive(Clone)]
pub struct PostgresOptions {
    pub url: DatabaseUrl,
    /// Connections in all: one for the claim, the others for writers and readers. At least three.
    pub connections: usize,
    /// This process among the nodes that share the database; `None`: it claims the database for itself.
    pub node: Option<NodeId>,
    /// How long the database may be away before the engine fails.
    pub outage: Duration,
    /// Called once, on the first failure.
    pub on_failure: OnFailure,
}

/// What an engine is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To serve: it claims the database, and makes the tables where they are missing.
    Serve,
    /// To look at what was there at the moment of opening. Changes nothing and refuses all commits, so it needs no claim.
    Look,
}
