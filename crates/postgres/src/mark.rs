//! The mark of a writer: a number in the database that each of the writer's transactions increments. It shows whether a
//! transaction without a response was committed, and a process that deletes the mark fences the writer.

use crate::connector::Connector;
use crate::fault::Fault;
use crate::outages::Outages;
use crate::session::{READ_WRITE, Session, bytes};
use tintype_storage::engine::{EngineError, Key};
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
    /// The database is older than a transaction that it has confirmed. What this process has told others may not be in it.
    Lost,
}

/// The failure of a process whose committed transactions are gone. After a restart, the records of the database are what counts.
pub fn lost_transactions() -> EngineError {
    EngineError::Failed(
        "the database has lost committed transactions: a standby that lagged was promoted, it crashed with \
         `synchronous_commit = off`, or an older state was restored; restart Tintype, which then continues with what is left"
            .into(),
    )
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
        let found = found.map(u64::from_be_bytes);
        let outcome = self.outcome(found);
        let number = match (&outcome, found) {
            (Outcome::Committed, Some(found)) => found,
            (Outcome::RolledBack, Some(found)) => self.skip_next(&session, found).await?,
            _ => return Ok(outcome),
        };
        // A database that recovers from a crash shows commits that no synchronous standby has. This commit waits for the standby.
        outages.commit_response(session.commit()).await?;
        self.number = number;
        Ok(outcome)
    }

    /// What the mark in the database says. Only a confirmed commit sets [`Mark::number`], so a lost response never looks like
    /// [`Outcome::Lost`].
    fn outcome(&self, found: Option<u64>) -> Outcome {
        match found {
            None => Outcome::Fenced,
            Some(found) if found < self.number => Outcome::Lost,
            Some(found) if found == self.number + 1 => Outcome::Committed,
            Some(_) => Outcome::RolledBack,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_shows_the_outcome_of_the_next_transaction() {
        let mark = Mark {
            number: 5,
            ..Mark::new(b"process", 0)
        };
        assert_eq!(mark.outcome(None), Outcome::Fenced);
        assert_eq!(mark.outcome(Some(4)), Outcome::Lost);
        assert_eq!(mark.outcome(Some(5)), Outcome::RolledBack);
        assert_eq!(mark.outcome(Some(6)), Outcome::Committed);
        assert_eq!(mark.outcome(Some(7)), Outcome::RolledBack, "skipped before");
    }
}
