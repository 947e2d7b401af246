//! One connection to the database, with this engine's settings.

use std::error::Error as _;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row};

/// A connection without a response for this long counts as broken. Longer than the lock timeout.
pub const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

/// The plan of a statement is made once, possibly on empty tables, so a plan chosen by table size would stay wrong. A paused
/// transaction must release its rows, and lock waits must end. Other roles may create functions in `public`.
const SETTINGS: [&str; 11] = [
    "search_path = pg_catalog",
    "plan_cache_mode = force_generic_plan",
    "enable_seqscan = off",
    "enable_bitmapscan = off",
    "enable_hashjoin = off",
    "enable_mergejoin = off",
    "jit = off",
    "idle_in_transaction_session_timeout = '2s'",
    "lock_timeout = '4s'",
    "statement_timeout = 0",
    "client_min_messages = warning",
];

/// The mode of writing transactions.
pub const READ_WRITE: &str = "READ COMMITTED READ WRITE";
/// The mode of reading transactions: each statement sees what was committed before it.
pub const READ_ONLY: &str = "READ COMMITTED READ ONLY";

/// A connection. Dropping it closes the socket, and the database rolls back the open transaction.
pub struct Session {
    pub(crate) client: Client,
    driver: JoinHandle<()>,
    /// Each transaction may run on another connection to the database.
    pub is_pooled: bool,
}

/// A statement's parameter with its type.
pub type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

impl Session {
    /// `driver` is the task of the connection.
    pub fn new(client: Client, driver: JoinHandle<()>, is_pooled: bool) -> Self {
        Self {
            client,
            driver,
            is_pooled,
        }
    }

    /// Applies the settings to the connection, which must not be a pooler's.
    pub async fn apply_settings(&self) -> Result<(), Error> {
        self.run(&set("SET")).await
    }

    /// Starts a transaction. On a pooler's connection the settings are local to the transaction.
    pub async fn begin(&self, mode: &str) -> Result<(), Error> {
        let settings = match self.is_pooled {
            true => set("SET LOCAL"),
            false => String::new(),
        };
        self.run(&format!("BEGIN ISOLATION LEVEL {mode};{settings}"))
            .await
    }

    pub async fn commit(&self) -> Result<(), Error> {
        self.run("COMMIT").await
    }

    /// Runs statements without parameters.
    pub async fn run(&self, statements: &str) -> Result<(), Error> {
        self.client.batch_execute(statements).await
    }

    /// The rows of an unnamed statement: a pooler may run what follows on another connection.
    pub async fn rows(
        &self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Error> {
        self.client.query_typed(statement, parameters).await
    }

    /// The row of an unnamed statement, if any.
    pub async fn row(
        &self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<Row>, Error> {
        Ok(self.rows(statement, parameters).await?.pop())
    }

    /// The value of a key of the engine, if it has one. `lock` is a clause such as `FOR UPDATE`.
    pub async fn value(&self, key: &[u8], lock: &str) -> Result<Option<Vec<u8>>, Error> {
        let select = format!("SELECT value FROM tintype.account WHERE key = $1 {lock}");
        let row = self.row(&select, &[bytes(&key)]).await?;
        row.map(|row| row.try_get(0)).transpose()
    }

    /// Deletes the keys of the engine from `from` (inclusive) to `to` (exclusive).
    pub async fn remove(&self, [from, to]: [&[u8]; 2]) -> Result<u64, Error> {
        let remove = "DELETE FROM tintype.account WHERE key >= $1 AND key < $2";
        self.change(remove, &[bytes(&from), bytes(&to)]).await
    }

    /// The number of rows that an unnamed statement changed.
    pub async fn change(
        &self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<u64, Error> {
        self.client.execute_typed(statement, parameters).await
    }
}

/// A key or a value as a parameter.
pub fn bytes<T: ToSql + Sync>(value: &T) -> Parameter<'_> {
    (value, Type::BYTEA)
}

/// The statements that apply the settings.
fn set(how: &str) -> String {
    SETTINGS.map(|it| format!(" {how} {it};")).concat()
}

impl Drop for Session {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// An error with its causes. The driver's own text names only the kind of error.
pub fn explain(error: &Error) -> String {
    if let Some(answer) = error.as_db_error() {
        return answer.message().to_owned();
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
