//! The object store: results, input images, uploaded files, and signed download URLs.
//!
//! `storage.objects` selects a local directory or a bucket of S3, Google Cloud Storage or Azure.
//! Keys are the same in each; only this module adds a configured prefix. A write that returned is
//! durable: the local store syncs the file and its directory, and the clouds guarantee it.

mod address;
mod backend;
mod disposition;
mod error;
mod file_system;
mod key;
mod local_writer;
mod named_objects;
mod probe;
mod resumed_read;
mod retention;
pub(crate) mod signed_url;
mod signing_key;
mod stream_upload;
mod temp_cleanup;

use self::address::Address;
use self::backend::{Backend, StoreKind};
pub use self::disposition::content_disposition;
use self::error::StoreFault;
pub use self::error::{FAULT_TARGET, ObjectError};
pub use self::key::{
    INPUTS, NAMED_PREFIXES, REQUEST_TEXTS, RESULTS, THUMBNAILS, UPLOADS, is_named_key, is_result,
    job_of_result, media_type, other_results, read_result_key, result_key, thumbnail_key,
    upload_key,
};
pub use self::named_objects::{ERASURE_DELAY, NamedObject, ObjectRole};
use self::probe::Probes;
pub use self::retention::Removal;
pub use self::signed_url::{Grant, UrlFault};
pub use self::signing_key::FileSigningKey;
pub use self::stream_upload::ObjectDigest;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures_util::stream::{self, BoxStream, StreamExt};
use object_store::path::Path;
use object_store::signer::Method;
use object_store::{
    Attribute, Attributes, GetOptions, GetResult, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutOptions,
};
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// S3 and Google Cloud Storage sign URLs for at most 7 days.
const MAX_CLOUD_LIFETIME_SECONDS: u64 = 7 * 86_400;

/// The object store and its URL signer. Clones share both.
#[derive(Clone)]
pub struct ObjectStorage {
    inner: Arc<Inner>,
}

struct Inner {
    backend: Backend,
    /// The store's address for messages, without credentials.
    name: String,
    public_url: String,
    signing_key: FileSigningKey,
    probes: Probes,
}

impl ObjectStorage {
    /// Opens the store that `objects` (the value of `storage.objects`) names: empty for
    /// `<data_dir>/objects`, else `s3://bucket/prefix`, `gs://bucket/prefix` or
    /// `az://container/prefix`. Credentials and endpoints come from the environment variables of
    /// the clouds' own tools (`AWS_*`, `GOOGLE_*`, `AZURE_*`). For an S3-compatible server, set
    /// `AWS_ENDPOINT_URL` and, for http, `AWS_ALLOW_HTTP=true`.
    ///
    /// Local download URLs begin with `public_url`, the address of this server for callers. This
    /// call does not contact a cloud; [`ObjectStorage::probe`] does.
    ///
    /// # Errors
    /// `Setting` and `MissingVariable` for an invalid configuration, `Files` when the local
    /// directory cannot be created.
    pub fn open(
        objects: &str,
        data_dir: &FilePath,
        public_url: &str,
        signing_key: FileSigningKey,
    ) -> Result<Self, ObjectError> {
        Self::open_with(objects, data_dir, public_url, signing_key, environment())
    }

    /// The object directory when no bucket is configured.
    pub fn local_directory(data_dir: &FilePath) -> PathBuf {
        data_dir.join("objects")
    }

    /// A sentence for the operator about credentials whose download URLs expire early. `bucket` is the value of `storage.objects`.
    pub fn warning(bucket: Option<&Url>) -> Option<String> {
        backend::warning(bucket?, &environment()).map(str::to_owned)
    }

    /// Opens any directory, and creates it if it is missing. Its objects are not served, so it signs no URLs.
    ///
    /// # Errors
    /// `Files` when the directory cannot be created.
    pub fn open_directory(root: &FilePath) -> Result<Self, ObjectError> {
        // `backend::local` also syncs the parent, and a relative path may have no named parent.
        let absolute = std::path::absolute(root);
        let root = absolute.map_err(ObjectError::files("cannot find", root))?;
        Ok(Self {
            inner: Arc::new(Inner {
                backend: backend::local(&root)?,
                name: root.display().to_string(),
                public_url: String::new(),
                signing_key: FileSigningKey::from_bytes(&[0; 32]),
                probes: Probes::default(),
            }),
        })
    }

    /// As [`ObjectStorage::open`], with `variables` in place of the environment of the process.
    pub fn open_with(
        objects: &str,
        data_dir: &FilePath,
        public_url: &str,
        signing_key: FileSigningKey,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ObjectError> {
        // The HTTP client of the stores uses the process's default provider. An error means that one
        // is already installed, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (backend, name) = if objects.is_empty() {
            let root = Self::local_directory(data_dir);
            (backend::local(&root)?, root.display().to_string())
        } else {
            let address = Address::parse(objects)?;
            let variables: Vec<_> = variables.into_iter().collect();
            let backend = backend::cloud(&address, &variables)?;
            (backend, address.to_string())
        };
        Ok(Self {
            inner: Arc::new(Inner {
                backend,
                name,
                public_url: public_url.trim_end_matches('/').to_owned(),
                signing_key,
                probes: Probes::default(),
            }),
        })
    }

