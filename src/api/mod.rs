//! Requests and answers as they look on the wire, apart from the domain: one type for each, whichever interface uses it.

pub(crate) mod account;
pub(crate) mod delivery;
pub(crate) mod fields;
pub(crate) mod generation;
pub(crate) mod job;
pub(crate) mod job_record;
pub(crate) mod key;
pub(crate) mod kinds;
pub(crate) mod model;
pub(crate) mod pause;
pub(crate) mod person;
pub(crate) mod transaction;
pub(crate) mod webhook;
