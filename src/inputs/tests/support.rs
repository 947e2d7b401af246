//! Shared fixtures of the ingestion tests: an egress client, a store, and checks of its objects.

use crate::inputs::limits::InputLimits;
use crate::inputs::{IngestError, InputImage, MemoryBudget, fetch};
use futures_util::TryStreamExt;
use object_store::{ObjectStore, memory::InMemory, path::Path};
use std::{sync::Arc, time::Duration};
use tintype_egress::{
    Client, ClientOptions,
    header::HeaderValue,
    testing::{ScriptedResolver, loopback},
};
use tintype_storage::domain::ids::AccountId;
use uuid::Uuid;

/// Resolves every name to 127.0.0.1, which is allowed; other loopback addresses are not.
pub(super) fn egress() -> Client {
    let options = ClientOptions {
        connect_timeout: Duration::from_secs(20),
        user_agent: Some(HeaderValue::from_static(crate::outgoing_http::USER_AGENT)),
        ..loopback()
    };
    Client::with_resolver(options, ScriptedResolver::always("127.0.0.1")).unwrap()
}

pub(super) fn limits() -> InputLimits {
    InputLimits {
        timeout: Duration::from_secs(30),
        max_total_bytes: 200_000_000,
        max_pixels: 25_000_000,
        memory: MemoryBudget::new(256 << 20).of(AccountId(Uuid::nil()), Duration::from_secs(15)),
    }
}

pub(super) fn prefix() -> Path {
    Path::from("inputs/job")
}

pub(super) fn memory() -> Arc<dyn ObjectStore> {
    Arc::new(InMemory::new())
}

pub(super) async fn keys(store: &Arc<dyn ObjectStore>) -> Vec<String> {
    let mut keys: Vec<String> = store
        .list(None)
        .map_ok(|object| object.location.to_string())
        .try_collect()
        .await
        .unwrap();
    keys.sort();
    keys
}

/// Ingests without files of the service itself.
pub(super) async fn ingest(
    egress: &Client,
    store: Arc<dyn ObjectStore>,
    prefix: &Path,
    urls: &[String],
    limits: &InputLimits,
) -> Result<Vec<InputImage>, IngestError> {
    fetch::ingest(egress, store, prefix, urls, limits, None, None).await
}

/// Ingests into a new store; checks that a failure leaves nothing in it.
pub(super) async fn run(
    urls: &[String],
    limits: &InputLimits,
) -> Result<Vec<InputImage>, IngestError> {
    let store = memory();
    let outcome = ingest(&egress(), Arc::clone(&store), &prefix(), urls, limits).await;
    let mut expected = outcome
        .iter()
        .flatten()
        .map(|image| image.key.clone())
        .collect::<Vec<_>>();
    expected.sort();
    assert_eq!(keys(&store).await, expected);
    outcome
}

/// The faults of an ingestion that must fail by the caller's fault, one per line.
pub(super) async fn faults(urls: &[String], limits: &InputLimits) -> String {
    fault_lines(run(urls, limits).await, limits)
}

/// The faults of an ingestion that must have failed by the caller's fault, one per line.
pub(super) fn fault_lines(
    outcome: Result<Vec<InputImage>, IngestError>,
    limits: &InputLimits,
) -> String {
    match outcome {
        Err(IngestError::Invalid(faults)) => faults
            .text(limits.max_total_bytes, None)
            .replace("; ", "\n"),
        other => panic!("expected faults of the caller's, got {other:?}"),
    }
}

/// Polls until the condition holds; panics after 20 seconds.
pub(super) async fn eventually<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    for _ in 0..2_000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never came true: {what}");
}