    /// The underlying store with the prefix applied, for streamed reads and writes. Pass
    /// [`ObjectStorage::attributes`] to a streamed write of an image.
    pub fn store(&self) -> Arc<dyn ObjectStore> {
        Arc::clone(&self.inner.backend.store)
    }

    /// Does `/files` serve the objects, from a local directory?
    pub fn is_local(&self) -> bool {
        matches!(self.inner.backend.kind, StoreKind::Local { .. })
    }

    /// The attributes with which a cloud serves an object as `/files` would: media type and
    /// download name. Empty for the local store, which rejects attributes.
    pub fn attributes(&self, key: &str, media_type: &str) -> Attributes {
        if self.is_local() {
            return Attributes::new();
        }
        Attributes::from_iter([
            (Attribute::ContentType, media_type.to_owned()),
            (Attribute::ContentDisposition, content_disposition(key)),
        ])
    }

    /// Writes an object and replaces an existing one. When it returns, the object is complete and durable.
    ///
    /// # Errors
    /// `InvalidKey`; `MissingBucket`; `Store` when all retries have failed.
    pub async fn put(&self, key: &str, bytes: Bytes, media_type: &str) -> Result<(), ObjectError> {
        let location = key::location(key)?;
        let length = bytes.len();
        let written = match &self.inner.backend.kind {
            StoreKind::Local { writer, .. } => writer.put(location, bytes).await,
            StoreKind::Cloud { .. } => {
                let options = PutOptions {
                    attributes: self.attributes(key, media_type),
                    ..PutOptions::default()
                };
                let put = self
                    .inner
                    .backend
                    .store
                    .put_opts(&location, bytes.into(), options);
                put.await.map(drop)
            }
        };
        written.map_err(|error| self.write_fault("writing", key, error))?;
        // The permissions of a bucket may differ between prefixes.
        if is_result(key) {
            self.inner.probes.report_write(length);
        }
        Ok(())
    }

    /// Starts another writer thread if all others are stuck. Call it about every second.
    pub fn add_writer_if_stuck(&self) {
        if let StoreKind::Local { writer, .. } = &self.inner.backend.kind {
            writer.add_thread_if_stuck();
        }
    }

    /// Reads a whole object into memory.
    ///
    /// # Errors
    /// `InvalidKey`; `NotFound`; `MissingBucket`; `Store`.
    pub async fn get(&self, key: &str) -> Result<Bytes, ObjectError> {
        let result = self.reader(key).await?;
        let bytes = result.bytes().await;
        bytes.map_err(|error| self.read_fault("reading", key, error))
    }

    /// Opens an object for reading: its metadata and its bytes as a stream, or a file. A slow reader gets all bytes of the stream.
    pub async fn reader(&self, key: &str) -> Result<GetResult, ObjectError> {
        let location = key::location(key)?;
        let store = self.store();
        let result = store.get(&location).await;
        let result = result.map_err(|error| self.read_fault("reading", key, error))?;
        let reopen = move |rest: Range<u64>| {
            let (store, location) = (Arc::clone(&store), location.clone());
            let options = GetOptions {
                range: Some(rest.into()),
                ..GetOptions::default()
            };
            async move { store.get_opts(&location, options).await }
        };
        Ok(resumed_read::resume(result, reopen))
    }

