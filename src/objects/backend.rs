//! Opens the store that `storage.objects` names: the local directory, S3, Google Cloud Storage or
//! Azure Blob Storage.
//!
//! # Timeouts and retries
//!
//! By default the clients retry for three minutes, while a caller waits for its 202. Here each request
//! has 30 s in total (3 s of them to connect) and at most six retries, with a backoff of 0.1 to 1 s,
//! and none later than 5 s after its start. So an error shows within about 5 s when the store refuses,
//! resets or answers 5xx, which is long enough to survive a hiccup that would cost a finished image,
//! and within 30 s when it accepts and stays silent. A read of an object that takes longer continues with
//! further requests (`resumed_read`), because its reader may be slow. The clouds' usual variables change these times,
//! such as `AWS_TIMEOUT=10s` or `AZURE_CONNECT_TIMEOUT=1s`.

use super::ObjectError;
use super::address::{Address, Scheme};
use super::local_writer::LocalWriter;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::ClientConfigKey;
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::signer::Signer;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// An open store, with the configured prefix applied to every key.
pub(super) struct Backend {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) kind: StoreKind,
    /// Appended to error messages: how the store finds its credentials when the configuration does not say so.
    pub(super) hint: &'static str,
}

pub(super) enum StoreKind {
    Local {
        root: PathBuf,
        writer: LocalWriter,
    },
    /// The cloud signs its own download URLs. The signer takes keys of the whole bucket, so callers prepend `prefix`.
    Cloud {
        signer: Arc<dyn Signer>,
        prefix: Path,
    },
}

/// Opens a local directory, and creates it if it is missing.
///
/// Every write is synced with its directory before it returns, so a result survives a power cut
/// once its job is `done`: the [`LocalWriter`] syncs whole objects, and the store itself
/// (`with_fsync`) syncs multipart writes. Deletions also remove directories that become empty, because
/// each job has its own input directory.
pub(super) fn local(root: &FilePath) -> Result<Backend, ObjectError> {
    let files = |action| ObjectError::files(action, root);
    std::fs::create_dir_all(root).map_err(files("cannot create the object directory"))?;
    if let Some(parent) = root.parent() {
        std::fs::File::open(parent)
            .and_then(|it| it.sync_all())
            .map_err(files("cannot sync the directory that holds"))?;
    }
    let store = LocalFileSystem::new_with_prefix(root)
        .map_err(std::io::Error::other)
        .map_err(files("cannot use the object directory"))?
        .with_fsync(true)
        .with_automatic_cleanup(true);
    Ok(Backend {
        kind: StoreKind::Local {
            root: root.to_path_buf(),
            writer: LocalWriter::start(root, store.clone())?,
        },
        store: Arc::new(store),
        hint: "",
    })
}

/// Opens a bucket or container. `variables` is the environment or a test's replacement; unknown
/// names and empty values are ignored.
pub(super) fn cloud(
    address: &Address,
    variables: &[(String, String)],
) -> Result<Backend, ObjectError> {
    match address.scheme {
        Scheme::S3 => s3(address, variables),
        Scheme::Gs => gs(address, variables),
        Scheme::Az => az(address, variables),
    }
}

fn s3(address: &Address, variables: &[(String, String)]) -> Result<Backend, ObjectError> {
    let mut builder = AmazonS3Builder::new()
        .with_client_options(client_options())
        .with_retry(retries());
    for (key, value) in settings::<AmazonS3ConfigKey>(variables, |name| name.starts_with("AWS_")) {
        builder = builder.with_config(key, value);
    }
    let set = |key| builder.get_config_value(&key).is_some();
    let has_id = set(AmazonS3ConfigKey::AccessKeyId);
    let has_secret = set(AmazonS3ConfigKey::SecretAccessKey);
    if has_id && !has_secret {
        let reason = "AWS_ACCESS_KEY_ID is set, and both are required";
        return Err(address.missing("AWS_SECRET_ACCESS_KEY", reason));
    }
    if has_secret && !has_id {
        let reason = "AWS_SECRET_ACCESS_KEY is set, and both are required";
        return Err(address.missing("AWS_ACCESS_KEY_ID", reason));
    }
    let endpoint = builder
        .get_config_value(&AmazonS3ConfigKey::S3Endpoint)
        .or_else(|| builder.get_config_value(&AmazonS3ConfigKey::Endpoint));
    let allow_http =
        builder.get_config_value(&AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp));
    if endpoint.is_some_and(|url| url.starts_with("http:")) && allow_http.as_deref() != Some("true")
    {
        let reason = "the endpoint is http://, without encryption; set it to true to allow that";
        return Err(address.missing("AWS_ALLOW_HTTP", reason));
    }
    let hint = if has_id {
        ""
    } else {
        "neither AWS_ACCESS_KEY_ID nor AWS_SECRET_ACCESS_KEY is set, so the store uses the role of the machine or container"
    };
    let store = builder.with_bucket_name(&address.bucket).build();
    backend(store, address, hint)
}

