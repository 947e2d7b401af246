//! The actors together, over an in-memory engine and with scripted generators. All but one test run on one thread whose clock is paused
//! while there is work, so waits cost nothing and the order of events is the same each time.

mod backend_pause;
mod backend_pause_waits;
mod batches;
mod batching;
mod breaker;
mod cancel;
mod expiry;
mod fail_stop;
mod failover;
mod fairness;
mod generators;
mod job_outcomes;
mod limit_hints;
mod nodes;
mod pause;
mod progress;
mod recovery;
mod retries;
mod stop;
mod unreachable;
mod waiting;
mod world;
