//! Requests and answers as they look on the wire, apart from the domain.

pub mod fields;
pub mod generation;
pub mod job;
pub mod job_record;
pub mod ledger;
