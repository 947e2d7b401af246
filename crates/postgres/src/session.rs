//! One connection to the database, with the settings of this engine.

use std::error::Error as _;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row};

/// How long an answer may take before the connection counts as broken. Longer than a lock is waited for.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// Plans are made once for each statement, on tables that may be empty then: a plan that fits them would be a wrong one for ever.
/// A holder that stops must not keep its rows, and a lock is not waited for without end.
const SETTINGS: [&str; 10] = [
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

/// How a transaction that writes begins.
pub const READ_WRITE: &str = "READ COMMITTED READ WRITE";
/// How one begins that reads what was committed before each of its statements.
pub const READ_ONLY: &str = "READ COMMITTED READ ONLY";

/// A connection. Dropping it closes the socket, and the database rolls back what was not committed.
pub struct Session {
    pub(crate) client: Client,
    driver: JoinHandle<()>,
    /// Each transaction may have another connection to the database.
    pub is_pooled: bool,
}

/// A parameter of a statement, with its type.
pub type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

impl Session {
    /// A connection that `driver` serves.
    pub fn new(client: Client, driver: JoinHandle<()>, is_pooled: bool) -> Self {
        Self {
            client,
            driver,
            is_pooled,
        }
    }

    /// Makes the settings for the connection, which no pooler may share.
    pub async fn make_settings(&self) -> Result<(), Error> {
        self.run(&set("SET")).await
    }

    /// Begins a transaction of this mode. A pooler's connection gets its settings for the transaction alone.
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

    /// The rows of a statement that is sent once. It has no name: a pooler may give what follows it another connection.
    pub async fn rows(
        &self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Error> {
        self.client.query_typed(statement, parameters).await
    }

    /// The row of such a statement, where it has one.
    pub async fn row(
        &self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<Row>, Error> {
        Ok(self.rows(statement, parameters).await?.pop())
    }

    /// How many rows such a statement has changed.
    pub async fn change(
        &self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<u64, Error> {
        self.client.execute_typed(statement, parameters).await
    }
}

/// A parameter that is a key or a value.
pub fn bytes<T: ToSql + Sync>(value: &T) -> Parameter<'_> {
    (value, Type::BYTEA)
}

/// The statements that make the settings.
fn set(how: &str) -> String {
    SETTINGS.map(|it| format!(" {how} {it};")).concat()
}

impl Drop for Session {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// An error with its causes. The driver's own text is only the kind of the error.
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
