//! The mark of a writer: a number in the database that each of its transactions moves. It says whether a transaction whose answer was
//! lost has been committed, and the process that removes it keeps the writer from every further commit.

use crate::connector::Connector;
use crate::outage::Fault;
use crate::session::{ANSWER_WITHIN, READ_WRITE, Session, bytes};
use tintype_storage::engine::Key;
use tokio::time::timeout;
use tokio_postgres::{Error, Row};

/// What the keys of all marks begin with.
pub const MARKS: &[u8] = b"\0mark ";
/// The first key above them.
pub const ABOVE_MARKS: &[u8] = b"\0mark!";

/// Where the mark of a process's writer is.
pub fn key(process: &[u8], writer: u8) -> Key {
    [MARKS, process, &[writer]].concat()
}

/// The first key of a process's marks, and the first above them.
pub fn keys_of(process: &[u8]) -> [Key; 2] {
    let first = [MARKS, process].concat();
    let above = [&first[..], &[u8::MAX]].concat();
    [first, above]
}

/// Adds the marks of a process's writers.
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

/// The marks of all processes, with their values.
pub async fn all(session: &Session) -> Result<Vec<(Key, Vec<u8>)>, Error> {
    let select = "SELECT key, value FROM tintype.account WHERE key >= $1 AND key < $2 ORDER BY key";
    let range = [bytes(&MARKS), bytes(&ABOVE_MARKS)];
    let rows = session.rows(select, &range).await?;
    let mark = |row: &Row| Ok((row.try_get(0)?, row.try_get(1)?));
    rows.iter().map(mark).collect()
}

/// The value of a mark.
pub fn value(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// A mark and what is known of it.
pub struct Mark {
    pub key: Key,
    /// The number of the last transaction that was committed.
    pub number: u64,
}

/// What became of a transaction whose answer was lost.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    RolledBack,
    /// Another process has removed the mark: this one must not write any more.
    Fenced,
}

impl Mark {
    pub fn new(process: &[u8], writer: u8) -> Self {
        Self {
            key: key(process, writer),
            number: 0,
        }
    }

    /// What became of the transaction that would have moved the mark to the next number. Bytes of it that the database reads later
    /// change nothing.
    pub async fn resolve(&mut self, connector: &Connector) -> Result<Outcome, Fault> {
        timeout(ANSWER_WITHIN, self.find_outcome(connector)).await?
    }

    async fn find_outcome(&mut self, connector: &Connector) -> Result<Outcome, Fault> {
        let session = connector.prepared().await?.session;
        session.begin(READ_WRITE).await?;
        // Waits for the end of the lost transaction, where the database is still at it.
        let select = "SELECT value FROM tintype.account WHERE key = $1 FOR UPDATE";
        let row = session.row(select, &[bytes(&self.key)]).await?;
        let Some(row) = row else {
            return Ok(Outcome::Fenced);
        };
        let found: Vec<u8> = row.try_get(0)?;
        let Ok(found) = found.try_into().map(u64::from_be_bytes) else {
            return Ok(Outcome::Fenced);
        };
        if found == self.number + 1 {
            self.number = found;
            return Ok(Outcome::Committed);
        }
        self.skip_next(&session, found).await?;
        Ok(Outcome::RolledBack)
    }

    /// Moves the mark past the number that the lost transaction would give it. If this is lost as well, the next attempt finds either
    /// number, and both say that the transaction was not committed.
    async fn skip_next(&mut self, session: &Session, found: u64) -> Result<(), Error> {
        let next = found.max(self.number + 1) + 1;
        let update = "UPDATE tintype.account SET value = $2 WHERE key = $1";
        let next_value = value(next);
        session
            .change(update, &[bytes(&self.key), bytes(&next_value.as_slice())])
            .await?;
        session.commit().await?;
        self.number = next;
        Ok(())
    }
}
