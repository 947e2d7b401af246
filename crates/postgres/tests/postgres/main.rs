//! The engine on a real PostgreSQL server, if PostgreSQL is installed.

mod claims;
mod conformance;
mod failover;
mod hostile_schema;
mod nodes;
mod outages;
mod pooler;
mod refusals;
mod scans;
mod snapshots;
mod start_wait;
mod support;
mod tls;
