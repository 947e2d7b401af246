//! A reading connection: answers all waiting reads in one round trip.

use crate::backoff::Backoff;
use crate::engine_state::EngineState;
use crate::fault::Fault;
use crate::read_queue::QueuedRead;
use crate::schema::{Part, Relation, parts};
use crate::session::{READ_ONLY, Session, explain};
use crate::statements::{PreparedSession, Statement};
use futures_util::future::try_join_all;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::{
    Direction, EngineError, Key, KeyRange, Pairs, TransactionNumbers, Value,
};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Error, Row};

/// Answers reads until the engine ends.
pub async fn run(shared: Arc<EngineState>, session: PreparedSession) {
    let mut session = Some(session);
    while let Some(requests) = shared.reads.take().await {
        let mut backoff = Backoff::new(shared.options.outage, &shared.outages);
        loop {
            let fault = match read_all(&shared, &mut session, &requests).await {
                Ok(results) => {
                    backoff.record_response();
                    break reply(requests, &results);
                }
                Err(fault) => fault,
            };
            session = None;
            if let Err(error) = backoff.pause(&fault).await {
                shared.fail(&error);
                requests.into_iter().for_each(|it| it.refuse(error.clone()));
                break;
            }
        }
    }
}

/// Answers reads from one point in time, on a connection that cannot be replaced.
pub async fn run_on_snapshot(shared: Arc<EngineState>, view: PreparedSession) {
    while let Some(requests) = shared.reads.take().await {
        let batch = batch_of(&requests);
        match view.read(&batch).await {
            Ok(results) => reply(requests, &results),
            Err(error) => {
                let error = EngineError::Failed(explain(&error));
                shared.fail(&error);
                requests.into_iter().for_each(|it| it.refuse(error.clone()));
            }
        }
    }
}

async fn read_all(
    shared: &EngineState,
    session: &mut Option<PreparedSession>,
    requests: &[QueuedRead],
) -> Result<BatchResults, Fault> {
    let prepared = match session {
        Some(session) => session,
        None => {
            let prepared = shared.connector.prepare_session();
            session.insert(shared.outages.response(prepared).await?)
        }
    };
    let batch = batch_of(requests);
    let results = read_alone(prepared, &batch);
    let mut results = shared.outages.response(results).await?;
    let is_transactions = |it: &QueuedRead| matches!(it, QueuedRead::Transactions(_));
    if requests.iter().any(is_transactions) {
        let numbers = transactions(&prepared.session);
        results.transactions = shared.outages.response(numbers).await?;
    }
    Ok(results)
}

/// Takes a number as the newest transaction. A snapshot alone would not show a transaction that is newer than all that have ended.
async fn transactions(session: &Session) -> Result<Option<TransactionNumbers>, Error> {
    let look = "SELECT pg_catalog.txid_current(), pg_catalog.txid_snapshot_xmin(pg_catalog.txid_current_snapshot())";
    let row = match session.row(look, &[]).await {
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_FUNCTION) => None,
        row => row?,
    };
    row.map(|row| {
        Ok(TransactionNumbers {
            newest: row.try_get(0)?,
            oldest: row.try_get(1)?,
        })
    })
    .transpose()
}

/// Reads outside of a transaction. With a pooler, a transaction keeps one round trip's reads on one connection with this
/// engine's settings.
async fn read_alone(
    prepared: &PreparedSession,
    batch: &ReadBatch<'_>,
) -> Result<BatchResults, Error> {
    let session = &prepared.session;
    let results = prepared.read(batch);
    if !session.is_pooled {
        return results.await;
    }
    // The driver sends them in this order.
    let ((), results, ()) =
        tokio::try_join!(biased; session.begin(READ_ONLY), results, session.commit())?;
    Ok(results)
}

/// The distinct reads of a round trip.
#[derive(Default)]
pub struct ReadBatch<'a> {
    pub keys: BTreeSet<&'a Key>,
    pub scans: Vec<(&'a KeyRange, Direction, usize)>,
    pub counts: Vec<&'a KeyRange>,
    pub time: bool,
}

impl<'a> ReadBatch<'a> {
    pub fn of_keys(keys: impl Iterator<Item = &'a Key>) -> Self {
        Self {
            keys: keys.collect(),
            ..Self::default()
        }
    }
}

