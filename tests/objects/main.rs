//! The object store against real servers on loopback: an S3 server that checks every signature, failing stores, and the
//! download route over HTTP. Also backups while objects are deleted.

mod backup;
mod backup_calls;
mod deleted_objects;
mod faults;
mod files;
mod s3;

use std::path::Path;
use std::time::Duration;

use tintype::objects::{FileSigningKey, ObjectError, ObjectStorage};

const ACCESS_KEY: &str = "AKIDEXAMPLE";
const SECRET_KEY: &str = "a-secret-that-no-message-may-show";
const DAY: Duration = Duration::from_secs(86_400);

/// Opens `objects` with the credentials of these tests, an endpoint on loopback, and the overrides of `variables`.
fn open(
    objects: &str,
    endpoint: &str,
    variables: &[(&str, &str)],
) -> Result<ObjectStorage, ObjectError> {
    let usual = [
        ("AWS_ACCESS_KEY_ID", ACCESS_KEY),
        ("AWS_SECRET_ACCESS_KEY", SECRET_KEY),
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_ALLOW_HTTP", "true"),
    ];
    let variables = usual
        .iter()
        .chain(variables)
        .map(|(name, value)| (name.to_string(), value.to_string()));
    let key = FileSigningKey::from_bytes(&[7; 32]);
    ObjectStorage::open_with(objects, Path::new("/nonexistent"), "", key, variables)
}

/// A plain client: no credentials, no proxy.
fn http() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}
