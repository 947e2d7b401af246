//! A writing connection: the waiting rounds and commits become one transaction.
//!
//! The first round trip locks the keys and reads; the decisions run in memory; the second round trip moves the writer's mark,
//! writes and commits. If its response is lost, the mark shows the outcome.

use crate::backoff::Backoff;
use crate::engine_state::EngineState;
use crate::fault::Fault;
use crate::mark::{self, Mark, Outcome};
use crate::reader::by_relation;
use crate::rounds::{Decision, decide_all};
use crate::session::READ_WRITE;
use crate::statements::{PreparedSession, Statement};
use crate::write_queue::{Group, HeldRound};
use futures_util::future::try_join_all;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Instant;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::engine::{
    Commit, EngineError, Key, Value, call_back, deferred_wake, write_size,
};
use tokio_postgres::Error;
use tokio_postgres::types::ToSql;

type MergedWrites<'a> = BTreeMap<&'a [u8], Option<&'a Value>>;

pub struct Writer {
    shared: Arc<EngineState>,
    mark: Mark,
    /// `None` after a fault.
    session: Option<PreparedSession>,
}

/// Why a transaction has no outcome yet.
enum Interruption {
    /// The commit was not sent.
    Before(Fault),
    /// The commit was sent, and the response is missing or an error.
    Sent(Fault, Vec<Decision>),
}

impl Writer {
    pub fn new(shared: Arc<EngineState>, mark: Mark, session: PreparedSession) -> Self {
        Self {
            shared,
            mark,
            session: Some(session),
        }
    }

    /// Writes until the queue is closed and empty, or the engine has failed.
    pub async fn run(mut self) {
        while let Some(mut group) = self.shared.writes.take().await {
            let ended = group.held();
            let mut again = Vec::new();
            let outcome = self.write(&mut group, &mut again).await;
            let completed = match outcome {
                Ok(decisions) => complete(group, decisions, &Ok(())),
                Err(error) => {
                    self.shared.fail(&error);
                    group.rounds.append(&mut again);
                    let refuse = |_: &HeldRound| Err(error.clone());
                    let decisions = group.rounds.iter().map(refuse).collect();
                    complete(group, decisions, &Err(error.clone())).and(Err(error))
                }
            };
            self.shared.writes.finish(&ended, again);
            if let Err(error) = completed {
                return self.shared.fail(&error);
            }
        }
    }

    /// Returns when the group is durable. Moves rounds whose keys another process has locked to `again`.
    async fn write(
        &mut self,
        group: &mut Group,
        again: &mut Vec<HeldRound>,
    ) -> Result<Vec<Decision>, EngineError> {
        let mut backoff = Backoff::new(self.shared.options.outage, &self.shared.outages);
        loop {
            let fault = match self.attempt(group, again).await {
                Ok(decisions) => return Ok(decisions),
                Err(Interruption::Before(fault)) => fault,
                // A statement failed, so the commit that follows it does.
                Err(Interruption::Sent(fault, _)) if fault.is_lock_conflict() => fault,
                Err(Interruption::Sent(fault, decisions)) => {
                    self.session = None;
                    match self.resolve(&mut backoff, &fault).await? {
                        Outcome::Committed => return Ok(decisions),
                        Outcome::RolledBack => fault,
                        Outcome::Fenced => return Err(self.fenced()),
                        Outcome::Lost => return Err(mark::lost_transactions()),
                    }
                }
            };
            if !fault.is_lock_conflict() || !self.roll_back().await {
                self.session = None;
            }
            backoff.pause(&fault).await?;
        }
    }

    /// Ends a failed transaction; `false` if the connection does not work.
    async fn roll_back(&self) -> bool {
        let Some(prepared) = &self.session else {
            return false;
        };
        let ended = prepared.session.run("ROLLBACK");
        self.shared.outages.response(ended).await.is_ok()
    }

    fn fenced(&self) -> EngineError {
        match self.shared.options.node {
            Some(_) => EngineError::Fenced,
            None => crate::claim::taken_over(),
        }
    }

    async fn resolve(
        &mut self,
        backoff: &mut Backoff,
        fault: &Fault,
    ) -> Result<Outcome, EngineError> {
        tracing::debug!(
            reason = fault.text(),
            "looking up the outcome of a transaction"
        );
        loop {
            let EngineState {
                connector, outages, ..
            } = &*self.shared;
            match self.mark.resolve(connector, outages).await {
                Ok(outcome) => return Ok(outcome),
                Err(fault) => backoff.pause(&fault).await?,
            }
        }
    }

