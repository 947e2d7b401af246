//! Download URLs of pictures.

use super::error::{Error, ErrorKind};
use super::state::AppState;
use crate::images::FAULT_TARGET;

/// A fresh download URL.
pub async fn presign(state: &AppState, key: &str) -> Result<String, Error> {
    let signed = state
        .images
        .presign(key, state.now().to_datetime(), state.url_lifetime())
        .await;
    signed.map_err(|error| {
        tracing::error!(target: FAULT_TARGET, %error, "a download URL could not be signed");
        Error::new(
            ErrorKind::StorageUnavailable,
            "the picture's URL could not be signed; try again",
        )
    })
}