/// Warns about S3 credentials that belong to a session: of a role, or with a session token.
pub(super) fn warning(bucket: &Url, variables: &[(String, String)]) -> Option<&'static str> {
    let settings = settings::<AmazonS3ConfigKey>(variables, |name| name.starts_with("AWS_"));
    let set = |key| settings.iter().any(|(known, _)| *known == key);
    let is_static = set(AmazonS3ConfigKey::AccessKeyId) && !set(AmazonS3ConfigKey::Token);
    (bucket.scheme() == "s3" && !is_static).then_some(
        "the credentials for `[storage] objects` belong to a session, because AWS_ACCESS_KEY_ID is not set or AWS_SESSION_TOKEN is \
         set: S3 refuses a download URL once the session that signed it has expired, often within hours. Use the access key of a user",
    )
}

fn gs(address: &Address, variables: &[(String, String)]) -> Result<Backend, ObjectError> {
    let mut builder = GoogleCloudStorageBuilder::new()
        .with_client_options(client_options())
        .with_retry(retries());
    for (key, value) in settings::<GoogleConfigKey>(variables, |name| name.starts_with("GOOGLE_")) {
        builder = builder.with_config(key, value);
    }
    let set = |key| builder.get_config_value(&key).is_some();
    let hint = if set(GoogleConfigKey::ServiceAccount)
        || set(GoogleConfigKey::ServiceAccountKey)
        || set(GoogleConfigKey::ApplicationCredentials)
    {
        ""
    } else {
        "none of GOOGLE_SERVICE_ACCOUNT, GOOGLE_SERVICE_ACCOUNT_KEY and GOOGLE_APPLICATION_CREDENTIALS is set, so the store uses the credentials of the machine"
    };
    let store = builder.with_bucket_name(&address.bucket).build();
    backend(store, address, hint)
}

fn az(address: &Address, variables: &[(String, String)]) -> Result<Backend, ObjectError> {
    let mut builder = MicrosoftAzureBuilder::new()
        .with_client_options(client_options())
        .with_retry(retries());
    let known = |name: &str| name.starts_with("AZURE_") || name == "IDENTITY_ENDPOINT";
    for (key, value) in settings::<AzureConfigKey>(variables, known) {
        builder = builder.with_config(key, value);
    }
    let set = |key| builder.get_config_value(&key).is_some();
    let emulator = builder.get_config_value(&AzureConfigKey::UseEmulator);
    if !set(AzureConfigKey::AccountName) && emulator.as_deref() != Some("true") {
        let reason = "it names the storage account that holds the container";
        return Err(address.missing("AZURE_STORAGE_ACCOUNT_NAME", reason));
    }
    let hint = if set(AzureConfigKey::AccessKey) {
        ""
    } else {
        "AZURE_STORAGE_ACCOUNT_KEY is not set, so the store tries the other kinds of credentials"
    };
    let store = builder.with_container_name(&address.bucket).build();
    backend(store, address, hint)
}

fn backend<S: ObjectStore + Signer + Clone>(
    built: object_store::Result<S>,
    address: &Address,
    hint: &'static str,
) -> Result<Backend, ObjectError> {
    let store = built.map_err(|error| address.refused(&error))?;
    let kind = StoreKind::Cloud {
        signer: Arc::new(store.clone()),
        prefix: address.prefix.clone(),
    };
    let store: Arc<dyn ObjectStore> = if address.prefix.as_ref().is_empty() {
        Arc::new(store)
    } else {
        Arc::new(PrefixStore::new(store, address.prefix.clone()))
    };
    Ok(Backend { store, kind, hint })
}

/// The variables that a builder understands, as its keys, in the given order.
fn settings<K: std::str::FromStr>(
    variables: &[(String, String)],
    belongs: impl Fn(&str) -> bool,
) -> Vec<(K, String)> {
    variables
        .iter()
        .filter(|(name, value)| belongs(name) && !value.is_empty())
        .filter_map(|(name, value)| {
            let key = name.to_ascii_lowercase().parse().ok()?;
            Some((key, value.clone()))
        })
        .collect()
}

fn retries() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(1),
            base: 2.0,
        },
        max_retries: 6,
        retry_timeout: Duration::from_secs(5),
    }
}

fn client_options() -> ClientOptions {
    ClientOptions::new()
        .with_timeout(Duration::from_secs(30))
        .with_connect_timeout(Duration::from_secs(3))
}