    async fn attempt(
        &mut self,
        group: &mut Group,
        again: &mut Vec<HeldRound>,
    ) -> Result<Vec<Decision>, Interruption> {
        let outages = &self.shared.outages;
        let session = match &mut self.session {
            Some(session) => session,
            empty => {
                let prepared = outages.response(self.shared.connector.prepare_session());
                empty.insert(prepared.await.map_err(Interruption::Before)?)
            }
        };
        let begun = match group.rounds.is_empty() {
            // Awaited: without an open transaction, each of the statements in `send` would commit alone.
            true => outages
                .response(session.session.begin(READ_WRITE))
                .await
                .map(|()| Default::default()),
            false => decide_all(session, outages, group, again).await,
        };
        let (decisions, reserved) = begun.map_err(Interruption::Before)?;
        let writes = merge_writes(&group.commits, &decisions, &reserved);
        let began = Instant::now();
        let fenced: Vec<NodeId> = fenced(group, &decisions).collect();
        let sent = send(session, &self.mark, &writes, &fenced);
        let sent = match fenced.is_empty() {
            true => outages.commit_response(sent).await,
            // It may wait for a transaction of the fenced node.
            false => outages.response(sent).await,
        };
        match sent {
            Ok(()) => {
                if !writes.is_empty() {
                    self.mark.number += 1;
                    let commits = group.commits.len() + decisions.iter().flatten().count();
                    let sizes = writes.iter().map(|(key, value)| write_size(key, *value));
                    let counters = &self.shared.counters;
                    counters.add_commits(commits);
                    counters.add_sync(began.elapsed(), commits, sizes.sum());
                }
                Ok(decisions)
            }
            Err(fault) => Err(Interruption::Sent(fault, decisions)),
        }
    }
}

/// The nodes that a transaction fences.
fn fenced<'a>(group: &'a Group, decisions: &'a [Decision]) -> impl Iterator<Item = NodeId> + 'a {
    let decided = group.rounds.iter().zip(decisions);
    let kept = decided.filter(|(_, decision)| decision.is_ok());
    kept.filter_map(|(it, _)| it.round.fences())
}

/// The writes of a transaction, one per key. Deletes rows inserted only as locks, unless they get values.
fn merge_writes<'a>(
    commits: &'a [Commit],
    decisions: &'a [Decision],
    reserved: &'a HashSet<Key>,
) -> MergedWrites<'a> {
    let decided = decisions.iter().flatten().flatten();
    let writes = commits.iter().flat_map(|it| &it.writes).chain(decided);
    let writes = writes.map(|(key, value)| (key.as_slice(), value.as_ref()));
    let removed = reserved.iter().map(|key| (key.as_slice(), None));
    removed.chain(writes).collect()
}

/// Writes and commits the open transaction in one round trip.
async fn send(
    prepared: &PreparedSession,
    mark: &Mark,
    writes: &MergedWrites<'_>,
    fenced: &[NodeId],
) -> Result<(), Error> {
    let session = &prepared.session;
    let commit = session.commit();
    if writes.is_empty() {
        return commit.await;
    }
    let (old, new) = (mark::value(mark.number), mark::value(mark.number + 1));
    let (key, old, new) = (&mark.key, old.as_slice(), new.as_slice());
    let moved: [&(dyn ToSql + Sync); 3] = [key, &old, &new];
    let move_mark = prepared.rows(Statement::MoveMark, &moved);
    let demanded: [&(dyn ToSql + Sync); 2] = [key, &new];
    let demand_mark = prepared.rows(Statement::DemandMark, &demanded);
    // Waits for an open transaction of that node that has moved its mark.
    let fences = fenced.iter().map(|node| async move {
        let [from, to] = mark::keys_of(node.as_bytes());
        session.remove([&from, &to]).await
    });
    let kept = writes.iter().filter(|(_, value)| value.is_some());
    let upserts = by_relation(kept.map(|(key, _)| *key));
    let upserts = upserts.iter().map(|(relation, keys)| async move {
        let values: Vec<Option<&Value>> = keys.iter().map(|key| writes[*key]).collect();
        let upsert = Statement::Upsert(*relation);
        prepared.rows(upsert, &[keys, &values]).await
    });
    let removed = writes.iter().filter(|(_, value)| value.is_none());
    let deletes = by_relation(removed.map(|(key, _)| *key));
    let deletes = deletes.iter().map(|(relation, keys)| async move {
        prepared.rows(Statement::Delete(*relation), &[keys]).await
    });
    // The driver sends them in this order. After a failed statement all later ones fail, and the commit rolls back.
    tokio::try_join!(
        biased;
        move_mark,
        demand_mark,
        try_join_all(fences),
        try_join_all(upserts),
        try_join_all(deletes),
        commit
    )?;
    Ok(())
}

/// Tells every caller of a group the outcome.
fn complete(
    group: Group,
    decisions: Vec<Decision>,
    commits: &Result<(), EngineError>,
) -> Result<(), EngineError> {
    deferred_wake::wake_after(|| {
        let mut result = Ok(());
        for Commit { done, .. } in group.commits {
            result = result.and(call_back(|| done(commits.clone())));
        }
        for (HeldRound { round, .. }, decision) in group.rounds.into_iter().zip(decisions) {
            result = result.and(call_back(|| round.done(decision.map(drop))));
        }
        result
    })
}
