//! The environment of nodes: a private PostgreSQL, a bucket, and the processes of the nodes.

use super::bucket::Bucket;
use crate::processor;
use crate::server::{ChildServer, Generator};
use anyhow::Context as _;
use std::net::SocketAddr;
use std::time::Duration;
use tempfile::TempDir;
use tintype_postgres::testing::{Database, Server};

/// The secret that the nodes share.
const SECRET: &str = "what-the-nodes-of-a-benchmark-have-in-common";

/// A PostgreSQL with durable commits, and a bucket.
pub struct Machines {
    pub server: Server,
    bucket: Bucket,
}

impl Machines {
    pub fn start() -> anyhow::Result<Self> {
        Ok(Self {
            server: Server::start_durable()
                .context("PostgreSQL's programs are not there: install the package postgresql")?,
            bucket: Bucket::start(),
        })
    }

    /// Creates an empty database for nodes.
    pub fn site(&self) -> Site<'_> {
        Site {
            machines: self,
            database: self.server.database(),
        }
    }

    /// PostgreSQL's processor time for connections that still exist.
    pub fn processor(&self) -> anyhow::Result<Duration> {
        processor::time_of(self.server.id())
    }
}

/// A database that nodes share.
pub struct Site<'a> {
    machines: &'a Machines,
    pub database: Database<'a>,
}

/// A node in its own process.
pub struct Node {
    pub server: ChildServer,
    directory: TempDir,
}

impl Site<'_> {
    /// Starts a node with this many fresh accounts. Each has a webhook at the receiver, if there is one.
    pub fn node(
        &self,
        accounts: usize,
        generator: Generator,
        receiver: Option<SocketAddr>,
    ) -> anyhow::Result<Node> {
        let directory = tempfile::tempdir()?;
        let url = self.database.socket_url();
        let settings = [
            ("TINTYPE__STORAGE__URL", url.as_str()),
            ("TINTYPE__STORAGE__OBJECTS", "s3://pictures/bench"),
            ("TINTYPE__CLUSTER__SECRET", SECRET),
        ];
        let environment = [&settings[..], &self.machines.bucket.variables()].concat();
        let data_dir = directory.path();
        let server =
            ChildServer::tintype_in(data_dir, accounts, generator, receiver, &environment)?;
        Ok(Node { server, directory })
    }
}

impl Node {
    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// The operator's token.
    pub fn token(&self) -> anyhow::Result<String> {
        let text = std::fs::read_to_string(self.directory.path().join("admin-token"))?;
        Ok(text.trim().to_owned())
    }

    /// Stops the node gracefully.
    pub fn end(self) -> anyhow::Result<()> {
        self.server.end().map(drop)
    }

    /// Kills the node.
    pub fn kill(self) -> anyhow::Result<()> {
        self.server.kill()
    }
}
