//! The vault key of several nodes that share one store.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use tintype::config::Secret as Common;
use tintype::webhooks::{Vault, VaultError};
use tintype_storage::domain::webhook::WebhookId;
use tintype_storage::store::Store;
use tintype_storage::testing::memory::MemoryEngine;
use tintype_storage::webhook_wire::secret::WebhookSecret;
use uuid::Uuid;

const WEBHOOK: WebhookId = WebhookId(Uuid::from_u128(1));

fn store() -> Store {
    Store::new(Arc::new(MemoryEngine::new()))
}

async fn open(store: &Store, common: &str, data_dir: &Path) -> Result<Vault, VaultError> {
    Vault::of_nodes(store, &Common::new(common), data_dir).await
}

#[actix_web::test]
async fn nodes_share_the_key_of_the_data_directory_that_their_records_come_from() {
    let [before, first, second] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let vault = Vault::load_or_create(before.path(), None).unwrap();
    let sealed = vault.seal(WEBHOOK, &WebhookSecret::from_random([7; 32]));
    let file = |directory: &tempfile::TempDir| directory.path().join("secrets-key");
    fs::copy(file(&before), file(&first)).unwrap();
    let store = store();
    for directory in [&first, &second] {
        let vault = open(&store, "common", directory.path()).await.unwrap();
        assert!(vault.open(WEBHOOK, &sealed).is_ok());
    }
    assert!(!file(&second).exists());
    let refused = open(&store, "another", second.path()).await;
    let refused = refused.err().unwrap().to_string();
    assert!(refused.contains("TINTYPE_SECRET"), "{refused}");
}

#[actix_web::test]
async fn nodes_that_start_at_once_have_one_key() {
    let directory = tempfile::tempdir().unwrap();
    let store = store();
    let start = || open(&store, "common", directory.path());
    let (first, second) = tokio::join!(start(), start());
    let sealed = first
        .unwrap()
        .seal(WEBHOOK, &WebhookSecret::from_random([7; 32]));
    assert!(second.unwrap().open(WEBHOOK, &sealed).is_ok());
}
