//! Writing an object whose length is not known before, in bounded memory.

use super::{Images, ImagesError, key};
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};
use object_store::{PutMultipartOptions, WriteMultipart};
use sha2::{Digest, Sha256};

/// The size of a part: the least that the clouds take for any but the last.
const PART_BYTES: usize = 5 << 20;

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
}

impl Images {
    /// Writes an object from a stream, over one of the same key. When this returns, it is durable and whole; before that nobody
    /// sees anything of it.
    ///
    /// # Errors
    ///
    /// As [`Images::put`], and what the stream itself fails with.
    pub async fn put_stream<E: From<ImagesError>>(
        &self,
        key: &str,
        media_type: &str,
        mut content: impl Stream<Item = Result<Bytes, E>> + Unpin,
    ) -> Result<Written, E> {
        let (mut digest, mut bytes) = (Sha256::new(), 0);
        let mut waiting = BytesMut::new();
        let mut upload: Option<WriteMultipart> = None;
        while let Some(chunk) = content.next().await {
            let chunk = match chunk {
                Ok(chunk) => chunk,
                Err(error) => {
                    abandon(upload, key).await;
                    return Err(error);
                }
            };
            digest.update(&chunk);
            bytes += chunk.len() as u64;
            waiting.extend_from_slice(&chunk);
            if waiting.len() < PART_BYTES {
                continue;
            }
            let sent = self.send_part(key, media_type, &mut upload, &mut waiting);
            if let Err(error) = sent.await {
                abandon(upload, key).await;
                return Err(error.into());
            }
        }
        match upload {
            None => self.put(key, waiting.freeze(), media_type).await?,
            Some(mut upload) => {
                upload.write(&waiting);
                let finished = upload.finish().await;
                finished.map_err(|error| self.write_fault("writing", key, error))?;
            }
        }
        Ok(Written {
            bytes,
            sha256: hex::encode(digest.finalize()),
        })
    }

    async fn send_part(
        &self,
        key: &str,
        media_type: &str,
        upload: &mut Option<WriteMultipart>,
        waiting: &mut BytesMut,
    ) -> Result<(), ImagesError> {
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
        upload.write(&waiting.split());
        Ok(())
    }
}

/// Takes the parts back. What a store refuses even then, a rule of its bucket removes; nobody sees it before.
async fn abandon(upload: Option<WriteMultipart>, key: &str) {
    if let Some(upload) = upload
        && let Err(error) = upload.abort().await
    {
        tracing::warn!(key, %error, "an upload could not be aborted");
    }
}
