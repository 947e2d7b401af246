//! What leaves the machine, and what never does.

mod addresses;
mod connecting;
mod pooling;
mod resolving;
mod tls;
mod urls;
