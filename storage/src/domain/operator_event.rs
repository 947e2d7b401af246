//! Events for the operator's webhook, and the alarms that are still active.

use super::account::Account;
use super::amount::Amount;
use super::delivery::{Attempt, Delivery, DeliveryId, DeliveryKind};
use super::ids::{AccountId, NodeId, SERVICE};
use super::named_enum::named_enum;
use super::time::Timestamp;
use super::webhook::{SealedSecret, Webhook, WebhookId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use uuid::Uuid;

/// The version of an event's body. It rises when a member changes its meaning or is removed, not when a member is added.
pub const EVENT_VERSION: u32 = 1;

/// The configured operator webhook has no record.
pub const OPERATOR_WEBHOOK: WebhookId = WebhookId(Uuid::nil());

/// Stored as long as the event's delivery, which has the same id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorEvent {
    pub created_at: Timestamp,
    pub subject: EventSubject,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventSubject {
    /// A test event.
    Test,
    /// The account's available balance fell below its `low_balance`.
    LowBalance {
        account: AccountId,
        name: String,
        balance: Amount,
        reserved: Amount,
        available: Amount,
        low_balance: Amount,
    },
    /// The backend's circuit breaker opened.
    BackendDown {
        backend: String,
        /// Consecutive failures.
        failures: u32,
        /// The last failure, worded for the operator.
        error: Option<String>,
    },
    /// A backend that was down responds again.
    BackendUp {
        backend: String,
        /// When the backend was reported down.
        down_since: Timestamp,
    },
    /// A delivery to a customer used all attempts.
    DeliveryFailed {
        delivery: DeliveryId,
        kind: DeliveryKind,
        /// The id of the job or batch.
        about: Uuid,
        account: AccountId,
        webhook: WebhookId,
        url: String,
        /// Attempts over all rounds.
        attempts: u32,
        /// The last response's status, if one arrived.
        status_code: Option<u16>,
        /// An error other than the status.
        error: Option<String>,
    },
    /// The file system of the data directory is nearly full.
    DiskLow {
        data_dir: String,
        free_bytes: u64,
        /// The configured threshold.
        low_bytes: u64,
    },
}

named_enum!(
    /// An [`EventSubject`] without its data.
    EventType {
        LowBalance = "account.low_balance",
        BackendDown = "backend.down",
        BackendUp = "backend.up",
        DeliveryFailed = "delivery.failed",
        DiskLow = "disk.low",
        Test = "test",
    }
);

impl EventSubject {
    pub fn event_type(&self) -> EventType {
        match self {
            Self::Test => EventType::Test,
            Self::LowBalance { .. } => EventType::LowBalance,
            Self::BackendDown { .. } => EventType::BackendDown,
            Self::BackendUp { .. } => EventType::BackendUp,
            Self::DeliveryFailed { .. } => EventType::DeliveryFailed,
            Self::DiskLow { .. } => EventType::DiskLow,
        }
    }

    /// The name on the wire.
    pub fn as_str(&self) -> &'static str {
        self.event_type().as_str()
    }

    /// The event, if any, of a round of account decisions.
    pub fn of_account(before: &Account, after: &Account) -> Option<Self> {
        let low_balance = after.low_balance?;
        (after.is_low() && !before.is_low()).then(|| Self::LowBalance {
            account: after.id,
            name: after.name.clone(),
            balance: after.balances.balance,
            reserved: after.balances.reserved,
            available: after.balances.available(),
            low_balance,
        })
    }

    /// The event of a delivery's last attempt. Tests and operator events report nothing: their failure would create another
    /// event.
    pub fn of_delivery(delivery: &Delivery, last: &Attempt) -> Option<Self> {
        match delivery.kind {
            DeliveryKind::Event | DeliveryKind::Batch => Some(Self::DeliveryFailed {
                delivery: delivery.id,
                kind: delivery.kind,
                about: delivery.subject,
                account: delivery.account,
                webhook: delivery.webhook,
                url: last.url.clone().unwrap_or_else(|| delivery.url.clone()),
                attempts: delivery.attempts,
                status_code: last.status_code,
                error: last.error.clone(),
            }),
            DeliveryKind::Test | DeliveryKind::Operator => None,
        }
    }
}

