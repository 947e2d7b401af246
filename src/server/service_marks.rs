//! The mark of a service in its object store, `services/<id>`. The id is that of its oldest account, which cannot be deleted: nodes
//! share it, and a restore or a move keeps it.
//!
//! A store without the mark does not contain the objects of the service. To a service, the objects of another one look like orphans. So
//! a service deletes none while the store has the mark of another one: one whose data directory was not mounted, or that has been given
//! the same bucket.
//!
//! A copy of the records has the same mark. So each sweep first writes a new token into the records and then into the mark. A token
//! that the records do not know is that of another copy. The records keep several tokens, because a write to a bucket may
//! arrive late. A mark without a token, such as an empty object, belongs to the service that sweeps first.

use super::bootstrap;
use crate::application::core::commit::Change;
use crate::application::error::Error;
use crate::application::services::{AccountService, JobService};
use crate::config::Config;
use crate::objects::{ObjectError, ObjectStorage};
use bytes::Bytes;
use futures_util::TryStreamExt as _;
use std::time::Duration;
use tintype_storage::engine::{Direction, commit_and_wait};
use tintype_storage::store::tables::{ENDED_JOBS, LIVE_JOBS, OBJECT_STORE_TOKENS, UPLOADED_FILES};
use tintype_storage::store::{All, Store, StoreError};
use tokio::time::timeout;
use uuid::Uuid;

const PREFIX: &str = "services";
/// The first line of a mark. The second one is the token.
const TEXT: &str = "a Tintype service stores its images here\n";
/// Tokens on record.
const MAX_TOKENS: usize = 8;
/// A start continues without a bucket that answers later.
const START_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a service may not delete objects.
#[derive(Debug, thiserror::Error)]
pub enum MarkError {
    #[error(
        "another service has used the object store of this one; give each service its own bucket or prefix; if the other service no \
         longer exists, delete its mark from the object store: {0}"
    )]
    OtherService(String),
    #[error(
        "another copy of the records of this service has used its object store; give each copy its own bucket or prefix; if no other copy \
         is in use, replace the mark {0} in the object store by an empty object"
    )]
    OtherCopy(String),
    #[error(
        "`[storage] objects`: {place} lacks the mark {mark}, so it does not contain the images of this service; set the previous value, or \
         copy all objects there, for example with `aws s3 sync`; if they are lost, create the mark as an empty object"
    )]
    Missing { place: String, mark: String },
    #[error(transparent)]
    ObjectStorage(#[from] ObjectError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Lock(#[from] Error),
}

/// What a store has in the place of the own mark.
#[derive(Clone, Copy, Debug)]
enum Mark {
    Missing,
    WithoutToken,
    Token(Uuid),
}

