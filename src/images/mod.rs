//! The object store behind the service: pictures that were made, inputs that were fetched, and
//! the addresses under which a caller downloads a result.
//!
//! `storage.objects` chooses between a directory of the local file system and a bucket of S3,
//! Google Cloud Storage or Azure. A key means the same in each; a configured prefix is put before
//! it here and nowhere else. A write that was answered is durable: the local store syncs the file
//! and its directory, the others promise it.

mod address;
mod backend;
mod body;
mod error;
mod file_error;
mod key;
mod local_writer;
mod retention;
pub mod serve;
pub(crate) mod signed_url;
mod signing_key;
mod streamed;
mod temp_cleanup;

use std::io;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures_util::stream::{self, BoxStream, StreamExt};
use object_store::path::Path;
use object_store::signer::Method;
use object_store::{
    Attribute, Attributes, GetResult, ObjectMeta, ObjectStore, ObjectStoreExt, PutOptions,
};

use self::address::Address;
use self::backend::{Backend, Place};
pub use self::error::{FAULT_TARGET, ImagesError};
pub use self::file_error::FileError;
pub use self::key::{RESULTS, THUMBNAILS, UPLOADS, media_type, upload_key, view_key};
pub use self::signing_key::FileSigningKey;
pub use self::streamed::Written;

/// The longest life of an address that S3 and Google Cloud Storage sign, in seconds: 7 days.
const MAX_CLOUD_LIFETIME_SECONDS: u64 = 7 * 86_400;

/// How long the readiness probe waits for the store.
const PROBE_PATIENCE: Duration = Duration::from_secs(5);

/// The object store and what signs its download addresses. A clone is another handle to the same.
#[derive(Clone)]
pub struct Images {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn ObjectStore>,
    place: Place,
    /// The store's address for messages, without credentials.
    name: String,
    hint: &'static str,
    public_url: String,
    signing_key: FileSigningKey,
}

impl Images {
    /// Opens the store that `objects` (the value of `storage.objects`) names: empty for
    /// `<data_dir>/objects`, else `s3://bucket/prefix`, `gs://bucket/prefix` or
    /// `az://container/prefix`, whose credentials and endpoints come from the environment
    /// variables that the clouds' own tools read (`AWS_*`, `GOOGLE_*`, `AZURE_*`). A server that
    /// speaks S3 is reached with `AWS_ENDPOINT_URL` and, for http, `AWS_ALLOW_HTTP=true`.
    ///
    /// `public_url` is what callers reach this server by, and begins the local addresses. Nothing
    /// is asked of a cloud yet: [`Images::probe`] does that.
    ///
    /// # Errors
    ///
    /// `Setting` and `MissingVariable` for a faulty configuration, `Files` when the local
    /// directory cannot be made.
    pub fn open(
        objects: &str,
        data_dir: &FilePath,
        public_url: &str,
        signing_key: FileSigningKey,
    ) -> Result<Self, ImagesError> {
        let environment = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Self::open_with(objects, data_dir, public_url, signing_key, environment)
    }

    /// Where the objects of a data directory lie when no bucket is configured.
    pub fn local_directory(data_dir: &FilePath) -> PathBuf {
        data_dir.join("objects")
    }

    /// Opens a directory of its own, which is made where it is missing. Nothing there is served, so no address is signed.
    ///
    /// # Errors
    ///
    /// `Files` when it cannot be made.
    pub fn open_directory(root: &FilePath) -> Result<Self, ImagesError> {
        // What holds it is synced too, and that has no name where it is the current directory.
        let root = std::path::absolute(root).map_err(|source| ImagesError::Files {
            action: "cannot find",
            path: root.to_path_buf(),
            source,
        })?;
        let Backend { store, place, hint } = backend::local(&root)?;
        Ok(Self {
            inner: Arc::new(Inner {
                store,
                name: root.display().to_string(),
                place,
                hint,
                public_url: String::new(),
                signing_key: FileSigningKey::from_bytes(&[0; 32]),
            }),
        })
    }

