//! A node's key cache after another node has changed a key.

use std::sync::Arc;
use std::time::Duration;
use tintype::application::credentials::api_key_cache::{ApiKeyCache, Reading};
use tintype_storage::domain::account::{Account, AccountChange};
use tintype_storage::domain::api_key::{self, ApiKey};
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::{Engine, commit_and_wait};
use tintype_storage::store::{Store, Writes};
use tintype_storage::testing::memory::MemoryEngine;
use uuid::Uuid;

const NOW: Timestamp = Timestamp::EPOCH;

/// A store with an active key of an account, and the key's text.
fn with_key() -> (Store, ApiKey, String) {
    let store = Store::new(Arc::new(MemoryEngine::new()) as Arc<dyn Engine>);
    let (id, text) = (Uuid::from_u128(1), api_key::text(&[7; 32]));
    let account = Account::new(AccountId(id), "an account".into(), NOW);
    let key = ApiKey::with_all_rights(KeyId(id), AccountId(id), NOW);
    commit(&store, store.open_account(&account, None));
    commit(&store, store.put_key(&api_key::hash(&text), &key));
    (store, key, text)
}

fn commit(store: &Store, writes: Writes) {
    commit_and_wait(&**store.engine(), writes).expect("a commit");
}

async fn is_admitted(cache: &ApiKeyCache, store: &Store, text: &str) -> Option<bool> {
    let found = cache
        .find(store, text, NOW, Reading::Key)
        .await
        .expect("readable");
    found.map(|it| it.admit(NOW).is_ok())
}

#[actix_web::test]
async fn a_node_rejects_at_once_a_key_that_another_node_deactivated() {
    let (store, key, text) = with_key();
    let cache = ApiKeyCache::new(true);
    assert_eq!(is_admitted(&cache, &store, &text).await, Some(true));
    let off = ApiKey {
        active: false,
        ..key.clone()
    };
    commit(&store, store.put_key(&api_key::hash(&text), &off));
    assert_eq!(is_admitted(&cache, &store, &text).await, Some(false));
    commit(&store, store.put_key(&api_key::hash(&text), &key));
    assert_eq!(is_admitted(&cache, &store, &text).await, Some(true));
    let account = store.account(key.account).await.expect("readable");
    let account = AccountChange {
        active: Some(false),
        ..AccountChange::default()
    }
    .apply(account.expect("an account"));
    commit(&store, store.open_account(&account, None));
    assert_eq!(is_admitted(&cache, &store, &text).await, Some(false));
    commit(&store, store.remove_key(&api_key::hash(&text), &key, NOW));
    assert_eq!(is_admitted(&cache, &store, &text).await, None);
}

#[actix_web::test]
async fn a_node_rejects_an_earlier_key_text_that_another_node_ended() {
    let (store, key, first) = with_key();
    let cache = ApiKeyCache::new(true);
    assert_eq!(is_admitted(&cache, &store, &first).await, Some(true));
    let second = api_key::text(&[8; 32]);
    let (old, new) = (api_key::hash(&first), api_key::hash(&second));
    let (rotated, _) = key.rotate(old, Some(NOW.plus(Duration::from_secs(60))), NOW);
    commit(&store, store.rotate_key(&old, &new, &rotated, &[]));
    assert_eq!(is_admitted(&cache, &store, &first).await, Some(true));
    assert_eq!(is_admitted(&cache, &store, &second).await, Some(true));
    let ended = ApiKey {
        retired: Vec::new(),
        ..rotated
    };
    commit(&store, store.rotate_key(&new, &new, &ended, &[old]));
    assert_eq!(is_admitted(&cache, &store, &first).await, None);
}

#[actix_web::test]
async fn a_single_process_uses_a_cached_key_until_it_is_invalidated() {
    let (store, key, text) = with_key();
    let cache = ApiKeyCache::new(false);
    assert_eq!(is_admitted(&cache, &store, &text).await, Some(true));
    let hash = api_key::hash(&text);
    commit(&store, store.remove_key(&hash, &key, NOW));
    assert_eq!(is_admitted(&cache, &store, &text).await, Some(true));
    cache.invalidate(&hash, &key);
    assert_eq!(is_admitted(&cache, &store, &text).await, None);
}
