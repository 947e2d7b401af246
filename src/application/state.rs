//! The shared state of all handlers.

use super::authentication::Authentication;
use super::call_limits::CallLimits;
use super::commit::{Change, ChangeGuard, ChangeLock};
use super::file_locks::FileLocks;
use super::maintainer::Maintainer;
use crate::config::Config;
use crate::images::Images;
use crate::inputs::InputLimits;
use crate::result_store::ResultStore;
use crate::webhooks::Vault;
use parking_lot::RwLock;
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::account::{AccountCommand, KeyChange};
use tintype_actors::clock::Clock;
use tintype_actors::fail_stop::FailStop;
use tintype_actors::system::System;
use tintype_egress::Client;
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::catalog::Catalog;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::node::NodeProcess;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::EngineError;
use tintype_storage::store::{Store, StoreError, Writes};
use tokio::sync::{oneshot, watch};

pub struct AppState {
    /// The effective configuration, defaults included.
    pub config: Config,
    pub catalog: Catalog,
    pub store: Store,
    pub system: System,
    /// The object store of results and input images.
    pub images: Images,
    /// Deletes the input images of ended jobs.
    pub result_store: ResultStore,
    /// Encrypts webhook secrets.
    pub vault: Vault,
    /// HTTP client for input images and for the check of webhook URLs.
    pub egress: Client,
    pub clock: Clock,
    /// Describes this process to the operator.
    pub process: NodeProcess,
    /// True once a graceful shutdown begins.
    pub stopping: watch::Sender<bool>,
    /// Stops the process after a storage failure.
    pub fail_stop: FailStop,
    pub limits: CallLimits,
    pub auth: Authentication,
    /// Copy of the durable pause switches.
    pub pause: Arc<RwLock<Pause>>,
    /// Prefix of absolute links.
    pub public_url: String,
    pub maintainer: Maintainer,
    /// Guards changes of keys, webhooks and pause switches.
    pub operator: ChangeLock,
    /// Guards changes of people and their sessions.
    pub people: ChangeLock,
    pub file_locks: FileLocks,
    /// Guards new favourites, and the removal of images that are not favourites.
    pub favourites: ChangeLock,
}

impl AppState {
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    pub fn url_lifetime(&self) -> Duration {
        Duration::from_secs(self.config.results.url_lifetime_seconds)
    }

    pub fn input_limits(&self, account: AccountId) -> InputLimits {
        let inputs = &self.config.inputs;
        // Shorter than the body timeout, so that an upload does not time out while it waits for memory.
        let memory_timeout = inputs.timeout().min(self.config.server.body_timeout()) / 2;
        InputLimits {
            memory: self.limits.memory.of(account, memory_timeout),
            timeout: inputs.timeout(),
            max_total_bytes: inputs.max_total_bytes,
            max_pixels: inputs.max_pixels,
            ..InputLimits::default()
        }
    }
}

impl AppState {
    /// Commits, and returns once the writes are durable and memory is updated. Both happen even if the caller disconnects.
    ///
    /// # Errors
    /// The engine failed, which stops the service.
    pub async fn commit(&self, change: impl Into<Change>) -> Result<(), EngineError> {
        let (writes, then, outcome) = split(change.into());
        self.store.commit(writes, then);
        outcome.await.unwrap_or(Err(EngineError::Stopped))
    }

    /// Commits a change of an API key in its account's decision order: every job accepted later is checked against the changed key.
    /// `after` is the key with the hash of its text; `None` removes it.
    ///
    /// # Errors
    /// The engine failed, which stops the service.
    pub async fn commit_key(
        &self,
        before: &ApiKey,
        after: Option<(KeyHash, ApiKey)>,
        change: Change,
    ) -> Result<(), StoreError> {
        // The account cannot be read, so it accepts no jobs and the change needs no order.
        let Ok(Some(account)) = self.system.accounts().get(before.account) else {
            return Ok(self.commit(change).await?);
        };
        let Change {
            mut writes,
            guard,
            after_commit,
        } = change;
        guard
            .iter()
            .for_each(|guard| guard.add_release(&mut writes));
        let then = Box::new(move || {
            after_commit
                .into_iter()
                .for_each(|after_commit| after_commit());
            guard.into_iter().for_each(ChangeGuard::released);
        });
        let (reply, outcome) = oneshot::channel();
        let change = KeyChange {
            key: before.id,
            after,
            writes,
            then,
            reply: reply.into(),
        };
        let command = AccountCommand::ChangeKey(Box::new(change));
        let _ = account.send(command);
        outcome.await.unwrap_or(Err(EngineError::Stopped.into()))
    }

    /// Commits a change of the pause switches. Every job accepted later is checked against them.
    ///
    /// # Errors
    /// The engine failed, which stops the service.
    pub async fn commit_pause(&self, pause: Pause, change: Change) -> Result<(), EngineError> {
        let (writes, then, outcome) = split(change);
        let store = &self.store;
        self.system
            .change_pause(pause, || store.commit(writes, then));
        outcome.await.unwrap_or(Err(EngineError::Stopped))
    }
}

type CommitOutcome = oneshot::Receiver<Result<(), EngineError>>;

/// Splits a change into its writes, the callback of the commit, and the receiver of its outcome.
fn split(
    change: Change,
) -> (
    Writes,
    impl FnOnce(Result<(), EngineError>) + Send + 'static,
    CommitOutcome,
) {
    let Change {
        mut writes,
        guard,
        after_commit,
    } = change;
    guard
        .iter()
        .for_each(|guard| guard.add_release(&mut writes));
    let (sender, receiver) = oneshot::channel();
    let then = move |outcome: Result<(), EngineError>| {
        if outcome.is_ok() {
            after_commit
                .into_iter()
                .for_each(|after_commit| after_commit());
        }
        // After a failure too: it stops the process.
        guard.into_iter().for_each(ChangeGuard::released);
        // The send fails only if the caller disconnected.
        drop(sender.send(outcome));
    };
    (writes, then, receiver)
}
