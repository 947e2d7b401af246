//! One connection to the database, set up for this engine.

use crate::schema::SCHEMA;
use crate::statements::Statements;
use crate::tls;
use crate::url::DatabaseUrl;
use std::error::Error as _;
use std::ops::Deref;
use std::time::Duration;
use tintype_storage::engine::EngineError;
use tokio::task::JoinHandle;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

/// How long an answer may take before the connection counts as broken. Longer than a lock is waited for.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// Plans are made once for each statement, on tables that may be empty then: a plan that fits them would be a wrong one for ever.
const PLANS: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_bitmapscan = off; \
     SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off;";

/// A holder that stops must not keep its rows, and a lock is not waited for without end.
const LIMITS: &str = "SET idle_in_transaction_session_timeout = '2s'; SET lock_timeout = '4s'; SET statement_timeout = 0; \
     SET client_min_messages = warning;";

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
        Ok(Session { client, driver })
    }

    /// Connects, and prepares the statements.
    pub async fn prepared(&self) -> Result<Prepared, Error> {
        let session = self.connect().await?;
        let settings = format!("SET search_path = {SCHEMA}; {PLANS} {LIMITS}");
        session.batch_execute(&settings).await?;
        let statements = Statements::prepare(&session).await?;
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
    client: Client,
    driver: JoinHandle<()>,
}

impl Deref for Session {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
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

/// An error with its causes, and with what to do about those that an operator can mend.
fn advice(error: &Error, url: &DatabaseUrl) -> String {
    let text = explain(error);
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
