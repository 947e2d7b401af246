//! PostgreSQL as an engine: the records of a service in five key-value tables.
//!
//! One thread with its own runtime drives all connections. A writer commits the waiting rounds and commits as one transaction
//! of two round trips: the first locks the keys and reads, the second writes and commits. A reader answers the waiting reads in
//! one round trip. So many callers share the cost of a round trip and of a sync. `pacing` prevents many small transactions.
//!
//! - `url`, `tls`, `session`, `statements`, `connector`, `schema`: connections, statements and tables.
//! - `start_wait`, `start_checks`, `claim`, `nodes`: the wait for a database, its requirements, and its exclusive or shared use.
//! - `fault`, `backoff`, `outages`: the retries of a connection, and how long the database has been unreachable.
//! - `write_queue`, `writer`, `rounds`, `mark`: rounds and commits. `read_queue`, `reader`: reads. `snapshot`: point-in-time reads.
//! - `engine`, `engine_thread`: the parts together. `record_write`: a single write without the engine.

mod backoff;
mod claim;
mod connector;
mod engine;
mod engine_state;
mod engine_thread;
mod fault;
mod mark;
mod nodes;
mod options;
mod outages;
mod pacing;
mod read_queue;
mod reader;
mod record_write;
mod rounds;
mod schema;
mod session;
mod snapshot;
mod start_checks;
mod start_wait;
mod statements;
#[cfg(feature = "testing")]
pub mod testing;
mod tls;
mod url;
mod write_queue;
mod writer;

pub use connector::check_certificates;
pub use engine::PostgresEngine;
pub use options::PostgresOptions;
pub use record_write::write_record;
pub use schema::ddl;
pub use start_wait::wait_until_reachable;
pub use url::{DatabaseUrl, UrlError};
