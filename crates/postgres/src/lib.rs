//! PostgreSQL as an engine: the records of a service in five tables of keys and values.
//!
//! One thread with a runtime of its own drives all connections. Writers take the rounds and commits that wait as one transaction of
//! two round trips: the first one holds the keys and reads, the second one writes and commits. Readers take the reads that wait as one
//! round trip. So the cost of a round trip and of a sync is shared by all who wait. `pacing` keeps transactions from being many and small.
//!
//! - `url`, `tls`, `session`, `statements`, `connector`, `schema`: what a connection is, and what it finds.
//! - `start_checks`, `claim`, `nodes`: what is demanded of a database, and that one process alone writes to it, or nodes that share it.
//! - `write_queue`, `writer`, `mark`: rounds and commits. `read_queue`, `reader`: reads. `snapshot`: all records of one moment.
//! - `engine`, `engine_thread`: the parts together.

mod claim;
mod connector;
mod engine;
mod engine_thread;
mod latch;
mod mark;
mod nodes;
mod options;
mod outage;
mod outages;
mod pacing;
mod read_queue;
mod reader;
mod schema;
mod session;
mod shared;
mod snapshot;
mod start_checks;
mod statements;
#[cfg(feature = "testing")]
pub mod testing;
mod tls;
mod url;
mod write_queue;
mod writer;

pub use engine::PostgresEngine;
pub use options::PostgresOptions;
pub use schema::ddl;
pub use url::{DatabaseUrl, UrlError, masked};
