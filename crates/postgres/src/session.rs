//! One connection to the database, set up for this engine.

use crate::statements::Statements;
use crate::tls;
use crate::url::DatabaseUrl;
use std::error::Error as _;
use std::time::Duration;
use tintype_storage::engine::EngineError;
use tokio::task::JoinHandle;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

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

/// Makes connections.
#[derive(Clone)]
pub struct Connector {
    pub url: DatabaseUrl,
    tls: MakeRustlsConnect,
}

impl Connector {
    /// # Errors
    /// The roots of TLS cannot be read.
    pub fn new(url: DatabaseUrl) -> Result<Self, EngineError> {
        let tls = tls::connector(&url.tls).map_err(|reason| EngineError::Database {
            url: url.to_string(),
            reason,
        })?;
        Ok(Self { url, tls })
    }

    /// Connects, without more.
    pub async fn connect(&self) -> Result<Session, Error> {
        let (client, connection) = self.url.config.connect(self.tls.clone()).await?;
        let driver = tokio::spawn(async move {
            // The calls that wait for an answer hear of the fault.
            drop(connection.await);
        });
        let is_pooled = self.url.is_pooled;
        Ok(Session {
            client,
            driver,
            is_pooled,
        })
    }

    /// Connects, and prepares the statements. Nothing is left on a connection of a pooler: other clients get it next.
    pub async fn prepared(&self) -> Result<Prepared, Error> {
        let session = self.connect().await?;
        if !session.is_pooled {
            session.run(&set("SET")).await?;
        }
        let statements = Statements::new(&session).await?;
        Ok(Prepared {
            session,
            statements,
        })
    }

    /// An error of the start, with what to do about it.
    pub fn refused(&self, error: &Error) -> EngineError {
        self.unusable(advice(error, &self.url))
    }

    pub fn unusable(&self, reason: impl Into<String>) -> EngineError {
        EngineError::Database {
            url: self.url.to_string(),
            reason: reason.into(),
        }
    }
}

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

/// A connection with its statements.
pub struct Prepared {
    pub session: Session,
    pub statements: Statements,
}

/// What to do where a pooler stands between and the URL does not say so. Its clients then share prepared statements by names that
/// are the same in every process: one could run the statement of another.
pub const NAME_THE_POOLER: &str =
    "a pooler stands between; add `pooler=1` to the URL, or connect to PostgreSQL itself";

/// An error with its causes, and with what to do about those that an operator can mend.
fn advice(error: &Error, url: &DatabaseUrl) -> String {
    let text = explain(error);
    if text.contains("unsupported startup parameter") {
        return format!("{text}; {NAME_THE_POOLER}");
    }
    let Some(code) = error.code() else {
        return match text.contains("password missing") {
            true => "it asks for a password; set PGPASSWORD, or write it into the URL".into(),
            false => format!("{text}; is it running, and are host and port right?"),
        };
    };
    let (role, database) = (url.role(), url.database());
    match code.code() {
        "3D000" => format!("{text}; create it with `createdb {database}`"),
        "28P01" => format!("{text}; set the right one in PGPASSWORD or in the URL"),
        "28000" => format!("{text}; does the role `{role}` exist, and does pg_hba.conf let it in?"),
        "53300" => {
            format!("{text}; raise its max_connections, or lower `[storage] connections`")
        }
        _ if *code == SqlState::INSUFFICIENT_PRIVILEGE => format!(
            "{text}; let an administrator grant it to the role `{role}`, or run `tintype schema` and give the role \
             SELECT, INSERT, UPDATE and DELETE on the tables"
        ),
        _ => text,
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
