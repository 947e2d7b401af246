//! Thumbnails of images: created at the first request and stored beside the image.

use crate::application::core::commit::detached;
use crate::application::error::{self, Error, image_fault};
use crate::application::services::JobService;
use crate::decode_permits::THUMBNAIL_DECODING;
use crate::objects::{FAULT_TARGET, ObjectError, media_type, thumbnail_key};
use bytes::Bytes;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tintype_fair_semaphore::{FairSemaphore, Permit};
use tintype_imaging::decoding::open_any;
use tintype_imaging::{DecodePermit, encoding};
use tintype_storage::domain::ids::AccountId;
use tokio::time::timeout;

/// Widths of thumbnails, in pixels. A fixed set, so that an image has a bounded number of thumbnails.
pub const WIDTHS: [u32; 4] = [256, 512, 1024, 2048];
const QUALITY: u8 = 82;
/// Images in memory at the same time.
const MAX_CONCURRENT: u64 = 2;
/// How long a call waits for a permit.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(30);

/// Fair between accounts.
static PERMITS: LazyLock<FairSemaphore<AccountId>> =
    LazyLock::new(|| FairSemaphore::new(MAX_CONCURRENT, MAX_CONCURRENT));

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThumbnailFormat {
    /// Transparent pixels show their colour.
    Jpeg,
    /// Lossless.
    Webp,
}

impl ThumbnailFormat {
    pub const ALL: [Self; 2] = [Self::Jpeg, Self::Webp];

    pub fn as_str(self) -> &'static str {
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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thumbnail {
    /// One of [`WIDTHS`]. A narrower image keeps its size.
    pub width: u32,
    pub format: ThumbnailFormat,
}

impl Thumbnail {
    /// Object key of the thumbnail.
    pub fn key(self, image: &str) -> String {
        thumbnail_key(image, self.width, self.format.extension())
    }
}

/// Object keys of all thumbnails that an image may have.
pub fn keys(image: &str) -> impl Iterator<Item = String> {
    let thumbnails = WIDTHS
        .into_iter()
        .flat_map(|width| ThumbnailFormat::ALL.map(|format| Thumbnail { width, format }));
    thumbnails.map(move |thumbnail| thumbnail.key(image))
}

/// Checks that the image itself exists.
///
/// # Errors
/// `Gone`; `StorageUnavailable`
pub async fn check_exists(jobs: &JobService, image: &str) -> Result<(), Error> {
    jobs.objects
        .head(image)
        .await
        .map(drop)
        .map_err(image_fault)
}

/// Finds the stored thumbnail of an image, and returns its key.
///
/// # Errors
/// `Gone` if the image itself no longer exists; `StorageUnavailable`
pub async fn find(
    jobs: &JobService,
    image: &str,
    thumbnail: Thumbnail,
) -> Result<Option<String>, Error> {
    let key = thumbnail.key(image);
    let (original, stored) = tokio::join!(jobs.objects.head(image), jobs.objects.head(&key));
    // A thumbnail must not outlive its image.
    let original = original.map_err(image_fault)?;
    match stored {
        // A job that ran again after a restore has replaced its image: an older thumbnail shows another one.
        Ok(stored) if stored.last_modified >= original.last_modified => Ok(Some(key)),
        Ok(_) | Err(ObjectError::NotFound { .. }) => Ok(None),
        Err(error) => Err(image_fault(error)),
    }
}

pub enum CreatedThumbnail {
    /// The key of the thumbnail in the object store.
    Stored(String),
    /// The object store did not take the thumbnail.
    Unstored(Bytes),
}

/// Creates and stores the thumbnail of an image, even if the caller disconnects: the work is done once, and always under a permit.
///
/// # Errors
/// `Gone`; `StorageUnavailable`; `Overloaded` without a permit in time; `NotFound` for an image that cannot be decoded
pub async fn create(
    jobs: &Arc<JobService>,
    account: AccountId,
    image: &str,
    thumbnail: Thumbnail,
) -> Result<CreatedThumbnail, Error> {
    let permit = acquire_permit(account).await?;
    let (jobs, image, key) = (Arc::clone(jobs), image.to_owned(), thumbnail.key(image));
    detached(async move {
        let _permit = permit;
        // Another call may have created it meanwhile.
        if let Some(key) = find(&jobs, &image, thumbnail).await? {
            return Ok(CreatedThumbnail::Stored(key));
        }
        let whole = jobs.objects.get(&image).await.map_err(image_fault)?;
        let encoded = THUMBNAIL_DECODING
            .run(account, move |permit| shrink(permit, &whole, thumbnail))
            .await;
        let unreadable =
            || Error::not_found("the service cannot decode this image, so it has no smaller view");
        let bytes = Bytes::from(encoded.ok().flatten().ok_or_else(unreadable)?);
        let stored = jobs
            .objects
            .put(&key, bytes.clone(), media_type(&key))
            .await;
        // The image may have been deleted meanwhile.
        if let Err(gone) = check_exists(&jobs, &image).await {
            jobs.objects.delete(&key).await.map_err(image_fault)?;
            return Err(gone);
        }
        Ok(match stored {
            Ok(()) => CreatedThumbnail::Stored(key),
            Err(error) => {
                tracing::warn!(target: FAULT_TARGET, %key, %error, "could not store a thumbnail");
                CreatedThumbnail::Unstored(bytes)
            }
        })
    })
    .await
}

async fn acquire_permit(account: AccountId) -> Result<Permit<AccountId>, Error> {
    let permit = timeout(PERMIT_TIMEOUT, PERMITS.acquire(account, 1)).await;
    permit.map_err(|_| error::overloaded())
}

fn shrink(permit: &DecodePermit, bytes: &[u8], thumbnail: Thumbnail) -> Option<Vec<u8>> {
    let opened = open_any(permit, bytes).ok()?;
    let (width, height) = opened.dimensions();
    // `decode` takes the longer side, which is the height of a tall image.
    let longest =
        u64::from(thumbnail.width) * u64::from(height.max(width)) / u64::from(width.max(1));
    let small = opened.decode(u32::try_from(longest).ok()?).ok()?;
    let written = match thumbnail.format {
        ThumbnailFormat::Jpeg => encoding::jpeg(&small, small.whole(), QUALITY, None),
        ThumbnailFormat::Webp => encoding::webp(&small, small.whole(), None),
    };
    written.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[tokio::test(start_paused = true)]
    async fn the_service_is_overloaded_without_a_permit_in_time() {
        let account = AccountId(Uuid::nil());
        let _all = PERMITS.acquire(account, MAX_CONCURRENT).await;
        let refused = acquire_permit(account).await.unwrap_err();
        assert_eq!(refused.detail, error::overloaded().detail);
    }
}
