//! The `User-Agent` of every request that this program sends.

pub const USER_AGENT: &str = concat!("tintype/", env!("CARGO_PKG_VERSION"));
