//! Opens connections, with advice for failures.

use crate::options::Purpose;
use crate::session::{Session, explain};
use crate::statements::PreparedSession;
use crate::tls;
use crate::url::DatabaseUrl;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tintype_storage::engine::EngineError;
use tokio::time::timeout;
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

/// One of several hosts that accepts a connection and is not ready for statements after this time is skipped.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Clone)]
pub struct Connector {
    pub url: DatabaseUrl,
    hosts: Vec<Config>,
    /// The host that worked last, among `hosts`. It comes first: a host whose machine is gone costs a timeout.
    first_host: Arc<AtomicUsize>,
    tls: MakeRustlsConnect,
}

/// Reads the root certificates that the URL names, or those of the system, without a connection.
///
/// # Errors
/// They cannot be read.
pub fn check_certificates(url: &DatabaseUrl) -> Result<(), EngineError> {
    Connector::new(url.clone(), Purpose::Serve).map(drop)
}

impl Connector {
    /// A service connects only to a server that takes writes, if the URL does not say otherwise: reads from a standby could be old.
    ///
    /// # Errors
    /// The TLS root certificates cannot be read.
    pub fn new(mut url: DatabaseUrl, purpose: Purpose) -> Result<Self, EngineError> {
        if purpose == Purpose::Serve
            && url.config.get_target_session_attrs() == TargetSessionAttrs::Any
        {
            url.config
                .target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        let tls = tls::connector(&url.tls).map_err(|reason| EngineError::Database {
            url: url.to_string(),
            reason,
        })?;
        Ok(Self {
            hosts: url.of_hosts(),
            first_host: Arc::default(),
            url,
            tls,
        })
    }

    /// Connects without preparing statements. Among several hosts, one that hangs after it has accepted the connection must not
    /// keep the others from being tried. While all of them hang, it tries them again until its caller gives up.
    pub async fn connect(&self) -> Result<Session, Error> {
        let (first, count) = (self.first_host.load(Ordering::Relaxed), self.hosts.len());
        if count == 1 {
            return self.connect_to(first).await;
        }
        loop {
            let mut failure = None;
            for host in (0..count).map(|it| (first + it) % count) {
                match timeout(self.limit_of(host), self.connect_to(host)).await {
                    Ok(Ok(session)) => return Ok(session),
                    Ok(Err(error)) => failure = Some(error),
                    Err(_) => tracing::debug!(host, "a database host does not answer"),
                }
            }
            if let Some(error) = failure {
                return Err(error);
            }
        }
    }

    /// The driver's own timeout ends when the host accepts the connection.
    fn limit_of(&self, host: usize) -> Duration {
        let accepts = self.hosts[host].get_connect_timeout();
        accepts.copied().unwrap_or_default() + HANDSHAKE_TIMEOUT
    }

    async fn connect_to(&self, host: usize) -> Result<Session, Error> {
        let (client, connection) = self.hosts[host].connect(self.tls.clone()).await?;
        self.first_host.store(host, Ordering::Relaxed);
        let driver = tokio::spawn(async move {
            // Requests on the connection receive the error.
            drop(connection.await);
        });
        Ok(Session::new(client, driver, self.url.is_pooled))
    }

    /// Connects and prepares the statements.
    pub async fn prepare_session(&self) -> Result<PreparedSession, Error> {
        self.prepare(self.connect().await?).await
    }

    /// Prepares the statements. Prepares nothing on a pooler's connection, which other clients use next.
    pub async fn prepare(&self, session: Session) -> Result<PreparedSession, Error> {
        if !session.is_pooled {
            session.apply_settings().await?;
        }
        PreparedSession::new(session).await
    }

    /// An error during the start, with advice.
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

/// Advice if there is a pooler that the URL does not name. The pooler's clients would share prepared statements by names that
/// are equal in every process: one client could run another's statement.
pub const NAME_THE_POOLER: &str = "the connection goes through a pooler; add `pooler=1` to the URL, or connect to PostgreSQL itself";

/// The begin of the driver's message about an encrypted connection that failed.
const TLS_FAILED: &str = "error performing TLS handshake";

/// The driver's message about a server that takes no writes.
pub const TAKES_NO_WRITES: &str = "database does not allow writes";

/// Advice if the server takes no writes.
pub const NAME_THE_PRIMARY: &str =
    "it is a standby, which can only be read; name the primary server in `[storage] url`";

/// An error with its causes, and advice if the operator can fix it.
fn advice(error: &Error, url: &DatabaseUrl) -> String {
    let text = explain(error);
    if text.contains("unsupported startup parameter") {
        return format!("{text}; {NAME_THE_POOLER}");
    }
    let Some(code) = error.code() else {
        return match &text {
            it if it.contains("password missing") => {
                "it asks for a password; set PGPASSWORD, or write it into the URL".into()
            }
            it if it.ends_with(TAKES_NO_WRITES) => NAME_THE_PRIMARY.into(),
            it if it.starts_with(TLS_FAILED) => format!("{text}; {}", tls::advice(&url.tls)),
            _ => format!("{text}; is it running, and are host and port right?"),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::server;
    use tokio_postgres::Row;

    #[test]
    fn the_server_soon_notices_that_a_node_has_vanished() {
        let Some(server) = server() else { return };
        let url = DatabaseUrl::parse(&server.url("postgres", "postgres")).expect("a URL");
        let connector = Connector::new(url, Purpose::Serve).expect("a connector");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let session = connector.connect().await.expect("a connection");
            for (setting, expected) in [
                ("tcp_keepalives_idle", "10"),
                ("tcp_keepalives_interval", "5"),
                ("tcp_keepalives_count", "3"),
                ("tcp_user_timeout", "25000"),
            ] {
                let row = session.row(&format!("SHOW {setting}"), &[]).await;
                let value = row
                    .expect("an answer")
                    .map(|it: Row| it.get::<_, String>(0));
                assert_eq!(value.as_deref(), Some(expected), "{setting}");
            }
        });
    }
}
