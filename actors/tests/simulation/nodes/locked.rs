//! Changes that are decided on what was read under a lock: none of them may be lost, also where a node dies with the lock.

use super::story::World;
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::nodes::locks::{self, Taken};
use tintype_storage::domain::ids::moment_of;
use tintype_storage::domain::lock::LockName;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{Generation, Store, Writes};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

/// How long a change waits for its lock: longer than it takes to declare a node dead.
const PATIENCE: Duration = Duration::from_secs(60);

impl World {
    /// Raises a number that every node raises.
    pub fn change(&self, at: usize) {
        let node = &self.nodes[at];
        let (id, turn) = (node.id, Arc::clone(&node.changes));
        let context = node.system.accounts();
        let (shared, chance) = (Arc::clone(&self.shared), self.chance.clone());
        let (heard, accounts) = (Arc::clone(&self.heard), Arc::clone(context));
        actix::spawn(async move {
            let context = accounts.context();
            let store = &context.store;
            // Callers of one node take turns in its memory.
            let _turn = turn.lock().await;
            let until = Instant::now() + PATIENCE;
            let newest = loop {
                match locks::take(store, id, LockName::People).await {
                    Ok(Taken::Yes { newest }) => break newest,
                    Ok(Taken::Held) if Instant::now() > until => {
                        return shared.fault(format!("{id} has waited too long for a lock"));
                    }
                    Ok(Taken::Held) => shared.count("locks waited for"),
                    // It leaves, or is dead.
                    Ok(Taken::NotJoined) if Instant::now() > until => return,
                    Ok(Taken::NotJoined) => {}
                    Err(_) => return,
                }
                sleep(chance.millis(1, 50)).await;
            };
            newest.into_iter().for_each(|it| context.ids.raise(it));
            let made = moment_of(&context.ids.next((context.clock)()));
            if newest > made {
                shared.fault(format!("{id} makes an id from before {newest:?}"));
            }
            let mut writes = Writes::new();
            let changes = !chance.one_in(4);
            if changes {
                let Ok(Generation(read)) = store.operator_generation().await else {
                    return;
                };
                sleep(chance.millis(0, 40)).await;
                writes.extend(store.set_operator_generation(Generation(read + 1)));
                heard.lock().changes_begun += 1;
            }
            writes.push(locks::release(LockName::People, made));
            let (tell, told) = oneshot::channel();
            store.commit(writes, |outcome| drop(tell.send(outcome)));
            if let Ok(Ok(())) = told.await
                && changes
            {
                shared.count("changes under a lock");
                heard.lock().changes_made += 1;
            }
        });
    }

    /// Has every change been made once that was answered?
    pub fn check_changes(&self, store: &Store) {
        let Generation(made) = store.operator_generation().wait().expect("readable");
        let heard = self.heard.lock();
        let made = u64::from(made);
        if made < heard.changes_made || made > heard.changes_begun {
            self.shared.fault(format!(
                "of {} changes {} were answered, and {made} were made",
                heard.changes_begun, heard.changes_made
            ));
        }
    }
}
