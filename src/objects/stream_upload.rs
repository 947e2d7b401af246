//! Writes an object of unknown length in bounded memory.

use super::{FAULT_TARGET, ObjectError, ObjectStorage, key};
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};
use object_store::{PutMultipartOptions, WriteMultipart};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The clouds' minimum for every part but the last.
const PART_BYTES: usize = 5 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct ObjectDigest {
    pub bytes: u64,
    /// In hexadecimal.
    pub sha256: String,
}

impl ObjectStorage {
    /// Writes an object from a stream and replaces an existing one. The object becomes visible only when it is complete; when this
    /// returns, it is durable.
    ///
    /// # Errors
    /// As [`ObjectStorage::put`], and the errors of the stream.
    pub async fn put_stream<E: From<ObjectError>>(
        &self,
        key: &str,
        media_type: &str,
        mut content: impl Stream<Item = Result<Bytes, E>> + Unpin,
    ) -> Result<ObjectDigest, E> {
        let (mut digest, mut bytes) = (Sha256::new(), 0);
        let mut buffer = BytesMut::new();
        let mut upload: Option<WriteMultipart> = None;
        while let Some(chunk) = content.next().await {
            let chunk = match chunk {
                Ok(chunk) => chunk,
                Err(error) => {
                    abort(upload, key).await;
                    return Err(error);
                }
            };
            digest.update(&chunk);
            bytes += chunk.len() as u64;
            buffer.extend_from_slice(&chunk);
            if buffer.len() < PART_BYTES {
                continue;
            }
            let sent = self.send_part(key, media_type, &mut upload, &mut buffer);
            if let Err(error) = sent.await {
                abort(upload, key).await;
                return Err(error.into());
            }
        }
        match upload {
            None => self.put(key, buffer.freeze(), media_type).await?,
            Some(mut upload) => {
                upload.write(&buffer);
                let finished = upload.finish().await;
                finished.map_err(|error| self.write_fault("writing", key, error))?;
            }
        }
        Ok(ObjectDigest {
            bytes,
            sha256: hex::encode(digest.finalize()),
        })
    }

    async fn send_part(
        &self,
        key: &str,
        media_type: &str,
        upload: &mut Option<WriteMultipart>,
        buffer: &mut BytesMut,
    ) -> Result<(), ObjectError> {
        let fault = |error| self.write_fault("writing", key, error);
        let upload = match upload {
            Some(upload) => upload,
            none => {
                let location = key::location(key)?;
                let options = PutMultipartOptions {
                    attributes: self.attributes(key, media_type),
                    ..PutMultipartOptions::default()
                };
                let store = self.store();
                let begun = store.put_multipart_opts(&location, options).await;
                none.insert(WriteMultipart::new(begun.map_err(fault)?))
            }
        };
        upload.wait_for_capacity(1).await.map_err(fault)?;
        upload.write(&buffer.split());
        Ok(())
    }
}

/// Deletes the parts. If that fails, the parts stay invisible until a lifecycle rule of the bucket deletes them.
async fn abort(upload: Option<WriteMultipart>, key: &str) {
    if let Some(upload) = upload
        && let Err(error) = upload.abort().await
    {
        tracing::warn!(target: FAULT_TARGET, key, %error, "could not abort an upload");
    }
}
