//! Carrying one image to the object store: in bounded memory, and without leaving anything when it is given up.
//!
//! Each upload runs in a task of its own, which owns every call to the store and is never cut off in the middle of one. The
//! fetching side holds a handle; when that is dropped, however that comes about, the task takes back what it has put there.
//! So a client that goes away, a deadline, a fault in another image and a panic all end the same way.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload, path::Path};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
};

/// Size of a part: the least that S3, R2 and GCS take for any but the last. It is also the memory of one upload.
pub(super) const PART_BYTES: usize = 5 << 20;
/// Past this a buffer is made as large as a part at once.
const SMALL: usize = 1 << 20;

enum Order {
    Write(Bytes),
    Complete(oneshot::Sender<()>),
    Keep,
}

/// An upload under way. Dropping it takes the object back.
pub(super) struct Upload {
    orders: mpsc::Sender<Order>,
    task: JoinHandle<object_store::Result<()>>,
}

/// A complete object. Dropping it takes the object back, unless [`Stored::keep`] is called.
pub(super) struct Stored {
    orders: mpsc::Sender<Order>,
}

/// Lives as long as any upload of one ingestion does, clean-up included.
pub(super) type Alive = mpsc::Sender<()>;

impl Upload {
    /// Begins to write an object. Nothing reaches the store before there is a whole part, or the end.
    pub fn begin(store: Arc<dyn ObjectStore>, path: Path, alive: Alive) -> Self {
        // One order in the queue, one in hand: a slow store slows the fetch down.
        let (orders, queue) = mpsc::channel(1);
        let task = tokio::spawn(async move {
            let outcome = run(Object::new(store, path), queue).await;
            drop(alive);
            outcome
        });
        Self { orders, task }
    }

    /// Appends bytes. Waits while the store is busy with those before.
    pub async fn write(self, bytes: Bytes) -> object_store::Result<Self> {
        match self.orders.send(Order::Write(bytes)).await {
            Ok(()) => Ok(self),
            Err(_) => Err(self.failure().await),
        }
    }

    /// Makes the object visible.
    pub async fn complete(self) -> object_store::Result<Stored> {
        let (done, completed) = oneshot::channel();
        let sent = self.orders.send(Order::Complete(done)).await;
        if sent.is_ok() && completed.await.is_ok() {
            return Ok(Stored {
                orders: self.orders,
            });
        }
        Err(self.failure().await)
    }

    /// Why the task has ended on its own.
    async fn failure(self) -> object_store::Error {
        drop(self.orders);
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

impl Stored {
    /// Leaves the object in the store, from now on in the caller's charge.
    pub fn keep(self) {
        // The task waits for just this, so its queue is empty; a task that is gone leaves the object too.
        let _ = self.orders.try_send(Order::Keep);
    }
}

async fn run(mut object: Object, mut queue: mpsc::Receiver<Order>) -> object_store::Result<()> {
    while let Some(order) = queue.recv().await {
        let outcome = match order {
            Order::Write(bytes) => object.write(&bytes).await,
            Order::Complete(done) => object.complete().await.map(|()| {
                // Nobody listening means that the handle is gone; the next round notices.
                let _ = done.send(());
            }),
            Order::Keep => return Ok(()),
        };
        if let Err(error) = outcome {
            queue.close();
            object.take_back().await;
            return Err(error);
        }
    }
    object.take_back().await;
    Ok(())
}

struct Object {
    store: Arc<dyn ObjectStore>,
    path: Path,
    /// Bytes are copied together here: kept as they arrive, a server that sends single bytes would cost far more memory
    /// than bytes.
    buffer: BytesMut,
    parts: Option<Box<dyn MultipartUpload>>,
    /// A put was begun, so that the object may exist, whatever the store has said.
    maybe_visible: bool,
}

impl Object {
    fn new(store: Arc<dyn ObjectStore>, path: Path) -> Self {
        Self {
            store,
            path,
            buffer: BytesMut::new(),
            parts: None,
            maybe_visible: false,
        }
    }

    async fn write(&mut self, mut bytes: &[u8]) -> object_store::Result<()> {
        while !bytes.is_empty() {
            // A full buffer is sent off only when more follows, so that small objects need no multipart upload.
            if self.buffer.len() == PART_BYTES {
                self.send_part().await?;
            }
            let room = PART_BYTES - self.buffer.len();
            if self.buffer.len() > SMALL && self.buffer.capacity() < PART_BYTES {
                // Grown by doubling, it would take more than a part and hold two copies on the way.
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
        self.let_go();
        outcome
    }

    /// Of what was split off, the buffer keeps the memory: a complete object would hold megabytes until its job is accepted.
    fn let_go(&mut self) {
        self.buffer = BytesMut::new();
    }

    async fn complete(&mut self) -> object_store::Result<()> {
        if self.parts.is_none() {
            self.maybe_visible = true;
            let whole = PutPayload::from(self.buffer.split().freeze());
            let outcome = self.store.put(&self.path, whole).await;
            self.let_go();
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

    /// Removes whatever has reached the store. What cannot be removed is named in the log: there is no one else to tell.
    async fn take_back(&mut self) {
        if let Some(mut parts) = self.parts.take()
            && let Err(error) = parts.abort().await
        {
            tracing::warn!(object = %self.path, %error, "an upload could not be aborted");
        }
        if self.maybe_visible {
            remove(self.store.as_ref(), &self.path).await;
        }
    }
}

/// Deletes an object that need not exist.
pub(super) async fn remove(store: &dyn ObjectStore, path: &Path) {
    match store.delete(path).await {
        Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
        Err(error) => tracing::warn!(object = %path, %error, "an object could not be deleted"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::memory::InMemory;

    #[tokio::test]
    async fn a_complete_object_holds_no_memory() {
        for bytes in [1, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 8 << 20] {
            let mut object = Object::new(Arc::new(InMemory::new()), Path::from("a"));
            object.write(&vec![7; bytes]).await.unwrap();
            object.complete().await.unwrap();
            assert_eq!(object.buffer.capacity(), 0, "{bytes}");
        }
    }
}
