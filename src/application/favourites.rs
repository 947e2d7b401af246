//! Favourites: jobs that an account has marked, whose pictures retention leaves alone.

use super::caller::Caller;
use super::commit::Change;
use super::error::Error;
use super::jobs;
use super::picture_views;
use super::state::AppState;
use crate::images::{ImagesError, RESULTS};
use chrono::{DateTime, Utc};
use object_store::path::Path;
use std::str::FromStr as _;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::Job;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::MAX_FAVOURITES;

/// Old pictures that are removed in one turn: people who mark favourites wait for so many at most.
const IN_ONE_TURN: usize = 100;

/// Makes a job one of the favourites of its account. One that is a favourite already stays one.
///
/// # Errors
/// `NotFound`; `Forbidden`; `Gone` where retention has removed the picture; `Invalid` where the account has as many as it may have
pub async fn add(
    state: &AppState,
    caller: &Caller,
    account: AccountId,
    id: &str,
) -> Result<(), Error> {
    let job = jobs::find(state, account, id).await?;
    caller.change(state, account).await?;
    // Retention takes the same turns: it does not remove what becomes a favourite meanwhile.
    let turn = state.favourites.take().await?;
    if state.store.is_favourite(account, job.id).await? {
        return Ok(());
    }
    if let Some(picture) = job.picture() {
        picture_views::check_there(state, &picture.key).await?;
    }
    let others = state
        .store
        .favourites_of(account, None, None, MAX_FAVOURITES);
    if others.await?.len() == MAX_FAVOURITES {
        let message = format!(
            "the account has {MAX_FAVOURITES} favourites, the most it may have; remove one first"
        );
        return Err(Error::field("favourite", message));
    }
    let writes = state.store.put_favourite(account, job.id, state.now());
    Ok(state.commit(Change::in_turn(turn, writes)).await?)
}

/// Makes a job an ordinary one again. Its picture is removed once its time is over.
///
/// # Errors
/// `NotFound`; `Forbidden`
pub async fn remove(
    state: &AppState,
    caller: &Caller,
    account: AccountId,
    id: &str,
) -> Result<(), Error> {
    let job = jobs::find(state, account, id).await?;
    caller.change(state, account).await?;
    let turn = state.favourites.take().await?;
    let writes = state.store.remove_favourite(account, job.id);
    Ok(state.commit(Change::in_turn(turn, writes)).await?)
}

/// Until when the picture of a job stays; `None` where it has none, and where it is not removed.
pub fn kept_until(state: &AppState, job: &Job, is_favourite: bool) -> Option<Timestamp> {
    let days = state.config.results.retention_days;
    if days == 0 || is_favourite {
        return None;
    }
    job.picture()?;
    let age = std::time::Duration::from_secs(days.saturating_mul(86_400));
    Some(job.state.finished_at()?.plus(age))
}

/// Removes up to `limit` pictures that were written before a moment and are of no favourite. Says how many it found; none where others'
/// turns take too long.
///
/// # Errors
/// The object store fails.
pub async fn remove_old_pictures(
    state: &AppState,
    older_than: DateTime<Utc>,
    limit: usize,
) -> Result<usize, ImagesError> {
    let keeps = async |picture: &Path| is_kept(state, picture).await;
    let found = state
        .images
        .expired(RESULTS, older_than, limit, keeps)
        .await?;
    // A list can be long, and people do not wait for it. What has become a favourite meanwhile is seen here.
    for pictures in found.chunks(IN_ONE_TURN) {
        let turn = match state.favourites.take().await {
            Ok(turn) => turn,
            Err(error) => {
                tracing::warn!(%error, "could not go on removing old pictures");
                return Ok(0);
            }
        };
        let mut removable = Vec::with_capacity(pictures.len());
        for picture in pictures {
            if !is_kept(state, picture).await {
                removable.push(picture.clone());
            }
        }
        // No commit that would be refused comes after the pictures.
        if turn.is_doubtful() {
            return Ok(0);
        }
        state.images.remove(RESULTS, removable).await?;
    }
    Ok(found.len())
}

/// Is this the picture of a favourite? Where that cannot be read, the picture stays until the next sweep.
async fn is_kept(state: &AppState, picture: &Path) -> bool {
    let name = picture.filename().unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    let Ok(job) = JobId::from_str(stem) else {
        return false;
    };
    state
        .store
        .is_anyones_favourite(job)
        .await
        .unwrap_or_else(|error| {
            tracing::error!(%job, %error, "could not read whether a picture is a favourite");
            true
        })
}
