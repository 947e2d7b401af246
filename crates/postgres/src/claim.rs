//! Exclusive use of a database: a process that needs it alone, such as an import, writes a claim and renews it with a
//! heartbeat.
//!
//! A starting process observes the heartbeat of its predecessor with its own clock, and takes over if the heartbeat stops. The
//! same transaction deletes the marks of the predecessor's writers, so a predecessor that was only paused commits nothing
//! afterwards. Advisory locks were refused: poolers and PostgreSQL-compatible databases lack them.

use crate::backoff::Backoff;
use crate::connector::Connector;
use crate::engine_state::EngineState;
use crate::fault::Fault;
use crate::mark::{self, ABOVE_MARKS, MARKS};
use crate::session::{READ_WRITE, Session, bytes, explain};
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::engine::EngineError;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::Error;

pub const CLAIM: &[u8] = b"\0claim";
/// The claim of a database that several nodes share.
pub const SHARED: &[u8] = b"shared by nodes";
/// The heartbeat's interval.
const HEARTBEAT: Duration = Duration::from_millis(500);
/// A process without a heartbeat for this long counts as dead.
const DEAD_AFTER: Duration = Duration::from_secs(3);
/// Nodes without any write for this long count as dead.
const NODE_DEAD_AFTER: Duration = Duration::from_secs(5);
/// The interval of checks of another process's heartbeat.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);
const PROCESS_BYTES: usize = 16;

/// The id of a claiming process: random at each start.
pub type Process = [u8; PROCESS_BYTES];

/// The failure of a process whose claim another process took over.
pub fn taken_over() -> EngineError {
    EngineError::Failed(
        "another process has taken over from this one, because this one did not respond for some seconds"
            .into(),
    )
}

/// The value of a claim: process id, heartbeat, and a text for people.
fn claim_value(process: &Process, host: &str, beat: u64) -> Vec<u8> {
    let text = format!("process {} on `{host}`", std::process::id());
    [&process[..], &beat.to_be_bytes(), text.as_bytes()].concat()
}

