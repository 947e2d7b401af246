//! Uploads one image to the object store, in bounded memory, and deletes its data if the upload is abandoned.
//!
//! Each upload has its own task, which makes every call to the store and is never canceled during one. The fetching side holds a
//! handle; when the handle is dropped, for any reason, the task deletes its data from the store. So a disconnected client, a
//! deadline, a fault in another image and a panic all end the same way.

use crate::inputs::memory_budget::{PART_BYTES, Reservation};
use crate::objects::FAULT_TARGET;
use bytes::{Bytes, BytesMut};
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload, path::Path};
use std::sync::Arc;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
};

/// A larger buffer is grown to a whole part at once.
const SMALL: usize = 1 << 20;

enum Command {
    Write(Bytes),
    Hold(Reservation),
    Complete(oneshot::Sender<()>),
    Keep,
}

/// A running upload. Dropping it deletes the object.
pub struct ObjectUpload {
    commands: mpsc::Sender<Command>,
    task: JoinHandle<object_store::Result<()>>,
}

/// A complete object. Dropping it deletes the object; [`StoredObject::keep`] keeps it.
pub struct StoredObject {
    commands: mpsc::Sender<Command>,
}

/// The channel closes when the last upload of an ingestion has ended, including its cleanup.
pub type Alive = mpsc::Sender<()>;

impl ObjectUpload {
    /// Starts an upload. Nothing reaches the store before a whole part, or the end, has arrived.
    pub fn begin(store: Arc<dyn ObjectStore>, path: Path, alive: Alive) -> Self {
        // One command queued and one being executed: a slow store applies backpressure to the fetch.
        let (commands, queue) = mpsc::channel(1);
        let task = tokio::spawn(async move {
            let outcome = run(Object::new(store, path), queue).await;
            drop(alive);
            outcome
        });
        Self { commands, task }
    }

    /// Appends a chunk. Waits while the store writes earlier chunks.
    pub async fn write(self, bytes: Bytes) -> object_store::Result<Self> {
        self.send(Command::Write(bytes)).await
    }

    /// Holds the memory of this upload until the object is complete or the upload has failed. The task holds it, because the task may
    /// still write its buffer when the handle is dropped.
    pub async fn hold(self, memory: Reservation) -> object_store::Result<Self> {
        self.send(Command::Hold(memory)).await
    }

    async fn send(self, command: Command) -> object_store::Result<Self> {
        match self.commands.send(command).await {
            Ok(()) => Ok(self),
            Err(_) => Err(self.failure().await),
        }
    }

    /// Makes the object visible.
    pub async fn complete(self) -> object_store::Result<StoredObject> {
        let (done, completed) = oneshot::channel();
        let sent = self.commands.send(Command::Complete(done)).await;
        if sent.is_ok() && completed.await.is_ok() {
            return Ok(StoredObject {
                commands: self.commands,
            });
        }
        Err(self.failure().await)
    }

    /// The error with which the task ended.
    async fn failure(self) -> object_store::Error {
        drop(self.commands);
        match self.task.await {
            Ok(Err(error)) => error,
            Ok(Ok(())) => object_store::Error::Generic {
                store: "upload",
                source: "the upload ended without an outcome".into(),
            },
            Err(source) => object_store::Error::JoinError { source },
        }
    }
}

impl StoredObject {
    /// Keeps the object in the store; the caller owns it from now on.
    pub fn keep(self) {
        // The task waits for this command, so its queue has room. A task that has ended leaves the object too.
        let _ = self.commands.try_send(Command::Keep);
    }
}

async fn run(mut object: Object, mut queue: mpsc::Receiver<Command>) -> object_store::Result<()> {
    while let Some(command) = queue.recv().await {
        let outcome = match command {
            Command::Write(bytes) => object.write(&bytes).await,
            Command::Hold(memory) => {
                object.memory = Some(memory);
                Ok(())
            }
            Command::Complete(done) => object.complete().await.map(|()| {
                // An error means that the handle was dropped; the next iteration notices.
                let _ = done.send(());
            }),
            Command::Keep => return Ok(()),
        };
        if let Err(error) = outcome {
            queue.close();
            object.clean_up().await;
            return Err(error);
        }
    }
    object.clean_up().await;
    Ok(())
}

