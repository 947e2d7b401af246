//! Queries of lists: paging and filters.

pub(crate) mod day_range;
pub(crate) mod delivery_list;
pub(crate) mod job_query;
pub(crate) mod ledger_query;
pub(crate) mod paging;
pub(crate) mod query;
pub(crate) mod usage_query;