impl Webhook {
    /// The configured operator webhook. It belongs to no account.
    pub fn of_operator(url: String, secret: SealedSecret) -> Self {
        Self::new(OPERATOR_WEBHOOK, SERVICE, url, secret, Timestamp::EPOCH)
    }
}

impl Delivery {
    pub fn of_operator_event(id: DeliveryId, webhook: &Webhook, now: Timestamp) -> Self {
        Self::new(id, webhook, DeliveryKind::Operator, id.0, now)
    }
}

/// A backend's health, as far as events depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackendCondition {
    Up,
    Down {
        /// Consecutive failures.
        failures: u32,
        error: Option<String>,
    },
    /// The backend is being probed, or is unused since the start.
    Unsure,
}

/// Active alarms. The store keeps them, so a restart neither repeats an event nor misses its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alarms {
    /// When each backend was reported down. If several nodes share the store, one entry per node: `NAME@NODE`.
    pub backends_down: BTreeMap<String, Timestamp>,
    /// When the disk was reported low.
    pub disk_low: Option<Timestamp>,
}

impl Alarms {
    /// Records a backend's health. Reports that the first process finds the backend down, and that the last one finds it up
    /// again.
    pub fn observe_backend(
        &mut self,
        name: &str,
        by: &Watcher<'_>,
        condition: BackendCondition,
        now: Timestamp,
    ) -> Option<EventSubject> {
        let key = by.alarm_key(name);
        match condition {
            BackendCondition::Down { failures, error }
                if !self.backends_down.contains_key(&key) =>
            {
                let since = self.down_since(name);
                self.backends_down.insert(key, since.unwrap_or(now));
                since.is_none().then(|| EventSubject::BackendDown {
                    backend: name.to_owned(),
                    failures,
                    error,
                })
            }
            BackendCondition::Up => {
                let down_since = self.down_since(name)?;
                self.backends_down
                    .retain(|it, _| backend_of(it) != name || by.is_other_nodes(it));
                match self.down_since(name) {
                    Some(_) => None,
                    None => Some(EventSubject::BackendUp {
                        backend: name.to_owned(),
                        down_since,
                    }),
                }
            }
            BackendCondition::Down { .. } | BackendCondition::Unsure => None,
        }
    }

    /// The earliest time at which a process found the backend down.
    fn down_since(&self, name: &str) -> Option<Timestamp> {
        let down = self.backends_down.iter();
        let of_backend = down.filter(|(key, _)| backend_of(key) == name);
        of_backend.map(|(_, since)| *since).min()
    }

    /// Records the free bytes. After a report, `low_bytes` plus a quarter must be free before the next one, so a disk at the
    /// limit is reported once.
    pub fn observe_disk(
        &mut self,
        data_dir: &str,
        free_bytes: u64,
        low_bytes: u64,
        now: Timestamp,
    ) -> Option<EventSubject> {
        if self.disk_low.is_some() {
            if free_bytes >= low_bytes.saturating_add(low_bytes / 4) {
                self.disk_low = None;
            }
            return None;
        }
        if free_bytes >= low_bytes {
            return None;
        }
        self.disk_low = Some(now);
        Some(EventSubject::DiskLow {
            data_dir: data_dir.to_owned(),
            free_bytes,
            low_bytes,
        })
    }

    /// Drops the alarms of backends that this process no longer configures. Another node may have another configuration, and keeps its
    /// alarms while it lives.
    pub fn keep_backends(&mut self, by: &Watcher<'_>, is_configured: impl Fn(&str) -> bool) {
        self.backends_down
            .retain(|key, _| is_configured(backend_of(key)) || by.is_other_nodes(key));
    }
}

/// The process that observes backends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watcher<'a> {
    /// `None` for a single process.
    pub node: Option<NodeId>,
    pub living: &'a [NodeId],
}

impl Watcher<'_> {
    /// The key of this process's alarm for a backend. Backend names contain no `@`.
    fn alarm_key(&self, backend: &str) -> String {
        match self.node {
            Some(node) => format!("{backend}@{node}"),
            None => backend.to_owned(),
        }
    }

    /// Is it the alarm of another live node?
    fn is_other_nodes(&self, key: &str) -> bool {
        let mut others = self.living.iter().filter(|it| Some(**it) != self.node);
        others.any(|node| key.ends_with(&format!("@{node}")))
    }
}