fn describe(claim: &[u8]) -> String {
    let text = claim.get(PROCESS_BYTES + 8..).unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// The claim in the database. Observes the process that holds it for [`DEAD_AFTER`]: the returned claim is [`SHARED`], or that of
/// a process that ended without releasing it.
///
/// # Errors
/// The process is alive, or the database fails.
pub async fn abandoned_or_shared(
    connector: &Connector,
    session: &Session,
) -> Result<Option<Vec<u8>>, EngineError> {
    let mut known: Option<(Vec<u8>, Instant)> = None;
    loop {
        let found = session.value(CLAIM, "").await;
        let found = found.map_err(|error| connector.refused(&error))?;
        let Some(claim) = found.as_deref().filter(|it| *it != SHARED) else {
            return Ok(found);
        };
        match &known {
            None => {
                tracing::info!(
                    by = describe(claim),
                    "the database is claimed; checking whether that process is alive"
                );
                known = Some((claim.to_owned(), Instant::now()));
            }
            Some((before, _)) if claim != *before => return Err(in_use(connector, claim)),
            Some((_, since)) if since.elapsed() < DEAD_AFTER => {}
            Some(_) => return Ok(found),
        }
        sleep(CHECK_INTERVAL).await;
    }
}

/// Claims the database for a process with `writers` writers.
///
/// # Errors
/// Another process is alive, or the database fails.
pub async fn claim(
    connector: &Connector,
    session: &Session,
    process: &Process,
    host: &str,
    writers: u8,
) -> Result<(), EngineError> {
    let refused = |error: Error| connector.refused(&error);
    let found = abandoned_or_shared(connector, session).await?;
    let found = found.as_deref();
    let is_shared = found == Some(SHARED);
    let own = claim_value(process, host, 0);
    let is_replaced = async {
        let has_nodes = is_shared && any_node_writes(session).await?;
        Ok(!has_nodes && replace(session, found, &own, process, writers).await?)
    };
    match is_replaced.await.map_err(refused)? {
        true => Ok(()),
        false if is_shared => Err(connector
            .unusable("several nodes use it; stop all of them before one process uses it alone")),
        false => Err(in_use(connector, found.unwrap_or_default())),
    }
}

/// Does any node write? A live node moves one of its marks at least twice a second. A crashed node leaves its marks behind.
async fn any_node_writes(session: &Session) -> Result<bool, Error> {
    let before = mark::all(session).await?;
    if before.is_empty() {
        return Ok(false);
    }
    tracing::info!("nodes have used the database; checking whether one of them is alive");
    let since = Instant::now();
    while since.elapsed() < NODE_DEAD_AFTER {
        sleep(CHECK_INTERVAL).await;
        if mark::all(session).await? != before {
            return Ok(true);
        }
    }
    Ok(false)
}

fn in_use(connector: &Connector, claim: &[u8]) -> EngineError {
    let by = describe(claim);
    let by = match by.is_empty() {
        true => "another process",
        false => &by,
    };
    connector.unusable(format!(
        "it is in use by {by}, which has claimed it, for example for an import: wait until it ends, or use another database"
    ))
}

/// Replaces the claim that was found and all marks; `false` if the claim has changed meanwhile.
pub async fn replace(
    session: &Session,
    before: Option<&[u8]>,
    claim: &[u8],
    process: &Process,
    writers: u8,
) -> Result<bool, Error> {
    session.begin(READ_WRITE).await?;
    let taken = match before {
        Some(before) => {
            let update = "UPDATE tintype.account SET value = $3 WHERE key = $1 AND value = $2";
            let changed = [bytes(&CLAIM), bytes(&before), bytes(&claim)];
            session.change(update, &changed).await?
        }
        None => {
            let insert =
                "INSERT INTO tintype.account (key, value) VALUES ($1, $2) ON CONFLICT DO NOTHING";
            session
                .change(insert, &[bytes(&CLAIM), bytes(&claim)])
                .await?
        }
    };
    if taken == 0 {
        session.run("ROLLBACK").await?;
        return Ok(false);
    }
    // Waits for open transactions that have moved their mark.
    session.remove([MARKS, ABOVE_MARKS]).await?;
    mark::add(session, process, writers).await?;
    session.commit().await?;
    Ok(true)
}

/// Sends heartbeats until the task is aborted. Fails the engine if another process owns the claim.
pub async fn beat(shared: Arc<EngineState>, process: Process) {
    let mut session: Option<Session> = None;
    let mut backoff = Backoff::new(shared.options.outage, &shared.outages);
    for number in 1.. {
        sleep(HEARTBEAT).await;
        let claim = claim_value(&process, &shared.options.host, number);
        let outcome = loop {
            match renew(&shared, &mut session, &process, &claim).await {
                Ok(is_ours) => break Ok(is_ours),
                Err(fault) => {
                    session = None;
                    if let Err(error) = backoff.pause(&fault).await {
                        break Err(error);
                    }
                }
            }
        };
        match outcome {
            Ok(true) => backoff.record_response(),
            Ok(false) => return shared.fail(&taken_over()),
            Err(error) => return shared.fail(&error),
        }
    }
}

/// Renews the claim; `false` if another process owns it.
async fn renew(
    shared: &EngineState,
    session: &mut Option<Session>,
    process: &Process,
    claim: &[u8],
) -> Result<bool, Fault> {
    let session = match session {
        Some(session) => session,
        None => session.insert(shared.outages.response(shared.connector.connect()).await?),
    };
    let update = "UPDATE tintype.account SET value = $2 WHERE key = $1 AND substring(value FROM 1 FOR 16) = $3";
    let process = process.as_slice();
    let parameters = [bytes(&CLAIM), bytes(&claim), bytes(&process)];
    let beat = async {
        tokio::try_join!(
            biased;
            session.begin(READ_WRITE),
            // The next heartbeat replaces one that a crash loses.
            session.run("SET LOCAL synchronous_commit = off"),
            session.change(update, &parameters),
            session.commit()
        )
    };
    let ((), (), updated, ()) = shared.outages.response(beat).await?;
    Ok(updated > 0)
}

/// Deletes the claim, so that the next process need not wait. After a failure it waits.
pub async fn release(connector: &Connector, process: &Process) {
    let released = timeout(RELEASE_TIMEOUT, async {
        let session = connector.connect().await?;
        let claim =
            "DELETE FROM tintype.account WHERE key = $1 AND substring(value FROM 1 FOR 16) = $2";
        session
            .change(claim, &[bytes(&CLAIM), bytes(&process.as_slice())])
            .await?;
        let [from, to] = mark::keys_of(process);
        session.remove([&from, &to]).await
    });
    match released.await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => {
            tracing::debug!(reason = explain(&error), "could not release the claim");
        }
        Err(_) => tracing::debug!("could not release the claim in time"),
    }
}
