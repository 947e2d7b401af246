//! Starts, serves, maintains and stops an instance. This is the one place that picks an engine and wires the parts together.

mod adapters;
mod assembly;
mod backends;
pub mod bootstrap;
mod data_dir_lock;
mod database_clock;
mod database_outage;
pub(crate) mod engine;
pub(crate) mod fd_limits;
mod instance;
pub(crate) mod instance_secrets;
mod listener;
mod maintenance;
pub(crate) mod middleware;
pub(crate) mod move_mark;
mod node_process;
pub(crate) mod object_store;
mod observability;
pub mod orphaned_objects;
pub(crate) mod records_owner;
mod routes;
pub(crate) mod service_marks;
mod setup;
mod shutdown;
mod start_error;
pub(crate) mod store_lock;
mod stores;
pub mod sweeps;
mod system_options;

pub use assembly::start;
pub use engine::wait_for_database;
pub use instance::Instance;
pub use listener::{bind, serve, serve_metrics};
pub use setup::Setup;
pub use shutdown::{close, drain_connections, finish_jobs};
pub use start_error::StartError;
