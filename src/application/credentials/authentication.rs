//! State of authentication: API keys, passwords and the operator's token.

use super::api_key_cache::ApiKeyCache;
use super::auth_throttle::AuthThrottle;
use super::passwords::Passwords;
use super::untrusted_proxies::UntrustedProxies;
use crate::application::limits::rate_limit::Elapsed;
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

pub struct Authentication {
    pub api_keys: Arc<ApiKeyCache>,
    pub throttle: AuthThrottle,
    pub passwords: Passwords,
    pub untrusted_proxies: UntrustedProxies,
    /// SHA-256 of the operator's token.
    pub admin_token: [u8; 32],
}

impl Authentication {
    /// `is_cluster`: several nodes share the store.
    pub fn new(admin_token: &str, elapsed: Elapsed, is_cluster: bool) -> Self {
        Self {
            api_keys: Arc::new(ApiKeyCache::new(is_cluster)),
            throttle: AuthThrottle::new(elapsed),
            passwords: Passwords::default(),
            untrusted_proxies: UntrustedProxies::default(),
            admin_token: Sha256::digest(admin_token.as_bytes()).into(),
        }
    }
}
