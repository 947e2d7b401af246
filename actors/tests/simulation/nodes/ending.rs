//! The end of a scenario: all accepted jobs have ended, and the store is consistent.

use super::scenario::{ACCOUNTS, TO_THE_END, World};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::job::{JobState, Origin};
use tintype_storage::domain::ledger::EntryKind;
use tintype_storage::engine::{Direction, Engine, Wait as _};
use tintype_storage::store::tables::{
    ACCOUNT_LOADS, LEDGER, NODES, QUEUE, TAKEN_JOBS, WAITING_CALLERS,
};
use tintype_storage::store::{All, Store};
use tokio::time::{Instant, sleep};

impl World {
    /// Injects no more failures, and waits until all accepted jobs have ended.
    pub async fn finish(&mut self) {
        self.shared.calm.store(true, Ordering::SeqCst);
        if self.healthy().is_empty() {
            self.join();
        }
        let store = Store::new(Arc::clone(&self.shared.memory) as Arc<dyn Engine>);
        let deadline = Instant::now() + TO_THE_END;
        loop {
            sleep(Duration::from_secs(5)).await;
            let mut live = 0;
            let visited = store.each_live_job(|_| {
                live += 1;
                Ok(())
            });
            visited.wait().expect("readable");
            let pending = store.pending_deliveries(1_000).wait().expect("readable");
            if live + pending == 0
                && Instant::now() + TO_THE_END > deadline + Duration::from_secs(20)
            {
                break;
            }
            if Instant::now() > deadline {
                self.trace_live_jobs(&store);
                let left = format!("{live} jobs and {pending} deliveries have not ended");
                return self.shared.fault(left);
            }
        }
        self.check(&store).await;
    }

    fn trace_live_jobs(&self, store: &Store) {
        let trace = |line| self.shared.trace(line);
        let live = store.each_live_job(|job| {
            trace(format!(
                "{} of {} is {}",
                job.id,
                job.account,
                job.state.as_str()
            ));
            Ok(())
        });
        live.wait().expect("readable");
        let queued = QUEUE.each(store, &All, |place, _| {
            trace(format!("{place:?} is queued"));
            Ok(())
        });
        queued.wait().expect("readable");
        let taken = TAKEN_JOBS.each(store, &All, |(node, job), _| {
            trace(format!("{node} has {job}"));
            Ok(())
        });
        taken.wait().expect("readable");
        let nodes = NODES.each(store, &All, |id, node| {
            trace(format!("{id} is on record: {node:?}"));
            Ok(())
        });
        nodes.wait().expect("readable");
    }

    async fn check(&self, store: &Store) {
        self.shared.verify();
        self.check_changes(store);
        self.check_deliveries(store);
        self.check_batches(store);
        let acknowledged = self.acknowledged.lock();
        for (account, job) in &acknowledged.jobs {
            match store.job(*account, *job).wait().expect("readable") {
                Some(job) if job.state.is_terminal() => {
                    if let JobState::Failed { error, .. } = &job.state
                        && error.starts_with("expired")
                    {
                        let is_abandoned = job.origin == Origin::Synchronous;
                        let what = if is_abandoned { "abandoned" } else { "expired" };
                        self.shared.count(what);
                    }
                    if job.state.is_abandoned()
                        && job.origin == Origin::Synchronous
                        && !acknowledged.cancellations.contains(&job.id)
                    {
                        self.shared.count("callers lost with their nodes");
                    }
                }
                Some(job) => self
                    .shared
                    .fault(format!("{} is {}", job.id, job.state.as_str())),
                None => self.shared.fault(format!("job {job} is lost")),
            }
        }
        for account in ACCOUNTS {
            let load = ACCOUNT_LOADS.get(store, &account).wait().expect("readable");
            if load.is_some_and(|it| it.live_jobs != 0 || !it.keys.is_empty()) {
                self.shared
                    .fault(format!("the load of {account} still counts live jobs"));
            }
            let deposits = acknowledged
                .deposited
                .get(&account)
                .copied()
                .unwrap_or_default();
            let entries = LEDGER.page(store, &account, 1_000, None).wait();
            let entries = entries.expect("readable");
            let made = entries
                .items
                .iter()
                .filter(|it| it.kind == EntryKind::Deposit)
                .count() as u64;
            // The opening entry is a deposit too. A deposit whose answer was lost may be durable or not.
            if made < deposits + 1 {
                self.shared.fault(format!("{account} lost a deposit"));
            }
        }
        let healthy: Vec<NodeId> = self.healthy().iter().map(|at| self.nodes[*at].id).collect();
        let on_record = |it: &NodeId| NODES.get(store, it).wait().expect("readable").is_some();
        for at in self.healthy() {
            let node = &self.nodes[at];
            if node.fail_stop.has_tripped() || !on_record(&node.id) {
                self.shared
                    .fault(format!("{} ended without a reason", node.id));
            }
        }
        let left = QUEUE.range(&All);
        let left = QUEUE.scan(store, &left, Direction::Rising, 10);
        for (place, _) in left.wait().expect("readable") {
            self.shared.fault(format!("{place:?} is still queued"));
        }
        let taken = TAKEN_JOBS.range(&All);
        let taken = TAKEN_JOBS.scan(store, &taken, Direction::Rising, 10);
        for ((node, job), _) in taken.wait().expect("readable") {
            self.shared.fault(format!("{node} still has {job}"));
        }
        for (job, caller) in WAITING_CALLERS.all(store).wait().expect("readable") {
            self.shared
                .fault(format!("the caller of {job} still waits: {caller:?}"));
        }
        for node in &self.nodes {
            if on_record(&node.id) && !healthy.contains(&node.id) && node.engine.is_cut() {
                self.shared
                    .fault(format!("{} is dead and on record", node.id));
            }
        }
    }
}
