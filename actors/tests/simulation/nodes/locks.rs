//! Read-modify-write changes under a lock: none may be lost, even if a node dies while it holds the lock.

use super::scenario::World;
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::nodes::locks::{self, LockOutcome};
use tintype_storage::domain::ids::moment_of;
use tintype_storage::domain::lock::LockName;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::tables::OPERATOR_SESSIONS;
use tintype_storage::store::{Generation, Store, Writes};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

/// Longer than it takes to declare a node dead.
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);

impl World {
    /// Increments a number that all nodes increment.
    pub fn change(&self, at: usize) {
        let node = &self.nodes[at];
        let (id, turn) = (node.id, Arc::clone(&node.changes));
        let process = Arc::clone(node.system.process());
        let (shared, rng) = (Arc::clone(&self.shared), self.rng.clone());
        let acknowledged = Arc::clone(&self.acknowledged);
        actix::spawn(async move {
            let store = &process.store;
            // A lock in memory serializes the callers of one node.
            let _turn = turn.lock().await;
            let until = Instant::now() + LOCK_TIMEOUT;
            let newest = loop {
                match locks::take(store, id, LockName::People).await {
                    Ok(LockOutcome::Yes { newest }) => break newest,
                    Ok(LockOutcome::Held) if Instant::now() > until => {
                        return shared.fault(format!("{id} has waited too long for a lock"));
                    }
                    Ok(LockOutcome::Held) => shared.count("locks waited for"),
                    // The node leaves, or is dead.
                    Ok(LockOutcome::NotJoined) if Instant::now() > until => return,
                    Ok(LockOutcome::NotJoined) => {}
                    Err(_) => return,
                }
                sleep(rng.millis(1, 50)).await;
            };
            newest.into_iter().for_each(|it| process.ids.raise(it));
            let made = moment_of(&process.ids.next(process.now()));
            if newest > made {
                shared.fault(format!("{id} generates an id from before {newest:?}"));
            }
            let mut writes = Writes::new();
            let changes = !rng.one_in(4);
            if changes {
                let Ok(read) = OPERATOR_SESSIONS.get(store, &()).await else {
                    return;
                };
                let Generation(read) = read.unwrap_or_default();
                sleep(rng.millis(0, 40)).await;
                writes.push(OPERATOR_SESSIONS.put(&(), &Generation(read + 1)));
                acknowledged.lock().changes_begun += 1;
            }
            writes.push(locks::release(LockName::People, made));
            let (reply, committed) = oneshot::channel();
            store.commit(writes, |outcome| drop(reply.send(outcome)));
            if let Ok(Ok(())) = committed.await
                && changes
            {
                shared.count("changes under a lock");
                acknowledged.lock().changes_made += 1;
            }
        });
    }

    /// Checks that every acknowledged change was made once.
    pub fn check_changes(&self, store: &Store) {
        let made = OPERATOR_SESSIONS.get(store, &()).wait().expect("readable");
        let Generation(made) = made.unwrap_or_default();
        let acknowledged = self.acknowledged.lock();
        let made = u64::from(made);
        if made < acknowledged.changes_made || made > acknowledged.changes_begun {
            self.shared.fault(format!(
                "{} changes were begun, {} acknowledged, and {made} made",
                acknowledged.changes_begun, acknowledged.changes_made
            ));
        }
    }
}
