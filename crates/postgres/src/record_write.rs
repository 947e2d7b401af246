//! Writes one record without a claim of the database and without a node.

use crate::connector::Connector;
use crate::options::{PostgresOptions, Purpose};
use crate::schema::Relation;
use crate::session::{RESPONSE_TIMEOUT, bytes};
use tintype_storage::engine::EngineError;
use tokio::time::timeout;
use tokio_postgres::Error;

/// Writes a record on which no decision depends, also while nodes use the database. No node fences this write.
///
/// # Errors
/// The database is unreachable, or the role may not write.
pub async fn write_record(
    options: &PostgresOptions,
    key: &[u8],
    value: &[u8],
) -> Result<(), EngineError> {
    let connector = Connector::new(options.url.clone(), Purpose::Serve)?;
    match timeout(RESPONSE_TIMEOUT, write(&connector, key, value)).await {
        Ok(written) => written.map_err(|error| connector.refused(&error)),
        Err(_) => Err(connector.unusable("it does not answer")),
    }
}

async fn write(connector: &Connector, key: &[u8], value: &[u8]) -> Result<(), Error> {
    let upsert = format!(
        "INSERT INTO {} (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        Relation::of(key).name()
    );
    let session = connector.connect().await?;
    let row = [bytes(&key), bytes(&value)];
    session.change(&upsert, &row).await.map(drop)
}
