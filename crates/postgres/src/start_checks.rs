//! The requirements that a start checks. The database's encoding does not matter: the tables hold only bytes.

use crate::connector::{Connector, NAME_THE_POOLER, NAME_THE_PRIMARY};
use crate::schema::{FORMAT, FORMAT_KEY, Relation, SCHEMA, ddl};
use crate::session::Session;
use crate::url::DIRECT;
use tintype_storage::engine::EngineError;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

/// The oldest supported version, as in `server_version_num`.
const OLDEST_VERSION: i32 = 130_000;

/// Attempts to create the tables while other nodes create them too.
const ATTEMPTS: u32 = 5;

/// Checks the server and the tables.
///
/// # Errors
/// What is wrong, and what to do.
pub async fn check(
    connector: &Connector,
    session: &Session,
    may_create: bool,
) -> Result<(), EngineError> {
    check_server(connector, session, may_create).await?;
    let refused = |error: Error| connector.refused(&error);
    if missing_tables(session).await.map_err(refused)? {
        if !may_create {
            return Err(connector.unusable(format!(
                "it has no tables in the schema `{SCHEMA}`: no service has used it"
            )));
        }
        create_tables(session).await.map_err(refused)?;
    }
    check_format(connector, session).await?;
    check_rights(connector, session, may_create).await
}

/// `IF NOT EXISTS` does not see what a concurrent transaction creates: the later one waits for the earlier one and then fails.
/// The next attempt finds the tables.
async fn create_tables(session: &Session) -> Result<(), Error> {
    let mut attempts = 1;
    loop {
        match session.run(&ddl()).await {
            Err(error) if is_there_already(&error) && attempts < ATTEMPTS => attempts += 1,
            outcome => return outcome,
        }
    }
}

fn is_there_already(error: &Error) -> bool {
    let codes = [
        SqlState::UNIQUE_VIOLATION,
        SqlState::DUPLICATE_SCHEMA,
        SqlState::DUPLICATE_TABLE,
        SqlState::DUPLICATE_OBJECT,
    ];
    error.code().is_some_and(|it| codes.contains(it))
}

async fn check_server(
    connector: &Connector,
    session: &Session,
    is_written: bool,
) -> Result<(), EngineError> {
    let settings = format!(
        "SELECT pg_catalog.current_setting('server_version_num')::int4, pg_catalog.current_setting('server_version'), \
         pg_catalog.pg_is_in_recovery(), pg_catalog.current_setting('synchronous_commit'), \
         pg_catalog.current_setting('fsync'), pg_catalog.current_setting('{DIRECT}', true) IS NULL"
    );
    let read = async {
        let row = session.client.query_typed_one(&settings, &[]).await?;
        Ok::<_, Error>((
            row.try_get::<_, i32>(0)?,
            row.try_get::<_, String>(1)?,
            row.try_get::<_, bool>(2)?,
            [row.try_get::<_, String>(3)?, row.try_get::<_, String>(4)?],
            row.try_get::<_, bool>(5)?,
        ))
    };
    let (number, version, is_standby, durability, is_shared) =
        read.await.map_err(|error| connector.refused(&error))?;
    if number < OLDEST_VERSION {
        return Err(connector.unusable(format!(
            "PostgreSQL {version} is too old; use version 13 or newer"
        )));
    }
    if is_shared && !session.is_pooled {
        return Err(connector.unusable(NAME_THE_POOLER));
    }
    if is_standby && is_written {
        return Err(connector.unusable(NAME_THE_PRIMARY));
    }
    for (setting, value) in ["synchronous_commit", "fsync"].iter().zip(durability) {
        if value == "off" && is_written {
            tracing::warn!(
                "the database has `{setting} = off`: a crash of its machine loses jobs and charges that were already confirmed; set it to `on`"
            );
        }
    }
    Ok(())
}

async fn missing_tables(session: &Session) -> Result<bool, Error> {
    let tables: Vec<&str> = Relation::ALL.map(|relation| relation.name()).to_vec();
    let count = "SELECT pg_catalog.count(*) FROM pg_catalog.unnest($1::text[]) AS name \
         WHERE pg_catalog.to_regclass(name) IS NULL";
    let row = session.row(count, &[(&tables, Type::TEXT_ARRAY)]).await?;
    let missing = row.map(|it| it.try_get::<_, i64>(0)).transpose()?;
    Ok(missing != Some(0))
}

async fn check_format(connector: &Connector, session: &Session) -> Result<(), EngineError> {
    let found = session.value(FORMAT_KEY, "").await;
    match found.map_err(|error| connector.refused(&error))? {
        Some(found) if found == FORMAT => Ok(()),
        Some(found) => Err(connector.unusable(format!(
            "its tables have format `{}`, this version reads `{}`; use the version that wrote them, or export the records with that version \
             (`tintype export`) and import them with this one (`tintype import`) into an empty database",
            String::from_utf8_lossy(&found),
            String::from_utf8_lossy(FORMAT)
        ))),
        None => Err(connector.unusable(format!(
            "the tables of its schema `{SCHEMA}` do not say their format; make them with `tintype schema`, in a database \
             without them"
        ))),
    }
}

async fn check_rights(
    connector: &Connector,
    session: &Session,
    is_written: bool,
) -> Result<(), EngineError> {
    let tables: Vec<&str> = Relation::ALL.map(|relation| relation.name()).to_vec();
    let rights: &[&str] = match is_written {
        true => &["SELECT", "INSERT", "UPDATE", "DELETE"],
        false => &["SELECT"],
    };
    let missing = "SELECT pg_catalog.concat_ws(' on ', p, t) \
         FROM pg_catalog.unnest($1::text[]) AS t, pg_catalog.unnest($2::text[]) AS p \
         WHERE NOT pg_catalog.has_table_privilege(t, p) LIMIT 1";
    let parameters = [
        (&tables as _, Type::TEXT_ARRAY),
        (&rights as _, Type::TEXT_ARRAY),
    ];
    let row = session.row(missing, &parameters).await;
    let row = row.map_err(|error| connector.refused(&error))?;
    let missing: Option<String> = row.and_then(|row| row.try_get(0).ok());
    match missing {
        None => Ok(()),
        Some(missing) => Err(connector.unusable(format!(
            "the role `{}` has no right to {missing}; grant it",
            connector.url.role()
        ))),
    }
}
