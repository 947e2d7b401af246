//! Images uploaded in chunks.

use super::{sample_images, support::*};
use crate::inputs::{BodyUpload, StoredUpload, UploadFault};
use bytes::Bytes;
use object_store::{ObjectStore, ObjectStoreExt as _, path::Path};
use std::sync::Arc;

async fn hand_over(
    store: &Arc<dyn ObjectStore>,
    bytes: &[u8],
    piece: usize,
) -> Result<StoredUpload, UploadFault> {
    let mut handed = BodyUpload::begin(Arc::clone(store), Path::from("inputs/job/0"), &limits());
    for piece in bytes.chunks(piece) {
        handed = handed.push(Bytes::copy_from_slice(piece)).await?;
    }
    handed.finish().await
}

/// Waits for the cleanup, which runs in its own task.
async fn until_empty(store: &Arc<dyn ObjectStore>) {
    for _ in 0..10_000 {
        if keys(store).await.is_empty() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("something is left");
}

#[tokio::test]
async fn an_image_in_chunks_of_any_size_is_stored_completely() {
    let png = sample_images::png(30, 20);
    for piece in [1, 7, 511, 512, 513, png.len()] {
        let store = memory();
        let held = hand_over(&store, &png, piece).await.expect("taken");
        let image = held.keep();
        assert_eq!((image.width, image.height), (30, 20));
        assert_eq!(image.bytes, png.len() as u64);
        assert_eq!(image.key, "inputs/job/0.png");
        let stored = store.get(&Path::from(image.key.as_str())).await.unwrap();
        assert_eq!(stored.bytes().await.unwrap(), png);
    }
}

#[tokio::test]
async fn equal_bytes_have_equal_digests_and_different_bytes_different_digests() {
    let store = memory();
    let digest = async |bytes: &[u8], piece| {
        let held = hand_over(&store, bytes, piece).await.expect("taken");
        *held.sha256()
    };
    let (one, other) = (sample_images::png(30, 20), sample_images::png(20, 30));
    assert_eq!(digest(&one, 1).await, digest(&one, 1_000).await);
    assert_ne!(digest(&one, 9).await, digest(&other, 9).await);
}

#[tokio::test]
async fn a_dropped_upload_is_removed_from_the_store() {
    let store = memory();
    let held = hand_over(&store, &sample_images::png(30, 20), 100).await;
    drop(held.expect("taken"));
    until_empty(&store).await;
    let handed = BodyUpload::begin(Arc::clone(&store), Path::from("inputs/job/1"), &limits());
    let bytes = Bytes::from(vec![0; 1]);
    drop(handed.push(bytes).await.expect("more is awaited"));
    until_empty(&store).await;
}

#[tokio::test]
async fn data_that_is_not_an_image_is_rejected_by_its_bytes() {
    let store = memory();
    for (bytes, said) in [
        (&b""[..], "is empty"),
        (&[0; 600], "is not a PNG"),
        (b"<svg/>", "is not a PNG"),
        (
            &sample_images::png(3, 2)[..20],
            "ends before its dimensions",
        ),
    ] {
        match hand_over(&store, bytes, 100).await {
            Err(UploadFault::Image(message)) => assert!(message.contains(said), "{message}"),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("taken"),
        }
    }
    until_empty(&store).await;
}
