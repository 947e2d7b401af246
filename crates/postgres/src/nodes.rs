//! Several nodes on one database. Each node has its own marks, and no process claims the database.
//!
//! The service decides in rounds which nodes live, and names the node that a round fences. The engine deletes that node's marks
//! in the round's transaction, so nothing of the node is committed afterwards.

use crate::claim::{self, CLAIM, Process, SHARED};
use crate::connector::Connector;
use crate::mark;
use crate::session::{READ_WRITE, Session, bytes};
use tintype_storage::engine::EngineError;
use tokio_postgres::Error;

/// Joins the nodes that share a database. Takes over from a process that ended without releasing its claim.
///
/// # Errors
/// A living process has claimed the database, or the database fails.
pub async fn join(
    connector: &Connector,
    session: &Session,
    process: &Process,
    writers: u8,
) -> Result<(), EngineError> {
    loop {
        let claim = claim::abandoned_or_shared(connector, session).await?;
        let has_joined = match claim.filter(|it| it != SHARED) {
            Some(claim) => claim::replace(session, Some(&claim), SHARED, process, writers).await,
            None => add(session, process, writers).await,
        };
        if has_joined.map_err(|error| connector.refused(&error))? {
            return Ok(());
        }
    }
}

/// Adds a node's marks. `false` if a process has claimed the database meanwhile, or has released its claim.
async fn add(session: &Session, process: &Process, writers: u8) -> Result<bool, Error> {
    session.begin(READ_WRITE).await?;
    let insert = "INSERT INTO tintype.account (key, value) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    session
        .change(insert, &[bytes(&CLAIM), bytes(&SHARED)])
        .await?;
    // Locked, so that no process claims the database before the marks are committed.
    let claim = session.value(CLAIM, "FOR SHARE").await?;
    if claim.as_deref() != Some(SHARED) {
        session.run("ROLLBACK").await?;
        return Ok(false);
    }
    mark::add(session, process, writers).await?;
    session.commit().await?;
    Ok(true)
}
