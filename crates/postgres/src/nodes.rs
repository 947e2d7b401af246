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

/// Joins the nodes that share a database.
///
/// # Errors
/// A process has claimed the database, or the database fails.
pub async fn join(
    connector: &Connector,
    session: &Session,
    process: &Process,
    writers: u8,
) -> Result<(), EngineError> {
    let refused = |error: Error| connector.refused(&error);
    let found = add(session, process, writers).await.map_err(refused)?;
    match found {
        None => Ok(()),
        Some(claim) => Err(claim::in_use(connector, &claim)),
    }
}

/// Adds a node's marks. Returns the claim of a process that has claimed the database, if any.
async fn add(session: &Session, process: &Process, writers: u8) -> Result<Option<Vec<u8>>, Error> {
    session.begin(READ_WRITE).await?;
    let insert = "INSERT INTO tintype.account (key, value) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    session
        .change(insert, &[bytes(&CLAIM), bytes(&SHARED)])
        .await?;
    // Locked, so that no process claims the database before the marks are committed.
    let claim = session.value(CLAIM, "FOR SHARE").await?;
    if let Some(claim) = claim.filter(|it| it != SHARED) {
        session.run("ROLLBACK").await?;
        return Ok(Some(claim));
    }
    mark::add(session, process, writers).await?;
    session.commit().await?;
    Ok(None)
}
