//! Operator events from periodic checks, and test events. Events about accounts and deliveries are written by the commits that cause
//! them.

use super::disk_space::{self, DiskSpace};
use crate::application::caller::Caller;
use crate::application::core::Core;
use crate::application::core::audit_context::Subject;
use crate::application::core::change_lock::ChangeGuard;
use crate::application::core::commit::Change;
use crate::application::error::Error;
use crate::application::settings::Settings;
use crate::application::webhooks;
use crate::application::webhooks::deliveries;
use tintype_actors::backends::{BackendHealth, Health};
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::delivery::{Delivery, DeliveryId};
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::operator_event::{
    Alarms, BackendCondition, EventSubject, OPERATOR_WEBHOOK, Watcher,
};
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::store::Writes;
use tintype_storage::store::tables::ALARMS;

/// Reports backends that went down or recovered. Each node checks from its own point of view.
pub async fn watch_backends(core: &Core, settings: &Settings) -> Result<(), Error> {
    watch(core, |alarms| observe_backends(core, settings, alarms)).await
}

/// Updates the alarms from the health of the backends, up to the first event.
fn observe_backends(core: &Core, settings: &Settings, alarms: &mut Alarms) -> Option<EventSubject> {
    let node = core.system.node();
    let nodes = node.map(|it| it.nodes()).unwrap_or_default();
    let living = nodes.iter().filter(|it| !it.node.has_ended);
    let living: Vec<NodeId> = living.map(|it| it.id).collect();
    let by = Watcher {
        node: node.map(|it| it.id),
        living: &living,
    };
    alarms.keep_backends(&by, |name| settings.config.backends.contains_key(name));
    core.system.backends().into_iter().find_map(|health| {
        let name = health.name.clone();
        alarms.observe_backend(&name, &by, condition(health), core.now())
    })
}

/// Reports low free space in the data directory.
pub async fn watch_disk(core: &Core, settings: &Settings, found: &DiskSpace) -> Result<(), Error> {
    let data_dir = settings.config.storage.data_dir.display().to_string();
    let (free, low) = (found.free_bytes, disk_space::low_bytes(settings));
    watch(core, |alarms| {
        alarms.observe_disk(&data_dir, free, low, core.now())
    })
    .await
}

/// Updates the stored alarms until the observation finds no further event, and reports each event.
async fn watch(
    core: &Core,
    observe: impl Fn(&mut Alarms) -> Option<EventSubject>,
) -> Result<(), Error> {
    let Some(operator) = webhook(core) else {
        return Ok(());
    };
    loop {
        let before = ALARMS.get(&core.store, &()).await?.unwrap_or_default();
        let mut alarms = before.clone();
        if observe(&mut alarms).is_none() && alarms == before {
            return Ok(());
        }
        let guard = core.locks.operator.lock().await?;
        // Read again under the lock: another node may have reported the event.
        let before = ALARMS.get(&core.store, &()).await?.unwrap_or_default();
        let mut alarms = before.clone();
        match observe(&mut alarms) {
            Some(subject) => raise(core, operator, guard, subject, &alarms).await?,
            None => return save_alarms(core, guard, &before, &alarms).await,
        }
    }
}

/// Sends a test event.
///
/// # Errors
/// `Conflict` if the configuration names no webhook, `RateLimited` within a minute of the last test
pub async fn test(core: &Core, caller: &Caller) -> Result<Delivery, Error> {
    let operator = webhook(core).ok_or_else(|| {
        Error::conflict("the configuration has no [operator] webhook_url; set it and restart")
    })?;
    let context = caller.require_operator()?;
    let guard = core.locks.operator.lock().await?;
    let noted = webhooks::record_test(core, OPERATOR_WEBHOOK).await?;
    let delivery = delivery(core, operator);
    let subject = Subject::of_service(delivery.id.0);
    let facts = Some(deliveries::facts(&delivery));
    let entry = context.record(core, Action::WebhookTest, subject, None, facts);
    let writes = vec![entry, noted];
    send(core, guard, delivery, EventSubject::Test, writes).await
}

/// The webhook of the configuration.
pub fn webhook(core: &Core) -> Option<&Webhook> {
    core.system.operator_webhook()
}

fn condition(health: BackendHealth) -> BackendCondition {
    match health.health {
        Health::Up => BackendCondition::Up,
        Health::Down => BackendCondition::Down {
            failures: health.faults,
            error: health.last_error.map(|it| it.cause),
        },
        Health::Unknown | Health::Degraded | Health::Probing => BackendCondition::Unsure,
    }
}

/// Sends an event in the commit that stores its alarm.
async fn raise(
    core: &Core,
    operator: &Webhook,
    guard: ChangeGuard,
    subject: EventSubject,
    alarms: &Alarms,
) -> Result<(), Error> {
    tracing::warn!(
        event = subject.as_str(),
        "reporting an event to the operator's webhook"
    );
    let writes = vec![ALARMS.put(&(), alarms)];
    send(core, guard, delivery(core, operator), subject, writes).await?;
    Ok(())
}

/// Stores alarms that changed without an event.
async fn save_alarms(
    core: &Core,
    guard: ChangeGuard,
    before: &Alarms,
    alarms: &Alarms,
) -> Result<(), Error> {
    if before != alarms {
        let writes = vec![ALARMS.put(&(), alarms)];
        core.commit(Change::under_lock(guard, writes)).await?;
    }
    Ok(())
}

fn delivery(core: &Core, operator: &Webhook) -> Delivery {
    let now = core.now();
    let id = core.new_id(now);
    Delivery::of_operator_event(DeliveryId(id), operator, now)
}

async fn send(
    core: &Core,
    guard: ChangeGuard,
    delivery: Delivery,
    subject: EventSubject,
    mut writes: Writes,
) -> Result<Delivery, Error> {
    writes.extend(core.store.add_operator_event(&delivery, subject));
    deliveries::add(core, guard, delivery, writes).await
}
