//! Download URLs of images.

use super::error::{Error, ErrorKind};
use super::services::JobService;
use crate::images::FAULT_TARGET;

pub async fn presign(jobs: &JobService, key: &str) -> Result<String, Error> {
    let signed = jobs
        .images
        .presign(
            key,
            jobs.core.now().to_datetime(),
            jobs.settings.config.results.url_lifetime(),
        )
        .await;
    signed.map_err(|error| {
        tracing::error!(target: FAULT_TARGET, %error, "could not sign a download URL");
        Error::new(
            ErrorKind::StorageUnavailable,
            "the service could not sign the URL of the image; try again",
        )
    })
}