struct Object {
    store: Arc<dyn ObjectStore>,
    path: Path,
    /// Chunks are copied together: as separate chunks, a server that sends single bytes would cost far more memory.
    buffer: BytesMut,
    /// Of the buffer.
    memory: Option<Reservation>,
    parts: Option<Box<dyn MultipartUpload>>,
    /// A put has begun, so the object may exist, even if the store reported an error.
    maybe_visible: bool,
}

impl Object {
    fn new(store: Arc<dyn ObjectStore>, path: Path) -> Self {
        Self {
            store,
            path,
            buffer: BytesMut::new(),
            memory: None,
            parts: None,
            maybe_visible: false,
        }
    }

    async fn write(&mut self, mut bytes: &[u8]) -> object_store::Result<()> {
        while !bytes.is_empty() {
            // A full buffer is sent only when more bytes follow, so that small objects need no multipart upload.
            if self.buffer.len() == PART_BYTES {
                self.send_part().await?;
            }
            let room = PART_BYTES - self.buffer.len();
            if self.buffer.len() > SMALL && self.buffer.capacity() < PART_BYTES {
                // Growth by doubling would exceed a part, and briefly hold two copies.
                self.buffer.reserve(room);
            }
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.buffer.extend_from_slice(now);
            bytes = later;
        }
        Ok(())
    }

    async fn send_part(&mut self) -> object_store::Result<()> {
        let part = PutPayload::from(self.buffer.split().freeze());
        let parts = match &mut self.parts {
            Some(parts) => parts,
            none => none.insert(self.store.put_multipart(&self.path).await?),
        };
        let outcome = parts.put_part(part).await;
        self.release_buffer();
        outcome
    }

    /// A split buffer keeps its allocation, so without this a complete object would hold megabytes until its job is accepted.
    fn release_buffer(&mut self) {
        self.buffer = BytesMut::new();
    }

    async fn complete(&mut self) -> object_store::Result<()> {
        self.put_all().await?;
        self.memory = None;
        Ok(())
    }

    async fn put_all(&mut self) -> object_store::Result<()> {
        if self.parts.is_none() {
            self.maybe_visible = true;
            let whole = PutPayload::from(self.buffer.split().freeze());
            let outcome = self.store.put(&self.path, whole).await;
            self.release_buffer();
            return outcome.map(drop);
        }
        self.send_part().await?;
        if let Some(parts) = &mut self.parts {
            self.maybe_visible = true;
            parts.complete().await?;
        }
        self.parts = None;
        Ok(())
    }

    /// Deletes the upload's data from the store. Logs failures.
    async fn clean_up(&mut self) {
        self.release_buffer();
        self.memory = None;
        if let Some(mut parts) = self.parts.take()
            && let Err(error) = parts.abort().await
        {
            tracing::warn!(target: FAULT_TARGET, object = %self.path, %error, "could not abort an upload");
        }
        if self.maybe_visible {
            remove(self.store.as_ref(), &self.path).await;
        }
    }
}

/// Deletes an object if it exists.
pub async fn remove(store: &dyn ObjectStore, path: &Path) {
    match store.delete(path).await {
        Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
        Err(error) => {
            tracing::warn!(target: FAULT_TARGET, object = %path, %error, "could not delete an object")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::memory::InMemory;

    #[tokio::test]
    async fn a_complete_object_occupies_no_buffer_memory() {
        for bytes in [1, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 8 << 20] {
            let mut object = Object::new(Arc::new(InMemory::new()), Path::from("a"));
            object.write(&vec![7; bytes]).await.unwrap();
            object.complete().await.unwrap();
            assert_eq!(object.buffer.capacity(), 0, "{bytes}");
        }
    }
}
