//! Download URLs of images.

use super::error::{Error, ErrorKind};
use super::state::AppState;
use crate::images::FAULT_TARGET;

pub async fn presign(state: &AppState, key: &str) -> Result<String, Error> {
    let signed = state
        .images
        .presign(key, state.now().to_datetime(), state.url_lifetime())
        .await;
    signed.map_err(|error| {
        tracing::error!(target: FAULT_TARGET, %error, "could not sign a download URL");
        Error::new(
            ErrorKind::StorageUnavailable,
            "the service could not sign the URL of the picture; try again",
        )
    })
}