/// Refuses a store that does not contain the objects on record, before jobs and deliveries that need them continue. Accepts one that does
/// not answer.
///
/// # Errors
/// `Missing`; the records cannot be read.
pub async fn check(
    config: &Config,
    store: &Store,
    objects: &ObjectStorage,
) -> Result<(), MarkError> {
    let tokens = tokens(store).await?;
    let Some(own) = own_mark(store).await?.filter(|_| !tokens.is_empty()) else {
        return Ok(());
    };
    let Ok(Ok(mark)) = timeout(START_TIMEOUT, read(objects, &own)).await else {
        return Ok(());
    };
    match judge(config, &own, mark, &tokens) {
        Err(error @ MarkError::Missing { .. }) => {
            if needs_objects(store).await? {
                return Err(error);
            }
            // A new service may change its store. The next mark is its first one.
            let forgotten = vec![OBJECT_STORE_TOKENS.delete(&())];
            Ok(commit_and_wait(&**store.engine(), forgotten).map_err(StoreError::from)?)
        }
        Err(error) => {
            tracing::warn!("{error}");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// Writes the mark of this service, unless an earlier start has. Creates the first account, which names it. After a failure the next
/// sweep tries again.
pub async fn ensure(accounts: &AccountService, jobs: &JobService) {
    let ensured = async {
        if tokens(&jobs.core.store).await?.is_empty() {
            bootstrap::ensure_account(accounts).await?;
            claim(jobs).await?;
        }
        Ok::<_, MarkError>(())
    };
    if let Ok(Err(error)) = timeout(START_TIMEOUT, ensured).await {
        tracing::warn!("{error}");
    }
}

/// Writes a new token into the mark of this service. Returns whether this service may delete objects.
///
/// # Errors
/// It may not.
pub async fn claim(jobs: &JobService) -> Result<(), MarkError> {
    let own = own_mark(&jobs.core.store).await?;
    if let Some(own) = &own {
        renew(jobs, own).await?;
    }
    let found = jobs.objects.list(PREFIX);
    let found = found.map_ok(|it| it.location.to_string());
    let mut others: Vec<String> = found.try_collect().await?;
    others.retain(|it| Some(it) != own.as_ref());
    match others.is_empty() {
        true => Ok(()),
        false => Err(MarkError::OtherService(others.join(", "))),
    }
}

async fn renew(jobs: &JobService, own: &str) -> Result<(), MarkError> {
    let (core, objects) = (&jobs.core, &jobs.objects);
    let is_first = tokens(&core.store).await?.is_empty();
    // Before the tokens, which then contain each token that this service has written. Not under the lock, because a bucket may hang.
    let mark = match read(objects, own).await? {
        Mark::Missing if is_first => {
            // Before the first token, so that records with a token imply a mark.
            write(objects, own, None).await?;
            Mark::WithoutToken
        }
        found => found,
    };
    let guard = core.locks.operator.lock().await?;
    let mut tokens = tokens(&core.store).await?;
    judge(&jobs.settings.config, own, mark, &tokens)?;
    let token = Uuid::new_v4();
    tokens.push(token);
    let oldest_kept = tokens.len().saturating_sub(MAX_TOKENS);
    let writes = vec![OBJECT_STORE_TOKENS.put(&(), &tokens.split_off(oldest_kept))];
    let committed = core.commit(Change::under_lock(guard, writes)).await;
    committed.map_err(StoreError::from)?;
    write(objects, own, Some(token)).await?;
    Ok(())
}

/// Removes the token from the mark of the store to which a move has copied the objects.
pub async fn reset(store: &Store, objects: &ObjectStorage) -> Result<(), MarkError> {
    if let Some(own) = own_mark(store).await? {
        write(objects, &own, None).await?;
    }
    Ok(())
}

/// Copies the tokens to moved records whose objects stay.
pub async fn copy_tokens(from: &Store, to: &Store) -> Result<(), MarkError> {
    let tokens = tokens(from).await?;
    if !tokens.is_empty() {
        let write = OBJECT_STORE_TOKENS.put(&(), &tokens);
        commit_and_wait(&**to.engine(), vec![write]).map_err(StoreError::from)?;
    }
    Ok(())
}

fn judge(config: &Config, own: &str, mark: Mark, tokens: &[Uuid]) -> Result<(), MarkError> {
    match mark {
        Mark::Missing if !tokens.is_empty() => Err(MarkError::Missing {
            place: place(config),
            mark: own.to_owned(),
        }),
        // The directory was copied with records from an export, which contains no tokens.
        Mark::Token(_) if tokens.is_empty() && config.storage.objects.is_none() => Ok(()),
        Mark::Token(token) if !tokens.contains(&token) => Err(MarkError::OtherCopy(own.to_owned())),
        Mark::Missing | Mark::WithoutToken | Mark::Token(_) => Ok(()),
    }
}

fn place(config: &Config) -> String {
    match &config.storage.objects {
        Some(bucket) => bucket.to_string(),
        None => {
            let directory = ObjectStorage::local_directory(&config.storage.data_dir);
            directory.display().to_string()
        }
    }
}

/// `None` if the service has no account yet.
async fn own_mark(store: &Store) -> Result<Option<String>, StoreError> {
    let account = bootstrap::oldest(store).await?;
    Ok(account.map(|it| format!("{PREFIX}/{}", it.id)))
}

async fn tokens(store: &Store) -> Result<Vec<Uuid>, StoreError> {
    let found = OBJECT_STORE_TOKENS.get(store, &()).await?;
    Ok(found.unwrap_or_default())
}

/// Do records name objects? Jobs outlive their deliveries.
async fn needs_objects(store: &Store) -> Result<bool, StoreError> {
    let order = Direction::Rising;
    Ok(LIVE_JOBS.first(store, &All, order).await?.is_some()
        || ENDED_JOBS.first(store, &All, order).await?.is_some()
        || UPLOADED_FILES.first(store, &All, order).await?.is_some())
}

async fn read(objects: &ObjectStorage, own: &str) -> Result<Mark, ObjectError> {
    match objects.get(own).await {
        Ok(text) => Ok(parse(&String::from_utf8_lossy(&text))),
        Err(ObjectError::NotFound { .. }) => Ok(Mark::Missing),
        Err(error) => Err(error),
    }
}

fn parse(text: &str) -> Mark {
    let token = text.split_whitespace().last();
    match token.and_then(|it| it.parse().ok()) {
        Some(token) => Mark::Token(token),
        None => Mark::WithoutToken,
    }
}

async fn write(objects: &ObjectStorage, own: &str, token: Option<Uuid>) -> Result<(), ObjectError> {
    let token = token.map(|it| format!("{it}\n")).unwrap_or_default();
    let text = Bytes::from(format!("{TEXT}{token}"));
    objects.put(own, text, "text/plain").await
}