    /// As [`Images::open`], with `variables` (names as in the environment) instead of the
    /// process's own environment.
    ///
    /// # Errors
    ///
    /// As [`Images::open`].
    pub fn open_with(
        objects: &str,
        data_dir: &FilePath,
        public_url: &str,
        signing_key: FileSigningKey,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ImagesError> {
        // The HTTP client of the stores takes the process's default provider. One that is there
        // already, from an earlier call or another part of the program, is as good.
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
        let Backend { store, place, hint } = backend;
        Ok(Self {
            inner: Arc::new(Inner {
                store,
                place,
                name,
                hint,
                public_url: public_url.trim_end_matches('/').to_owned(),
                signing_key,
            }),
        })
    }

    /// The store itself, the prefix applied, for streamed writes and reads. A streamed write of
    /// a picture goes with [`Images::attributes`].
    pub fn store(&self) -> Arc<dyn ObjectStore> {
        Arc::clone(&self.inner.store)
    }

    /// Whether the objects lie in a local directory and `/files` serves them.
    pub fn is_local(&self) -> bool {
        matches!(self.inner.place, Place::Local { .. })
    }

    /// What to write beside an object, so that a cloud serves it as `/files` would: its media
    /// type and the name to save it by. The local store keeps no such thing (and refuses it).
    pub fn attributes(&self, key: &str, media_type: &str) -> Attributes {
        if self.is_local() {
            return Attributes::new();
        }
        Attributes::from_iter([
            (Attribute::ContentType, media_type.to_owned()),
            (Attribute::ContentDisposition, body::disposition(key)),
        ])
    }

    /// Writes an object, over one of the same key. When this returns, it is durable and whole.
    ///
    /// # Errors
    ///
    /// `InvalidKey`; `MissingBucket`; `Store` when the store failed, also after the repetitions.
    pub async fn put(&self, key: &str, bytes: Bytes, media_type: &str) -> Result<(), ImagesError> {
        let location = key::location(key)?;
        let written = match &self.inner.place {
            Place::Local { writer, .. } => writer.put(location, bytes).await,
            Place::Cloud(_) => {
                let options = PutOptions {
                    attributes: self.attributes(key, media_type),
                    ..PutOptions::default()
                };
                let put = self.inner.store.put_opts(&location, bytes.into(), options);
                put.await.map(drop)
            }
        };
        written.map_err(|error| self.write_fault("writing", key, error))
    }

    /// Lets no write wait for others that hang. To be called every second or so.
    pub fn help_writes(&self) {
        if let Place::Local { writer, .. } = &self.inner.place {
            writer.help();
        }
    }

    /// Reads a whole object into memory.
    ///
    /// # Errors
    ///
    /// `InvalidKey`; `NotFound`; `MissingBucket`; `Store`.
    pub async fn get(&self, key: &str) -> Result<Bytes, ImagesError> {
        let result = self.reader(key).await?;
        let bytes = result.bytes().await;
        bytes.map_err(|error| self.read_fault("reading", key, error))
    }

    /// Opens an object for reading: its metadata and its bytes as a stream, or a file.
    ///
    /// # Errors
    ///
    /// As [`Images::get`].
    pub async fn reader(&self, key: &str) -> Result<GetResult, ImagesError> {
        let location = key::location(key)?;
        let result = self.inner.store.get(&location).await;
        result.map_err(|error| self.read_fault("reading", key, error))
    }

    /// Opens an object for reading piece by piece.
    ///
    /// # Errors
    ///
    /// As [`Images::get`].
    pub async fn chunks(
        &self,
        key: &str,
    ) -> Result<BoxStream<'static, Result<Bytes, ImagesError>>, ImagesError> {
        let chunks = self.reader(key).await?.into_stream();
        let (images, key) = (self.clone(), key.to_owned());
        Ok(chunks
            .map(move |chunk| chunk.map_err(|error| images.read_fault("reading", &key, error)))
            .boxed())
    }

    /// Size and time of an object.
    ///
    /// # Errors
    ///
    /// As [`Images::get`].
    pub async fn head(&self, key: &str) -> Result<ObjectMeta, ImagesError> {
        let location = key::location(key)?;
        let result = self.inner.store.head(&location).await;
        result.map_err(|error| self.read_fault("looking up", key, error))
    }

    /// Removes an object; one that is not there is as good as removed.
    ///
    /// # Errors
    ///
    /// `InvalidKey`; `MissingBucket`, where the store tells it apart; `Store`.
    pub async fn delete(&self, key: &str) -> Result<(), ImagesError> {
        let location = key::location(key)?;
        match self.inner.store.delete(&location).await {
            Ok(()) => Ok(()),
            Err(error) => match self.read_fault("removing", key, error) {
                ImagesError::NotFound { .. } => Ok(()),
                fault => Err(fault),
            },
        }
    }

