//! Starts, serves, maintains and stops an instance. This is the one place that picks an engine and wires the parts together.

mod assembly;
mod backends;
pub mod bootstrap;
mod data_dir_lock;
mod database_clock;
mod database_outage;
pub(crate) mod engine;
pub(crate) mod fd_limits;
pub(crate) mod instance_secrets;
mod listener;
mod maintenance;
pub(crate) mod middleware;
mod node_process;
pub(crate) mod object_store;
pub mod orphaned_objects;
pub(crate) mod records_owner;
mod routes;
pub(crate) mod service_marks;
mod shutdown;
mod start_error;
pub(crate) mod store_lock;
pub mod sweeps;

pub use assembly::{Instance, Setup, start};
pub use engine::wait_for_database;
pub use listener::{bind, serve, serve_metrics};
pub use shutdown::{close, drain_connections, finish_jobs};
pub use start_error::StartError;
