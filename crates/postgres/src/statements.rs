//! The statements of a connection: prepared once, or sent in full each time behind a pooler.

use crate::schema::Relation;
use crate::session::{Parameter, Session};
use futures_util::future::try_join_all;
use std::collections::HashMap;
use tintype_storage::engine::Direction;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Row};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Statement {
    /// The pairs of the keys `$1`.
    Get(Relation),
    /// The first or last `$3` pairs from `$1` (inclusive) to `$2` (exclusive).
    Scan(Relation, Direction),
    /// Scans many ranges: `$1` holds the starts, `$2` the ends, `$3` the limits. Each pair comes with the number of its range,
    /// from 1.
    ScanMany(Relation, Direction),
    /// The number of keys from `$1` (inclusive) to `$2` (exclusive).
    Count(Relation),
    /// Locks the rows of the keys `$1` and returns their pairs. Waits for rows that another session has locked.
    Lock(Relation),
    /// Like [`Statement::Lock`], but skips rows that another session has locked.
    LockFree(Relation),
    /// Inserts rows for those of the keys `$1` that have none, so that they can be locked, and returns these keys. Waits for a
    /// session that inserts one of them.
    Reserve(Relation),
    /// Sets the keys `$1` to the values `$2`.
    Upsert(Relation),
    /// Deletes the keys `$1`.
    Delete(Relation),
    /// Moves the writer's mark `$1` from `$2` to `$3`.
    MoveMark,
    /// Fails, and so rolls back the transaction, unless the mark `$1` is `$2`: the null value violates the column's constraint.
    DemandMark,
    /// Milliseconds since the Unix epoch, by the database's clock.
    Time,
}

impl Statement {
    fn all() -> impl Iterator<Item = Self> {
        let of_relation = |it| {
            [
                Self::Get(it),
                Self::Scan(it, Direction::Rising),
                Self::Scan(it, Direction::Falling),
                Self::ScanMany(it, Direction::Rising),
                Self::ScanMany(it, Direction::Falling),
                Self::Count(it),
                Self::Lock(it),
                Self::LockFree(it),
                Self::Reserve(it),
                Self::Upsert(it),
                Self::Delete(it),
            ]
        };
        let of_relations = Relation::ALL.into_iter().flat_map(of_relation);
        of_relations.chain([Self::MoveMark, Self::DemandMark, Self::Time])
    }

    /// Functions are named with their schema, and so are operators whose operands need a conversion: a function or an operator in
    /// another schema that fits better is preferred, and would run with this role's rights. PostgreSQL itself takes `extract`,
    /// `substring ... FROM` and an `unnest` of several arrays, which accepts no schema, from `pg_catalog`.
    fn text(self) -> String {
        match self {
            Self::Get(it) => {
                format!("SELECT key, value FROM {} WHERE key = ANY($1)", it.name())
            }
            Self::Scan(it, direction) => format!(
                "SELECT key, value FROM {} WHERE key >= $1 AND key < $2 ORDER BY key {} LIMIT $3",
                it.name(),
                order(direction)
            ),
            Self::ScanMany(it, direction) => format!(
                "SELECT part.number, found.key, found.value \
                 FROM unnest($1::bytea[], $2::bytea[], $3::int8[]) WITH ORDINALITY AS part (low, high, most, number), \
                 LATERAL (SELECT key, value FROM {table} WHERE key >= part.low AND key < part.high ORDER BY key {order} LIMIT part.most) AS found \
                 ORDER BY part.number, found.key {order}",
                table = it.name(),
                order = order(direction)
            ),
            Self::Count(it) => format!(
                "SELECT pg_catalog.count(*) FROM {} WHERE key >= $1 AND key < $2",
                it.name()
            ),
            Self::Lock(it) => format!(
                "SELECT key, value FROM {} WHERE key = ANY($1) ORDER BY key FOR UPDATE",
                it.name()
            ),
            Self::LockFree(it) => format!("{} SKIP LOCKED", Self::Lock(it).text()),
            Self::Reserve(it) => format!(
                "INSERT INTO {} (key, value) SELECT key, '' FROM pg_catalog.unnest($1::bytea[]) AS absent (key) \
                 ON CONFLICT (key) DO NOTHING RETURNING key",
                it.name()
            ),
            Self::Upsert(it) => format!(
                "INSERT INTO {} (key, value) SELECT * FROM unnest($1::bytea[], $2::bytea[]) \
                 ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value",
                it.name()
            ),
            Self::Delete(it) => format!("DELETE FROM {} WHERE key = ANY($1)", it.name()),
            Self::MoveMark => {
                "UPDATE tintype.account SET value = $3 WHERE key = $1 AND value = $2".into()
            }
            Self::DemandMark => {
                "INSERT INTO tintype.account (key, value) SELECT $1, NULL WHERE NOT EXISTS (SELECT 1 FROM tintype.account WHERE key = $1 AND value = $2)".into()
            }
            Self::Time => {
                "SELECT (extract(epoch FROM pg_catalog.clock_timestamp()) OPERATOR(pg_catalog.*) 1000)::bigint".into()
            }
        }
    }

    /// The types of the parameters.
    fn types(self) -> Vec<Type> {
        match self {
            Self::Get(_)
            | Self::Lock(_)
            | Self::LockFree(_)
            | Self::Reserve(_)
            | Self::Delete(_) => vec![Type::BYTEA_ARRAY],
            Self::Upsert(_) => vec![Type::BYTEA_ARRAY, Type::BYTEA_ARRAY],
            Self::Scan(..) => vec![Type::BYTEA, Type::BYTEA, Type::INT8],
            Self::ScanMany(..) => vec![Type::BYTEA_ARRAY, Type::BYTEA_ARRAY, Type::INT8_ARRAY],
            Self::Count(_) | Self::DemandMark => vec![Type::BYTEA, Type::BYTEA],
            Self::MoveMark => vec![Type::BYTEA, Type::BYTEA, Type::BYTEA],
            Self::Time => Vec::new(),
        }
    }
}

fn order(direction: Direction) -> &'static str {
    match direction {
        Direction::Rising => "ASC",
        Direction::Falling => "DESC",
    }
}

/// How a connection runs a statement.
enum Query {
    Prepared(tokio_postgres::Statement),
    /// Behind a pooler, where the next transaction may run on another connection.
    Unnamed(String, Vec<Type>),
}

/// A connection with its statements.
pub struct PreparedSession {
    pub session: Session,
    queries: HashMap<Statement, Query>,
}

impl PreparedSession {
    /// Prepares all statements in one round trip.
    pub async fn new(session: Session) -> Result<Self, Error> {
        let prepare = async |statement: Statement| {
            let (text, types) = (statement.text(), statement.types());
            let query = match session.is_pooled {
                true => Query::Unnamed(text, types),
                false => Query::Prepared(session.client.prepare_typed(&text, &types).await?),
            };
            Ok::<_, Error>((statement, query))
        };
        let queries = try_join_all(Statement::all().map(prepare)).await?;
        let queries = queries.into_iter().collect();
        Ok(Self { session, queries })
    }

    pub async fn rows(
        &self,
        statement: Statement,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        match &self.queries[&statement] {
            Query::Prepared(prepared) => self.session.client.query(prepared, parameters).await,
            Query::Unnamed(text, types) => {
                let types = types.iter().cloned();
                let typed: Vec<Parameter<'_>> = parameters.iter().copied().zip(types).collect();
                self.session.rows(text, &typed).await
            }
        }
    }
}