/// The results. Scans and counts are in the order of the batch.
pub struct BatchResults {
    pub values: HashMap<Key, Value>,
    pub scans: Vec<Pairs>,
    pub counts: Vec<usize>,
    /// The database's clock, if requested.
    pub time: Option<Timestamp>,
    /// If requested, and not from a snapshot.
    pub transactions: Option<TransactionNumbers>,
}

impl BatchResults {
    /// Removes rows that this transaction inserted only to lock their keys.
    pub fn remove_reserved(&mut self, reserved: &HashSet<Key>) {
        self.values.retain(|key, _| !reserved.contains(key));
        for pairs in &mut self.scans {
            pairs.retain(|(key, _)| !reserved.contains(key));
        }
    }
}

fn batch_of(requests: &[QueuedRead]) -> ReadBatch<'_> {
    let mut batch = ReadBatch::default();
    for it in requests {
        match it {
            QueuedRead::Get(key, _) => drop(batch.keys.insert(key)),
            QueuedRead::GetMany(keys, _) => batch.keys.extend(keys),
            QueuedRead::Scan(range, direction, limit, _) => {
                batch.scans.push((range, *direction, *limit));
            }
            QueuedRead::Count(range, _) => batch.counts.push(range),
            QueuedRead::Time(_) => batch.time = true,
            QueuedRead::Transactions(_) => {}
        }
    }
    batch
}

fn reply(requests: Vec<QueuedRead>, results: &BatchResults) {
    let value = |key: &Key| results.values.get(key).cloned();
    let mut scans = results.scans.iter();
    let mut counts = results.counts.iter();
    // A caller that has gone needs no response.
    for it in requests {
        match it {
            QueuedRead::Get(key, reply) => drop(reply.send(Ok(value(&key)))),
            QueuedRead::GetMany(keys, reply) => {
                drop(reply.send(Ok(keys.iter().map(value).collect())));
            }
            QueuedRead::Scan(_, _, _, reply) => {
                let pairs = scans.next().cloned();
                drop(reply.send(pairs.ok_or(EngineError::Stopped)));
            }
            QueuedRead::Count(_, reply) => {
                let count = counts.next().copied();
                drop(reply.send(count.ok_or(EngineError::Stopped)));
            }
            QueuedRead::Time(reply) => drop(reply.send(Ok(results.time))),
            QueuedRead::Transactions(reply) => drop(reply.send(Ok(results.transactions))),
        }
    }
}

/// Groups keys by table, in the order in which transactions visit the tables. Keeps the order of the keys.
pub fn by_relation<'a>(
    keys: impl IntoIterator<Item = &'a [u8]>,
) -> BTreeMap<Relation, Vec<&'a [u8]>> {
    let mut relations: BTreeMap<Relation, Vec<&[u8]>> = BTreeMap::new();
    for key in keys {
        relations.entry(Relation::of(key)).or_default().push(key);
    }
    relations
}

/// The pairs of rows with the columns `key` and `value`.
pub fn pairs(rows: &[Row]) -> Result<Pairs, Error> {
    let pairs = rows.iter();
    pairs
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect()
}

impl PreparedSession {
    /// Reads in one round trip; a scan over several tables may take one per table.
    pub async fn read(&self, batch: &ReadBatch<'_>) -> Result<BatchResults, Error> {
        let gets = by_relation(batch.keys.iter().map(|key| key.as_slice()));
        let gets = gets
            .into_iter()
            .map(|(relation, keys)| self.get(relation, keys));
        let counts = batch.counts.iter().map(|range| self.count(range));
        let (values, scans, counts, time) = tokio::try_join!(
            try_join_all(gets),
            self.scan_all(&batch.scans),
            try_join_all(counts),
            self.time(batch.time)
        )?;
        Ok(BatchResults {
            values: values.into_iter().flatten().collect(),
            scans,
            counts,
            time,
            transactions: None,
        })
    }

    async fn time(&self, is_wanted: bool) -> Result<Option<Timestamp>, Error> {
        if !is_wanted {
            return Ok(None);
        }
        let rows = self.rows(Statement::Time, &[]).await?;
        let millis = rows.first().map(|it| it.try_get(0)).transpose()?;
        Ok(millis.map(Timestamp::from_millis))
    }

