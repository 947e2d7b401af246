//! Where nodes run: a private PostgreSQL, a bucket, and the processes of the nodes.

use super::bucket::Bucket;
use crate::processor;
use crate::server::{ChildServer, Generator};
use anyhow::Context as _;
use std::net::SocketAddr;
use std::time::Duration;
use tempfile::TempDir;
use tintype_postgres::testing::{Database, Server};

/// What the nodes have in common.
const SECRET: &str = "what-the-nodes-of-a-benchmark-have-in-common";

/// A PostgreSQL whose commits are on the disk before they are answered, and a bucket.
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

    /// An empty database for nodes.
    pub fn site(&self) -> Site<'_> {
        Site {
            machines: self,
            database: self.server.database(),
        }
    }

    /// Processor time that PostgreSQL has used for connections that still exist.
    pub fn processor(&self) -> anyhow::Result<Duration> {
        processor::time_of(self.server.id())
    }
}

/// A database that nodes share.
pub struct Site<'a> {
    machines: &'a Machines,
    pub database: Database<'a>,
}

/// A node in a process of its own.
pub struct Node {
    pub server: ChildServer,
    directory: TempDir,
}

impl Site<'_> {
    /// Starts a node, with this many fresh accounts. Each has a webhook at the receiver, if there is one.
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

    /// Ends it in order.
    pub fn end(self) -> anyhow::Result<()> {
        self.server.end().map(drop)
    }

    /// Ends it as a crash would.
    pub fn kill(self) -> anyhow::Result<()> {
        self.server.kill()
    }
}
