//! Asks the delivery actor for its numbers.

use super::actor::DeliveryActor;
use super::command::{DeliveryCommand, DeliveryDepths};
use actix::Addr;
use tokio::sync::oneshot;

impl DeliveryDepths {
    /// Zero once the actor has stopped.
    pub async fn of(actor: &Addr<DeliveryActor>) -> Self {
        let (reply, depths) = oneshot::channel();
        actor.do_send(DeliveryCommand::Depths(reply));
        depths.await.unwrap_or_default()
    }
}
