//! Tests of the storage crate through its public interface, as one program so that it is linked once.

mod any_record;
mod audit;
mod audit_deliveries;
mod audit_log;
mod children;
mod codec;
mod codec_deliveries;
mod contract;
mod cut;
mod engines_agree;
mod export;
mod history;
mod idempotency;
mod job_events;
mod job_lists;
mod model;
mod money;
mod people;
mod sled_close;
mod sled_damage;
mod sled_durable;
mod sled_failure;
mod sled_journal;
mod sled_open;
mod support;
mod tallies;
