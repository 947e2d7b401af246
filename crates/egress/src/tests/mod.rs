//! Tests of the address gate and the client.

mod addresses;
mod connecting;
mod pooling;
mod resolving;
mod tls;
mod urls;
