//! The limit of concurrent fetches, and its fair division between accounts.

use super::{
    sample_images::png_of,
    server::{Act, Server, ok},
    support::*,
};
use crate::inputs::MemoryBudget;
use crate::inputs::limits::InputLimits;
use std::time::Duration;
use tintype_storage::domain::ids::AccountId;
use tokio::sync::watch;
use uuid::Uuid;

/// An account with slow servers neither delays the others nor holds more connections than its share.
#[actix_web::test]
async fn an_account_fetches_a_bounded_number_of_images_at_once() {
    let (open, gate) = watch::channel(false);
    let server = Server::start(move |path| {
        let wait = (path == "/slow").then(|| Act::Gate(gate.clone()));
        wait.into_iter().chain(ok(&png_of(1_000))).collect()
    })
    .await;
    let budget = MemoryBudget::with_fetches(100 << 20, 4);
    let limits = |account| InputLimits {
        memory: budget.of(AccountId(Uuid::from_u128(account)), Duration::MAX),
        ..limits()
    };
    let (egress, prefix) = (egress(), prefix());
    let (slow, slow_limits) = (vec![server.url("/slow"); 6], limits(1));
    let all_slow = ingest(&egress, memory(), &prefix, &slow, &slow_limits);
    let beside = async {
        let others = limits(2);
        eventually("the share is used", async || server.count() == 2).await;
        let quick = vec![server.url("/quick"); 6];
        let images = ingest(&egress, memory(), &prefix, &quick, &others).await;
        assert_eq!(images.unwrap().len(), 6);
        let requests = server.requests.lock();
        let slow = requests.iter().filter(|it| it.contains("/slow")).count();
        assert_eq!(slow, 2, "no more than the share");
        drop(requests);
        open.send(true).unwrap();
    };
    let (all_slow, ()) = tokio::join!(all_slow, beside);
    assert_eq!(all_slow.unwrap().len(), 6);
    assert_eq!(server.count(), 12);
}
