//! API keys, passwords, tokens, and the slowing down of guesses.

pub mod api_key_cache;
pub(crate) mod auth_throttle;
pub mod authentication;
pub(crate) mod passwords;
pub(crate) mod tokens;
pub(crate) mod untrusted_proxies;
