//! API keys that were used lately, so that a call costs one hash and one look into memory.

use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use tintype_storage::domain::api_key::{self, ApiKey, KeyHash};
use tintype_storage::store::{Store, StoreError};

/// Keys that are remembered; when there are more, all are looked up anew.
const CAPACITY: usize = 100_000;

/// A copy of some of the store's keys. What changes a key must have it forgotten here, once that is on the disk.
#[derive(Default)]
pub struct KeyRing {
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    keys: HashMap<KeyHash, Arc<ApiKey>>,
    /// Rises when a key is forgotten, so that nobody puts back what was read before that.
    forgotten: u64,
}

impl KeyRing {
    /// The key with this text; `None` when it is malformed or not known.
    pub fn find(&self, store: &Store, text: &str) -> Result<Option<Arc<ApiKey>>, StoreError> {
        let hash = api_key::hash(text);
        let forgotten = {
            let state = self.state.read();
            if let Some(key) = state.keys.get(&hash) {
                return Ok(Some(Arc::clone(key)));
            }
            state.forgotten
        };
        if !api_key::is_well_formed(text) {
            return Ok(None);
        }
        let Some(key) = store.key_by_hash(&hash)?.map(Arc::new) else {
            return Ok(None);
        };
        let mut state = self.state.write();
        if state.forgotten == forgotten {
            if state.keys.len() >= CAPACITY {
                state.keys.clear();
            }
            state.keys.insert(hash, Arc::clone(&key));
        }
        Ok(Some(key))
    }

    /// Forgets a key that was changed or removed.
    pub fn forget(&self, hash: &KeyHash) {
        let mut state = self.state.write();
        state.forgotten += 1;
        state.keys.remove(hash);
    }
}
