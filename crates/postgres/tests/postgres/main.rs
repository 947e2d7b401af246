//! The engine on a real PostgreSQL, which the tests start where its programs are installed.

mod claims;
mod conformance;
mod nodes;
mod outages;
mod pooler;
mod refusals;
mod scans;
mod snapshots;
mod support;
mod tls;