    async fn get(&self, relation: Relation, keys: Vec<&[u8]>) -> Result<Pairs, Error> {
        pairs(&self.rows(Statement::Get(relation), &[&keys]).await?)
    }

    /// The number of keys in a range.
    async fn count(&self, range: &KeyRange) -> Result<usize, Error> {
        let mut total = 0;
        for part in parts(range) {
            let statement = Statement::Count(part.relation);
            for row in self.rows(statement, &[&part.from, &part.to]).await? {
                let count: i64 = row.try_get(0)?;
                total += usize::try_from(count).unwrap_or(0);
            }
        }
        Ok(total)
    }

    /// Up to a limit of pairs of each range. Ranges of one table and direction share a statement, which costs the database far
    /// less than one statement each.
    async fn scan_all(&self, scans: &[(&KeyRange, Direction, usize)]) -> Result<Vec<Pairs>, Error> {
        let mut alike: HashMap<(Relation, Direction), Vec<(usize, Part)>> = HashMap::new();
        let mut others = Vec::new();
        for (index, (range, direction, _)) in scans.iter().enumerate() {
            match <[Part; 1]>::try_from(parts(range)) {
                Ok([part]) => {
                    let key = (part.relation, *direction);
                    alike.entry(key).or_default().push((index, part));
                }
                Err(_) => others.push(index),
            }
        }
        let limit = |index: usize| i64::try_from(scans[index].2).unwrap_or(i64::MAX);
        let alike = alike
            .into_iter()
            .map(async |((relation, direction), parts)| {
                if let [(index, part)] = parts.as_slice() {
                    let pairs = self.scan_part(part, direction, scans[*index].2).await?;
                    return Ok(vec![(*index, pairs)]);
                }
                let from: Vec<&[u8]> = parts.iter().map(|(_, it)| it.from.as_slice()).collect();
                let to: Vec<&[u8]> = parts.iter().map(|(_, it)| it.to.as_slice()).collect();
                let limits: Vec<i64> = parts.iter().map(|(index, _)| limit(*index)).collect();
                let statement = Statement::ScanMany(relation, direction);
                let rows = self.rows(statement, &[&from, &to, &limits]).await?;
                let mut pairs = vec![Pairs::new(); parts.len()];
                for row in rows {
                    let number: i64 = row.try_get(0)?;
                    let of_range = usize::try_from(number - 1).ok();
                    if let Some(pairs) = of_range.and_then(|it| pairs.get_mut(it)) {
                        pairs.push((row.try_get(1)?, row.try_get(2)?));
                    }
                }
                let indexes = parts.into_iter().map(|(index, _)| index);
                Ok::<Vec<(usize, Pairs)>, Error>(indexes.zip(pairs).collect())
            });
        let others = others.into_iter().map(async |index| {
            let (range, direction, limit) = scans[index];
            Ok((index, self.scan(range, direction, limit).await?))
        });
        let (alike, others) = tokio::try_join!(try_join_all(alike), try_join_all(others))?;
        let mut found = vec![Pairs::new(); scans.len()];
        for (index, pairs) in alike.into_iter().flatten().chain(others) {
            found[index] = pairs;
        }
        Ok(found)
    }

    /// Up to `limit` pairs of a range, in order.
    async fn scan(
        &self,
        range: &KeyRange,
        direction: Direction,
        limit: usize,
    ) -> Result<Pairs, Error> {
        let mut parts = parts(range);
        if direction == Direction::Falling {
            parts.reverse();
        }
        let mut pairs = Pairs::new();
        for part in parts {
            if pairs.len() >= limit {
                break;
            }
            pairs.extend(
                self.scan_part(&part, direction, limit - pairs.len())
                    .await?,
            );
        }
        Ok(pairs)
    }

    /// Up to `limit` pairs of a range in one table.
    pub async fn scan_part(
        &self,
        part: &Part,
        direction: Direction,
        limit: usize,
    ) -> Result<Pairs, Error> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let statement = Statement::Scan(part.relation, direction);
        let rows = self
            .rows(statement, &[&part.from, &part.to, &limit])
            .await?;
        pairs(&rows)
    }
}
