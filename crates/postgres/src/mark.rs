//! The mark of a writer: a number in the database that each of the writer's transactions increments. It shows whether a
//! transaction without a response was committed, and a process that deletes the mark fences the writer.

use crate::connector::Connector;
use crate::fault::Fault;
use crate::outages::Outages;
use crate::session::{READ_WRITE, Session, bytes};
use tintype_storage::engine::Key;
use tokio_postgres::{Error, Row};

/// The key prefix of all marks.
pub const MARKS: &[u8] = b"\0mark ";
/// The first key after all marks.
pub const ABOVE_MARKS: &[u8] = b"\0mark!";

pub fn key(process: &[u8], writer: u8) -> Key {
    [MARKS, process, &[writer]].concat()
}

/// The range of a process's marks: the first key, and the first key after them.
pub fn keys_of(process: &[u8]) -> [Key; 2] {
    let first = [MARKS, process].concat();
    let above = [&first[..], &[u8::MAX]].concat();
    [first, above]
}

pub async fn add(session: &Session, process: &[u8], writers: u8) -> Result<(), Error> {
    for writer in 0..writers {
        let insert = "INSERT INTO tintype.account (key, value) VALUES ($1, $2)";
        let (key, value) = (key(process, writer), value(0));
        session
            .change(insert, &[bytes(&key), bytes(&value.as_slice())])
            .await?;
    }
    Ok(())
}

/// All marks, with their values.
pub async fn all(session: &Session) -> Result<Vec<(Key, Vec<u8>)>, Error> {
    let select = "SELECT key, value FROM tintype.account WHERE key >= $1 AND key < $2 ORDER BY key";
    let range = [bytes(&MARKS), bytes(&ABOVE_MARKS)];
    let rows = session.rows(select, &range).await?;
    let mark = |row: &Row| Ok((row.try_get(0)?, row.try_get(1)?));
    rows.iter().map(mark).collect()
}

pub fn value(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// A mark and its last known value.
pub struct Mark {
    pub key: Key,
    /// The number of the last committed transaction.
    pub number: u64,
}

/// The outcome of a transaction without a response.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    RolledBack,
    /// Another process deleted the mark: this process must not write any more.
    Fenced,
}

impl Mark {
    pub fn new(process: &[u8], writer: u8) -> Self {
        Self {
            key: key(process, writer),
            number: 0,
        }
    }

    /// Finds the outcome of the transaction that would have moved the mark to the next number. Bytes of the transaction that
    /// reach the database later have no effect.
    pub async fn resolve(
        &mut self,
        connector: &Connector,
        outages: &Outages,
    ) -> Result<Outcome, Fault> {
        outages
            .response(self.find_outcome(connector, outages))
            .await
    }

    async fn find_outcome(
        &mut self,
        connector: &Connector,
        outages: &Outages,
    ) -> Result<Outcome, Fault> {
        let session = connector.prepare_session().await?.session;
        session.begin(READ_WRITE).await?;
        // Waits for the end of the lost transaction if the database still runs it.
        let found = session.value(&self.key, "FOR UPDATE").await?;
        let found = found.and_then(|it| it.try_into().ok());
        let Some(found) = found.map(u64::from_be_bytes) else {
            return Ok(Outcome::Fenced);
        };
        let (number, outcome) = match found == self.number + 1 {
            true => (found, Outcome::Committed),
            false => (self.skip_next(&session, found).await?, Outcome::RolledBack),
        };
        // A database that recovers from a crash shows commits that no synchronous standby has. This commit waits for the standby.
        outages.commit_response(session.commit()).await?;
        self.number = number;
        Ok(outcome)
    }

    /// Moves the mark past the number of the lost transaction. If the response to the commit is lost as well, the next attempt
    /// finds either number, and both mean that the transaction was not committed.
    async fn skip_next(&self, session: &Session, found: u64) -> Result<u64, Error> {
        let next = found.max(self.number + 1) + 1;
        let update = "UPDATE tintype.account SET value = $2 WHERE key = $1";
        let next_value = value(next);
        session
            .change(update, &[bytes(&self.key), bytes(&next_value.as_slice())])
            .await?;
        Ok(next)
    }
}
