//! What every handler may use.

use super::authentication::Authentication;
use super::call_limits::CallLimits;
use super::commit::{Change, Turn, Turns};
use super::file_turns::FileTurns;
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

/// Shared by all workers.
pub struct AppState {
    /// The effective configuration.
    pub config: Config,
    /// What is on sale.
    pub catalog: Catalog,
    /// Records.
    pub store: Store,
    /// The actors.
    pub system: System,
    /// Pictures and input images.
    pub images: Images,
    /// Clears away what ended jobs leave.
    pub result_store: ResultStore,
    /// Seals the secrets of webhooks.
    pub vault: Vault,
    /// The way out, for input images, and for a look at where a webhook is to be.
    pub egress: Client,
    /// The moment.
    pub clock: Clock,
    /// This process, for the operator.
    pub process: NodeProcess,
    /// Turns true when an orderly stop begins.
    pub stopping: watch::Sender<bool>,
    /// The end of the process.
    pub fail_stop: FailStop,
    /// How much callers may do.
    pub limits: CallLimits,
    /// What tells callers apart.
    pub auth: Authentication,
    /// The operator's switches, as they are on the disk.
    pub pause: Arc<RwLock<Pause>>,
    /// What absolute links begin with.
    pub public_url: String,
    /// Which node sweeps the store.
    pub maintainer: Maintainer,
    /// Turns at changing keys, webhooks and switches.
    pub operator: Turns,
    /// Turns at changing people and their sessions.
    pub people: Turns,
    /// Turns at submitting uploaded files.
    pub file_turns: FileTurns,
    /// Turns at making favourites, and at removing pictures that are none.
    pub favourites: Turns,
}

impl AppState {
    /// The moment.
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// How long a download URL is valid.
    pub fn url_lifetime(&self) -> Duration {
        Duration::from_secs(self.config.results.url_lifetime_seconds)
    }

    /// Bounds of fetching input images.
    pub fn input_limits(&self, account: AccountId) -> InputLimits {
        let inputs = &self.config.inputs;
        // Shorter than the time-out of the steps of an upload.
        let patience = inputs.timeout().min(self.config.server.body_timeout()) / 2;
        InputLimits {
            memory: self.limits.memory.of(account, patience),
            timeout: inputs.timeout(),
            max_total_bytes: inputs.max_total_bytes,
            max_pixels: inputs.max_pixels,
            ..InputLimits::default()
        }
    }
}

impl AppState {
    /// Writes and returns once it is on the disk and memory has learned of it. Both happen also when the caller has left.
    ///
    /// # Errors
    /// The engine has failed, and with it the service.
    pub async fn commit(&self, change: impl Into<Change>) -> Result<(), EngineError> {
        let (writes, then, outcome) = parts(change.into());
        self.store.commit(writes, then);
        outcome.await.unwrap_or(Err(EngineError::Stopped))
    }

    /// The same for a change of an API key, as a decision of its account: jobs that were not accepted before are judged by the
    /// key as it is afterwards. `after` is the key with the hash of its text; `None` removes it.
    ///
    /// # Errors
    /// The engine has failed, and with it the service.
    pub async fn commit_key(
        &self,
        before: &ApiKey,
        after: Option<(KeyHash, ApiKey)>,
        change: Change,
    ) -> Result<(), StoreError> {
        // The books of the account cannot be read: then nothing is accepted for it, and the change needs no order.
        let Ok(Some(account)) = self.system.accounts().get(before.account) else {
            return Ok(self.commit(change).await?);
        };
        let Change {
            mut writes,
            turn,
            learn,
        } = change;
        turn.iter().for_each(|turn| turn.end_with(&mut writes));
        let then = Box::new(move || {
            learn.into_iter().for_each(|learn| learn());
            turn.into_iter().for_each(Turn::ended);
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

    /// The same for a change of the switches: what is accepted afterwards is decided under them.
    ///
    /// # Errors
    /// The engine has failed, and with it the service.
    pub async fn commit_pause(&self, pause: Pause, change: Change) -> Result<(), EngineError> {
        let (writes, then, outcome) = parts(change);
        let store = &self.store;
        self.system
            .change_pause(pause, || store.commit(writes, then));
        outcome.await.unwrap_or(Err(EngineError::Stopped))
    }
}

type CommitOutcome = oneshot::Receiver<Result<(), EngineError>>;

/// The writes of a change, what follows once they are durable, and where the outcome will be heard.
fn parts(
    change: Change,
) -> (
    Writes,
    impl FnOnce(Result<(), EngineError>) + Send + 'static,
    CommitOutcome,
) {
    let Change {
        mut writes,
        turn,
        learn,
    } = change;
    turn.iter().for_each(|turn| turn.end_with(&mut writes));
    let (sender, receiver) = oneshot::channel();
    let then = move |outcome: Result<(), EngineError>| {
        if outcome.is_ok() {
            learn.into_iter().for_each(|learn| learn());
        }
        // After a failure too: the engine has failed, and with it the process.
        turn.into_iter().for_each(Turn::ended);
        // The send fails only when the caller has gone.
        drop(sender.send(outcome));
    };
    (writes, then, receiver)
}
