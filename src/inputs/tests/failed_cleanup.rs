//! A caller that disconnects at any point leaves nothing in the store.

use super::{
    sample_images::*,
    server::{Act, Server, head, ok},
    stores::{At, Failing},
    support::*,
};
use crate::inputs::MemoryBudget;
use crate::inputs::limits::InputLimits;
use futures_util::FutureExt;
use object_store::ObjectStore;
use std::{sync::Arc, time::Duration};
use tintype_storage::domain::ids::AccountId;
use tokio::sync::watch;
use uuid::Uuid;

/// Drops an ingestion once `reached` holds, and checks that nothing stays in the store.
async fn drop_when(
    server: &Server,
    urls: &[String],
    failing: Arc<Failing>,
    reached: impl AsyncFn() -> bool,
) {
    let store: Arc<dyn ObjectStore> = failing.clone();
    let (egress, limits, prefix) = (egress(), limits(), prefix());
    let ingestion = ingest(&egress, store.clone(), &prefix, urls, &limits);
    let point = eventually("the point to leave at", async || reached().await);
    let mut ingestion = Box::pin(ingestion.fuse());
    futures_util::select! {
        outcome = ingestion => panic!("was to be dropped, but ended: {outcome:?}"),
        () = Box::pin(point.fuse()) => {}
    }
    drop(ingestion);
    eventually("no object is left", async || keys(&store).await.is_empty()).await;
    let aborted = async || {
        let log = failing.log();
        let count = |what| log.iter().filter(|entry| **entry == what).count();
        count("begin") == count("abort") + count("complete")
    };
    eventually("no upload is left", aborted).await;
    server.wait_until_idle().await;
    eventually("still no object", async || keys(&store).await.is_empty()).await;
}

#[actix_web::test]
async fn an_ingestion_dropped_after_some_images_are_complete_leaves_no_object() {
    let server = Server::start(|path| match path {
        "/hang" => head("HTTP/1.1 200 OK", [Act::Send(png(3, 2)), Act::Hang]),
        _ => ok(&png(3, 2)),
    })
    .await;
    let urls = ["/a", "/hang", "/b"].map(|path| server.url(path));
    let failing = Failing::at(At::Nothing);
    let store: Arc<dyn ObjectStore> = failing.clone();
    drop_when(&server, &urls, failing, async || {
        keys(&store).await.len() == 2
    })
    .await;
}

#[actix_web::test]
async fn an_ingestion_dropped_during_a_multipart_upload_leaves_no_object() {
    let server = Server::start(|_| {
        head(
            "HTTP/1.1 200 OK",
            [Act::Send(png_of(12_000_000)), Act::Hang],
        )
    })
    .await;
    let urls = vec![server.url("/"); 3];
    let failing = Failing::at(At::Nothing);
    let watched = failing.clone();
    let parts = async || {
        watched
            .log()
            .iter()
            .filter(|entry| **entry == "part")
            .count()
            >= 4
    };
    drop_when(&server, &urls, failing.clone(), parts).await;
    assert!(failing.log().iter().all(|entry| *entry != "complete"));
}

#[actix_web::test]
async fn an_ingestion_dropped_before_the_first_byte_leaves_no_object() {
    let server = Server::start(|_| vec![Act::Hang]).await;
    let urls = vec![server.url("/"); 14];
    drop_when(&server, &urls, Failing::at(At::Nothing), async || {
        server.count() == 14
    })
    .await;
}

/// Drops the future after every possible number of polls, so also between the store's response and the result.
#[actix_web::test]
async fn an_ingestion_dropped_after_any_number_of_polls_leaves_no_object() {
    let server = Server::start(|_| ok(&png(3, 2))).await;
    let urls = vec![server.url("/"); 2];
    let (egress, limits, prefix) = (egress(), limits(), prefix());
    let mut ended = false;
    for polls in 0..2_000 {
        let store = memory();
        let mut ingestion = Box::pin(ingest(&egress, store.clone(), &prefix, &urls, &limits));
        for _ in 0..polls {
            if ingestion.as_mut().now_or_never().is_some() {
                ended = true;
                break;
            }
            tokio::task::yield_now().await;
            tokio::time::sleep(Duration::from_micros(50)).await;
        }
        drop(ingestion);
        if ended {
            assert_eq!(keys(&store).await.len(), 2, "what was handed over stays");
            break;
        }
        eventually("no object is left", async || keys(&store).await.is_empty()).await;
    }
    assert!(ended, "never came to the end");
}

/// The store still reads the buffer of the upload.
#[actix_web::test]
async fn a_put_keeps_its_memory_when_its_caller_has_left() {
    const BUDGET: u64 = 100 << 20;
    let server = Server::start(|_| ok(&png_of(1_000_000))).await;
    let budget = MemoryBudget::new(BUDGET);
    let limits = InputLimits {
        memory: budget.of(AccountId(Uuid::nil()), Duration::MAX),
        ..limits()
    };
    let failing = Failing::at(At::PutHangs);
    let (egress, prefix, urls) = (egress(), prefix(), [server.url("/")]);
    let ingestion = ingest(&egress, failing.clone(), &prefix, &urls, &limits);
    let put = eventually("a put", async || failing.log() == ["put"]);
    let mut ingestion = Box::pin(ingestion.fuse());
    futures_util::select! {
        outcome = ingestion => panic!("was to be dropped, but ended: {outcome:?}"),
        () = Box::pin(put.fuse()) => {}
    }
    drop(ingestion);
    server.wait_until_idle().await;
    assert!(budget.free() <= BUDGET - 4_000_000, "{}", budget.free());
}

/// A failed entry stops the running ones.
#[actix_web::test]
async fn a_failure_ends_uploads_that_are_under_way() {
    let (open, gate) = watch::channel(false);
    let server = Server::start(move |path| match path {
        "/late" => {
            let answer = head("HTTP/1.1 404 Not Found\nContent-Length: 0", []);
            [vec![Act::Gate(gate.clone())], answer].concat()
        }
        _ => head(
            "HTTP/1.1 200 OK",
            [Act::Send(png_of(12_000_000)), Act::Hang],
        ),
    })
    .await;
    let failing = Failing::at(At::Nothing);
    let store: Arc<dyn ObjectStore> = failing.clone();
    let urls = ["/large", "/late"].map(|path| server.url(path));
    let (egress, limits, prefix) = (egress(), limits(), prefix());
    let under_way = async {
        eventually("two parts", async || failing.log().len() >= 3).await;
        open.send(true).unwrap();
    };
    let (outcome, ()) = tokio::join!(
        ingest(&egress, store.clone(), &prefix, &urls, &limits),
        under_way
    );
    let text = fault_lines(outcome, &limits);
    assert!(
        text.ends_with("input_images_urls[1] returned 404 Not Found"),
        "{text}"
    );
    // The cleanup ends before the ingestion returns.
    assert_eq!(failing.log(), ["begin", "part", "part", "abort"]);
    assert_eq!(keys(&store).await, [""; 0]);
    server.wait_until_idle().await;
}