fn backend_of(key: &str) -> &str {
    key.split_once('@').map_or(key, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: Timestamp = Timestamp::EPOCH;

    fn down() -> BackendCondition {
        BackendCondition::Down {
            failures: 5,
            error: Some("refused".into()),
        }
    }

    #[test]
    fn decisions_14_a_backend_is_reported_once_until_it_is_up_again() {
        let mut alarms = Alarms::default();
        let mut words = |look| {
            alarms
                .observe_backend("a", &Watcher::default(), look, T)
                .map(|it| it.as_str())
        };
        assert_eq!(words(BackendCondition::Up), None);
        assert_eq!(words(down()), Some("backend.down"));
        assert_eq!(words(down()), None);
        assert_eq!(words(BackendCondition::Unsure), None, "it is probed");
        assert_eq!(words(down()), None, "the probe failed");
        assert_eq!(words(BackendCondition::Up), Some("backend.up"));
        assert_eq!(words(BackendCondition::Up), None);
        assert_eq!(words(down()), Some("backend.down"));
        alarms.keep_backends(&Watcher::default(), |name| name != "a");
        assert_eq!(alarms, Alarms::default());
    }

    #[test]
    fn a_backend_is_down_while_any_live_node_finds_it_down() {
        let nodes = [1, 2, 3].map(|id| NodeId(Uuid::from_u128(id)));
        let mut alarms = Alarms::default();
        let mut at = |node: usize, living: &[NodeId], look, millis| {
            let by = Watcher {
                node: Some(nodes[node]),
                living,
            };
            alarms.observe_backend("a", &by, look, Timestamp::from_millis(millis))
        };
        let word = |event: Option<EventSubject>| event.map(|it| it.as_str());
        assert_eq!(word(at(0, &nodes, down(), 10)), Some("backend.down"));
        assert_eq!(word(at(1, &nodes, down(), 20)), None);
        assert_eq!(
            word(at(2, &nodes, BackendCondition::Up, 30)),
            None,
            "two others"
        );
        assert_eq!(word(at(0, &nodes, BackendCondition::Up, 40)), None);
        assert_eq!(word(at(0, &nodes, BackendCondition::Up, 50)), None);
        // The node that found the backend down has died.
        let up = at(0, &nodes[..1], BackendCondition::Up, 60);
        let since = Timestamp::from_millis(10);
        assert!(
            matches!(up, Some(EventSubject::BackendUp { down_since, .. }) if down_since == since)
        );
        assert_eq!(alarms, Alarms::default());
    }

    #[test]
    fn a_node_with_another_configuration_drops_no_alarm_of_a_live_node() {
        let nodes = [1, 2].map(|id| NodeId(Uuid::from_u128(id)));
        let by = |node: usize, living| Watcher {
            node: Some(nodes[node]),
            living,
        };
        let mut alarms = Alarms::default();
        let observe_down = |alarms: &mut Alarms, node| {
            let event = alarms.observe_backend("a", &by(node, &nodes), down(), T);
            event.map(|it| it.as_str())
        };
        assert_eq!(observe_down(&mut alarms, 0), Some("backend.down"));
        alarms.keep_backends(&by(1, &nodes), |_| false);
        assert_eq!(observe_down(&mut alarms, 0), None, "reported already");
        assert_eq!(observe_down(&mut alarms, 1), None);
        alarms.keep_backends(&by(1, &nodes), |_| false);
        assert_eq!(alarms.backends_down.len(), 1, "its own alarm is dropped");
        alarms.keep_backends(&by(1, &nodes[1..]), |_| false);
        assert_eq!(alarms, Alarms::default(), "the first node has died");
    }

    #[test]
    fn decisions_14_a_low_disk_is_reported_again_only_after_a_quarter_more_was_free() {
        let mut alarms = Alarms::default();
        let mut is_reported = |free| alarms.observe_disk("/data", free, 1_000, T).is_some();
        let frees = [1_000, 999, 0, 1_249, 999, 1_250, 1_000, 999];
        assert_eq!(
            frees.map(&mut is_reported),
            [false, true, false, false, false, false, false, true]
        );
    }

    #[test]
    fn a_limit_of_zero_never_reports_the_disk() {
        assert_eq!(Alarms::default().observe_disk("/data", 0, 0, T), None);
    }
}