    /// Lists the objects below a prefix (a key of its own, or empty for all), in no fixed order.
    pub fn list(&self, prefix: &str) -> BoxStream<'static, Result<ObjectMeta, ImagesError>> {
        let prefix = if prefix.is_empty() {
            Path::default()
        } else {
            match key::location(prefix) {
                Ok(path) => path,
                Err(refused) => return stream::once(async { Err(refused) }).boxed(),
            }
        };
        let images = self.clone();
        self.inner
            .store
            .list(Some(&prefix))
            .map(move |entry| {
                entry.map_err(|error| images.write_fault("listing", prefix.as_ref(), error))
            })
            .boxed()
    }

    /// Makes an address under which anybody may download this object (GET, and HEAD where the
    /// store allows it) for `lifetime` (whole seconds) from `now`.
    ///
    /// A local address costs a few microseconds and no look-up; whether the object exists shows
    /// when it is opened. A cloud signs with its own clock, so `now` counts for local ones only;
    /// S3 signs without asking anybody, Google and Azure may ask their servers where the
    /// credentials are not a key.
    ///
    /// # Errors
    ///
    /// `InvalidKey`; `Lifetime` beyond what a cloud allows (7 days); `Store` when it cannot sign.
    pub async fn presign(
        &self,
        key: &str,
        now: DateTime<Utc>,
        lifetime: Duration,
    ) -> Result<String, ImagesError> {
        let inner = &self.inner;
        let location = key::location(key)?;
        let seconds = lifetime.as_secs();
        let cloud = match &inner.place {
            Place::Local { .. } => {
                let (url, signing_key) = (&inner.public_url, &inner.signing_key);
                return Ok(signed_url::write(url, signing_key, key, now, seconds));
            }
            Place::Cloud(cloud) => cloud,
        };
        if seconds > MAX_CLOUD_LIFETIME_SECONDS {
            return Err(ImagesError::Lifetime {
                place: inner.name.clone(),
                asked: seconds,
                longest: MAX_CLOUD_LIFETIME_SECONDS,
            });
        }
        let whole: Path = cloud.prefix.parts().chain(location.parts()).collect();
        let signed = cloud.signer.signed_url(Method::GET, &whole, lifetime).await;
        signed
            .map(String::from)
            .map_err(|error| self.write_fault("signing an address for", key, error))
    }

    /// Asks whether the store answers: for the local one, whether its directory takes a small file,
    /// so that a full disk shows before a picture is lost to it; for a cloud, whether the bucket can
    /// be listed with these credentials. Waits at most 5 s.
    ///
    /// # Errors
    ///
    /// `Files`; `MissingBucket`; `Store`.
    pub async fn probe(&self) -> Result<(), ImagesError> {
        if let Place::Local { root, .. } = &self.inner.place {
            let written =
                tokio::time::timeout(PROBE_PATIENCE, temp_cleanup::try_to_write(root)).await;
            let source = match written {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(source)) => source,
                Err(_) => io::Error::new(io::ErrorKind::TimedOut, "no answer within 5 seconds"),
            };
            return Err(ImagesError::Files {
                action: "cannot write to the object directory",
                path: root.clone(),
                source,
            });
        }
        // A prefix that nothing has: one short answer, whatever the bucket holds.
        let mut nothing = self.list("tintype-probe");
        match tokio::time::timeout(PROBE_PATIENCE, nothing.next()).await {
            Ok(None | Some(Ok(_))) => Ok(()),
            Ok(Some(Err(fault))) => Err(fault),
            Err(_) => Err(self.fault("probing", "", "no answer within 5 seconds")),
        }
    }

    /// A fault of something that needs no object to be there: "not found" means the bucket.
    fn write_fault(&self, doing: &str, key: &str, error: object_store::Error) -> ImagesError {
        let said = error.to_string();
        let not_found = matches!(error, object_store::Error::NotFound { .. });
        if !self.is_local() && (not_found || names_the_bucket(&said)) {
            return self.missing_bucket();
        }
        self.fault(doing, key, &said)
    }

    /// A fault of something done with one object, which may be missing, or the bucket with it.
    fn read_fault(&self, doing: &str, key: &str, error: object_store::Error) -> ImagesError {
        let said = error.to_string();
        if !self.is_local() && names_the_bucket(&said) {
            return self.missing_bucket();
        }
        match error {
            object_store::Error::NotFound { .. } => ImagesError::NotFound {
                place: self.inner.name.clone(),
                key: key.to_owned(),
            },
            _ => self.fault(doing, key, &said),
        }
    }

    fn missing_bucket(&self) -> ImagesError {
        ImagesError::MissingBucket {
            place: self.inner.name.clone(),
        }
    }

    fn fault(&self, doing: &str, key: &str, said: &str) -> ImagesError {
        let mut detail = error::shortened(said);
        if !self.inner.hint.is_empty() {
            detail.push_str("; ");
            detail.push_str(self.inner.hint);
        }
        ImagesError::Store {
            place: self.inner.name.clone(),
            action: format!("{doing} {key:?}"),
            detail,
        }
    }
}

/// Whether a store said that it is the bucket or container that is missing: the code that S3 and
/// Google, and the one that Azure, put into the body of their 404.
fn names_the_bucket(said: &str) -> bool {
    said.contains("<Code>NoSuchBucket</Code>") || said.contains("<Code>ContainerNotFound</Code>")
}

/// Shows where the objects are and nothing of the keys.
impl std::fmt::Debug for Images {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Images").field(&self.inner.name).finish()
    }
}

#[cfg(test)]
mod tests;
