//! The wait of a start for a database that is temporarily unreachable: it restarts, or starts later than this machine.

use crate::connector::{Connector, TAKES_NO_WRITES};
use crate::options::{PostgresOptions, Purpose};
use crate::session::RESPONSE_TIMEOUT;
use std::error::Error as _;
use std::io;
use std::time::Duration;
use tintype_storage::engine::EngineError;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::Error;

const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The database refuses connections for a while: it starts, recovers or stops, or all connections are in use.
const TEMPORARY_CODES: [&str; 4] = ["57P01", "57P02", "57P03", "53300"];

/// PgBouncer has one code for all its refusals. It says this while the database starts or recovers: its own words, or those of the
/// database, which go on with "starting up", "not yet accepting connections", and so on.
const POOLER_REFUSALS: [&str; 2] = ["server login has been failing", "the database system is "];

/// Waits until the database answers a query, for at most `options.outage`. Dropping the future ends the wait. Changes
/// nothing in the database.
///
/// # Errors
/// The database refuses for a reason that does not pass, or the time is over.
pub async fn wait_until_reachable(options: &PostgresOptions) -> Result<(), EngineError> {
    let connector = Connector::new(options.url.clone(), Purpose::Serve)?;
    let began = Instant::now();
    let mut has_warned = false;
    loop {
        let error = match timeout(RESPONSE_TIMEOUT, query(&connector)).await {
            Ok(Ok(())) => {
                if has_warned {
                    tracing::info!(
                        seconds = began.elapsed().as_secs(),
                        "the database is reachable"
                    );
                }
                return Ok(());
            }
            Ok(Err(error)) => {
                let refusal = connector.refused(&error);
                if !is_temporary(&error) {
                    return Err(refusal);
                }
                refusal
            }
            Err(_) => connector.unusable("it does not answer"),
        };
        if began.elapsed() + RETRY_INTERVAL > options.outage {
            return Err(error);
        }
        if !has_warned {
            has_warned = true;
            tracing::warn!(
                reason = %error,
                limit_seconds = options.outage.as_secs(),
                "waiting for the database"
            );
        }
        sleep(RETRY_INTERVAL).await;
    }
}

/// A pooler accepts connections before it reaches the database.
async fn query(connector: &Connector) -> Result<(), Error> {
    connector.connect().await?.run("SELECT 1").await
}

/// May the same connection succeed later, without a change of the configuration?
fn is_temporary(error: &Error) -> bool {
    if let Some(refusal) = error.as_db_error() {
        return TEMPORARY_CODES.contains(&refusal.code().code())
            || POOLER_REFUSALS
                .iter()
                .any(|it| refusal.message().contains(it));
    }
    if error.is_closed() {
        return true;
    }
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(error) = inner.downcast_ref::<io::Error>() {
            return is_temporary_io(error);
        }
        cause = inner.source();
    }
    false
}

fn is_temporary_io(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    let is_temporary = matches!(
        error.kind(),
        Kind::ConnectionRefused
            | Kind::ConnectionReset
            | Kind::ConnectionAborted
            | Kind::BrokenPipe
            | Kind::NotConnected
            | Kind::UnexpectedEof
            | Kind::HostUnreachable
            | Kind::NetworkUnreachable
            | Kind::NetworkDown
            | Kind::TimedOut
            // The server creates its socket when it starts.
            | Kind::NotFound
    );
    // The standard library has no kind for a name without an address, and the driver none for a standby, which may be promoted.
    let text = error.to_string();
    is_temporary || text == TAKES_NO_WRITES || text.contains("failed to lookup address information")
}