    /// Opens an object for reading piece by piece.
    pub async fn chunks(
        &self,
        key: &str,
    ) -> Result<BoxStream<'static, Result<Bytes, ObjectError>>, ObjectError> {
        Ok(self.sized_chunks(key).await?.1)
    }

    /// As [`ObjectStorage::chunks`]. Also returns the length of the object, which saves a call of [`ObjectStorage::head`].
    pub async fn sized_chunks(
        &self,
        key: &str,
    ) -> Result<(u64, BoxStream<'static, Result<Bytes, ObjectError>>), ObjectError> {
        let opened = self.reader(key).await?;
        let bytes = opened.meta.size;
        let (objects, key) = (self.clone(), key.to_owned());
        let chunks = opened
            .into_stream()
            .map(move |chunk| chunk.map_err(|error| objects.read_fault("reading", &key, error)));
        Ok((bytes, chunks.boxed()))
    }

    /// Size and time of an object.
    pub async fn head(&self, key: &str) -> Result<ObjectMeta, ObjectError> {
        let location = key::location(key)?;
        let result = self.inner.backend.store.head(&location).await;
        result.map_err(|error| self.read_fault("looking up", key, error))
    }

    /// Deletes an object. Succeeds if it does not exist.
    ///
    /// # Errors
    /// `InvalidKey`; `MissingBucket`, where the store reports it; `Store`.
    pub async fn delete(&self, key: &str) -> Result<(), ObjectError> {
        let location = key::location(key)?;
        match self.inner.backend.store.delete(&location).await {
            Ok(()) => Ok(()),
            Err(error) => match self.read_fault("removing", key, error) {
                ObjectError::NotFound { .. } => Ok(()),
                fault => Err(fault),
            },
        }
    }

    /// Lists the objects below a prefix, in no fixed order. The prefix is empty or a valid key.
    pub fn list(&self, prefix: &str) -> BoxStream<'static, Result<ObjectMeta, ObjectError>> {
        let prefix = if prefix.is_empty() {
            Path::default()
        } else {
            match key::location(prefix) {
                Ok(path) => path,
                Err(refused) => return stream::once(async { Err(refused) }).boxed(),
            }
        };
        let objects = self.clone();
        self.inner
            .backend
            .store
            .list(Some(&prefix))
            .map(move |entry| {
                entry.map_err(|error| objects.write_fault("listing", prefix.as_ref(), error))
            })
            .boxed()
    }

    /// Signs a URL with which any client can download this object (GET, and HEAD where the store
    /// allows it) for `lifetime` (whole seconds) from `now`.
    ///
    /// A local URL costs a few microseconds and no lookup: whether the object exists shows at the
    /// download. Clouds use their own clock and ignore `now`. S3 signs offline; Google and Azure may
    /// call their servers when the credentials are not a key.
    ///
    /// # Errors
    /// `InvalidKey`; `Lifetime` above a cloud's limit (7 days); `Store` when signing fails.
    pub async fn presign(
        &self,
        key: &str,
        now: DateTime<Utc>,
        lifetime: Duration,
    ) -> Result<String, ObjectError> {
        let inner = &self.inner;
        let location = key::location(key)?;
        let seconds = lifetime.as_secs();
        let StoreKind::Cloud { signer, prefix } = &inner.backend.kind else {
            let (url, signing_key) = (&inner.public_url, &inner.signing_key);
            return Ok(signed_url::write(url, signing_key, key, now, seconds));
        };
        if seconds > MAX_CLOUD_LIFETIME_SECONDS {
            return Err(ObjectError::Lifetime {
                place: inner.name.clone(),
                asked: seconds,
                longest: MAX_CLOUD_LIFETIME_SECONDS,
            });
        }
        let whole: Path = prefix.parts().chain(location.parts()).collect();
        let signed = signer.signed_url(Method::GET, &whole, lifetime).await;
        signed
            .map(String::from)
            .map_err(|error| self.write_fault("signing an address for", key, error))
    }

    /// Verifies a URL that [`ObjectStorage::presign`] wrote for the local store. `raw_key` and `query` are still percent-encoded.
    pub fn read_url(
        &self,
        raw_key: &str,
        query: &str,
        now: DateTime<Utc>,
    ) -> Result<Grant, UrlFault> {
        signed_url::read(&self.inner.signing_key, raw_key, query, now)
    }

    /// The error of an operation that needs no existing object: "not found" means the bucket.
    fn write_fault(&self, doing: &str, key: &str, error: object_store::Error) -> ObjectError {
        let message = error.to_string();
        let not_found = matches!(error, object_store::Error::NotFound { .. });
        if !self.is_local() && (not_found || names_the_bucket(&message)) {
            return self.missing_bucket();
        }
        self.fault(doing, key, &message)
    }

    /// The error of an operation on an existing object: the object or the bucket may be missing.
    fn read_fault(&self, doing: &str, key: &str, error: object_store::Error) -> ObjectError {
        let message = error.to_string();
        if !self.is_local() && names_the_bucket(&message) {
            return self.missing_bucket();
        }
        match error {
            object_store::Error::NotFound { .. } => ObjectError::NotFound {
                place: self.inner.name.clone(),
                key: key.to_owned(),
            },
            _ => self.fault(doing, key, &message),
        }
    }

    fn missing_bucket(&self) -> ObjectError {
        ObjectError::MissingBucket {
            place: self.inner.name.clone(),
        }
    }

    fn fault(&self, doing: &str, key: &str, message: &str) -> ObjectError {
        let (mut detail, mut cause) = (error::shorten(message), StoreFault::of(message));
        let hint = self.inner.backend.hint;
        if !hint.is_empty() {
            detail.push_str("; ");
            detail.push_str(hint);
            if cause == StoreFault::Unreachable {
                cause = StoreFault::UnreachableWithoutCredentials;
            }
        }
        ObjectError::Store {
            place: self.inner.name.clone(),
            action: format!("{doing} {key:?}"),
            cause,
            detail,
        }
    }
}

fn environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Does the body of a 404 report a missing bucket (S3, Google) or container (Azure)?
fn names_the_bucket(message: &str) -> bool {
    message.contains("<Code>NoSuchBucket</Code>")
        || message.contains("<Code>ContainerNotFound</Code>")
}

/// Shows the store's address and no key.
impl std::fmt::Debug for ObjectStorage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ObjectStorage")
            .field(&self.inner.name)
            .finish()
    }
}

#[cfg(test)]
mod tests;
