//! Records whose commits become durable in the middle of another call.

use parking_lot::Mutex;
use std::sync::Arc;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::engine::{Engine, EngineError, Holds, Key};
use tintype_storage::store::tables::ACCOUNTS;
use tintype_storage::testing::layer::Layer;
use tintype_storage::testing::stalled::StalledEngine;

/// Holds commits, and releases them just before the next read of an account.
pub struct LateCommits {
    pub gate: Arc<StalledEngine>,
    holds: Arc<Holds>,
    awaited: Mutex<Option<Key>>,
}

impl LateCommits {
    pub fn in_memory() -> Arc<Self> {
        Arc::new(Self {
            gate: StalledEngine::in_memory(),
            holds: Arc::default(),
            awaited: Mutex::default(),
        })
    }

    /// Releases the held commits just before the next read of this account.
    pub fn release_before_read_of(&self, account: &str) {
        let account = AccountId(account.parse().expect("an id"));
        *self.awaited.lock() = Some(ACCOUNTS.key(&account));
    }
}

impl Layer for LateCommits {
    fn inner(&self) -> Arc<dyn Engine> {
        Arc::clone(&self.gate) as Arc<dyn Engine>
    }

    fn holds(&self) -> &Arc<Holds> {
        &self.holds
    }

    fn before_get(&self, key: &[u8]) -> Result<(), EngineError> {
        let is_awaited = self.awaited.lock().take_if(|it| **it == *key).is_some();
        if is_awaited {
            self.gate.open();
        }
        Ok(())
    }
}
