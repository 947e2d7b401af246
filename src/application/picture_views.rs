//! Small forms of pictures: made once, at the first look, then kept beside the picture.

use super::commit::detached;
use super::error::{self, Error, ErrorKind};
use super::state::AppState;
use crate::image_decoding::VIEWS;
use crate::images::{FAULT_TARGET, ImagesError, view_key};
use bytes::Bytes;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tintype_fair_semaphore::FairSemaphore;
use tintype_imaging::decoding::open_any;
use tintype_imaging::{DecodePermit, encoding};
use tintype_storage::domain::ids::AccountId;
use tokio::time::timeout;

/// Widths that a view can have, in pixels. So few that a picture has a bounded number of views.
pub const WIDTHS: [u32; 4] = [256, 512, 1024, 2048];
const QUALITY: u8 = 82;
/// Pictures that are in memory at a time to be made smaller.
const AT_A_TIME: u64 = 2;
/// How long a call waits for its turn.
const PATIENCE: Duration = Duration::from_secs(30);

/// Turns to have a picture in memory, taken by accounts.
static TURNS: LazyLock<FairSemaphore<AccountId>> =
    LazyLock::new(|| FairSemaphore::new(AT_A_TIME, AT_A_TIME));

/// The form of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewFormat {
    /// What is transparent shows its colour.
    Jpeg,
    /// Without loss.
    Webp,
}

impl ViewFormat {
    pub const ALL: [Self; 2] = [Self::Jpeg, Self::Webp];

    /// The word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Jpeg => "jpeg",
            Self::Webp => "webp",
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpg",
            Self::Webp => "webp",
        }
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
        }
    }
}

/// A small form of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// One of [`WIDTHS`]; a picture that is narrower keeps its size.
    pub width: u32,
    pub format: ViewFormat,
}

impl View {
    /// Where the view of a picture is kept.
    pub fn key(self, picture: &str) -> String {
        view_key(picture, self.width, self.format.extension())
    }
}

/// Is the picture itself there?
///
/// # Errors
/// `Gone`; `StorageUnavailable`
pub async fn check_there(state: &AppState, picture: &str) -> Result<(), Error> {
    state.images.head(picture).await.map(drop).map_err(to_error)
}

/// The view of a picture, where it has been made.
///
/// # Errors
/// `Gone` where the picture itself is not there; `StorageUnavailable`
pub async fn find(state: &AppState, picture: &str, view: View) -> Result<Option<Bytes>, Error> {
    // A view must not outlive its picture.
    check_there(state, picture).await?;
    match state.images.get(&view.key(picture)).await {
        Ok(bytes) => Ok(Some(bytes)),
        Err(ImagesError::NotFound { .. }) => Ok(None),
        Err(error) => Err(to_error(error)),
    }
}

/// Makes the view of a picture and keeps it, also when the caller has left: so it is made once, and no work goes on past its
/// turn.
///
/// # Errors
/// `Gone`; `StorageUnavailable`; `Overloaded` where the turn does not come in time; `NotFound` for a picture that cannot be decoded
pub async fn make(
    state: &Arc<AppState>,
    account: AccountId,
    picture: &str,
    view: View,
) -> Result<Bytes, Error> {
    let turn = timeout(PATIENCE, TURNS.acquire(account, 1)).await;
    let turn = turn.map_err(|_| error::busy())?;
    let (state, picture, key) = (Arc::clone(state), picture.to_owned(), view.key(picture));
    detached(async move {
        let _turn = turn;
        // Another call may have made it meanwhile.
        if let Ok(bytes) = state.images.get(&key).await {
            return Ok(bytes);
        }
        let whole = state.images.get(&picture).await.map_err(to_error)?;
        let made = VIEWS
            .run(account, move |permit| shrunk(permit, &whole, view))
            .await;
        let unreadable = || Error::not_found("this picture cannot be shown smaller");
        let bytes = Bytes::from(made.ok().flatten().ok_or_else(unreadable)?);
        let media_type = view.format.media_type();
        if let Err(error) = state.images.put(&key, bytes.clone(), media_type).await {
            tracing::warn!(%key, %error, "could not keep a small form of a picture");
        }
        Ok(bytes)
    })
    .await
}

fn shrunk(permit: &DecodePermit, bytes: &[u8], view: View) -> Option<Vec<u8>> {
    let opened = open_any(permit, bytes).ok()?;
    let (width, height) = opened.dimensions();
    // A tall picture is longer than it is wide.
    let longest = u64::from(view.width) * u64::from(height.max(width)) / u64::from(width.max(1));
    let small = opened.decode(u32::try_from(longest).ok()?).ok()?;
    let written = match view.format {
        ViewFormat::Jpeg => encoding::jpeg(&small, small.whole(), QUALITY),
        ViewFormat::Webp => encoding::webp(&small, small.whole()),
    };
    written.ok()
}

fn to_error(error: ImagesError) -> Error {
    match error {
        ImagesError::NotFound { .. } => Error::new(
            ErrorKind::Gone,
            "the picture was removed when its retention ended",
        ),
        error => {
            tracing::error!(target: FAULT_TARGET, %error, "could not read a picture");
            let detail = "the picture could not be read; try again";
            Error::new(ErrorKind::StorageUnavailable, detail)
        }
    }
}
