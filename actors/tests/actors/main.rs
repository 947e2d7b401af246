//! The actors together, over an engine in memory, with generators that do as they are told. All but one test run on one
//! thread whose clock stands still while there is work, so waits cost nothing and every order is the same each time.

mod batches;
mod batching;
mod breaker;
mod cancel;
mod expiry;
mod fail_stop;
mod fairness;
mod generators;
mod life;
mod moving;
mod pause;
mod progress;
mod recovery;
mod retries;
mod stop;
mod waiting;
mod world;
