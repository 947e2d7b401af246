//! The statements of a connection: prepared once, or sent in full each time behind a pooler.

use crate::schema::Relation;
use crate::session::{Parameter, Session};
use futures_util::future::try_join_all;
use tintype_storage::engine::Direction;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Row, Statement};

/// A statement with its parameters' types.
pub struct Query {
    text: String,
    types: Vec<Type>,
    /// `None` behind a pooler: the next transaction may run on another connection.
    prepared: Option<Statement>,
}

impl Query {
    async fn new(session: &Session, text: &str, types: &[Type]) -> Result<Self, Error> {
        let prepared = match session.is_pooled {
            true => None,
            false => Some(session.client.prepare_typed(text, types).await?),
        };
        Ok(Self {
            text: text.to_owned(),
            types: types.to_vec(),
            prepared,
        })
    }

    /// Runs the statement on the connection for which it was created.
    pub async fn rows(
        &self,
        session: &Session,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        match &self.prepared {
            Some(statement) => session.client.query(statement, parameters).await,
            None => {
                let types = self.types.iter().cloned();
                let typed: Vec<Parameter<'_>> = parameters.iter().copied().zip(types).collect();
                session.rows(&self.text, &typed).await
            }
        }
    }
}

/// The statements for one table.
struct RelationStatements {
    get: Query,
    rising: Query,
    falling: Query,
    many_rising: Query,
    many_falling: Query,
    count: Query,
    lock: Query,
    lock_free: Query,
    reserve: Query,
    upsert: Query,
    delete: Query,
}

/// The statements for all tables, and for a writer's mark.
pub struct Statements {
    relations: Vec<RelationStatements>,
    pub move_mark: Query,
    pub demand_mark: Query,
    /// Milliseconds since the Unix epoch, by the database's clock.
    pub time: Query,
}

/// Moves the writer's mark `$1` from `$2` to `$3`.
const MOVE_MARK: &str = "UPDATE tintype.account SET value = $3 WHERE key = $1 AND value = $2";
/// Fails, and so rolls back the transaction, unless the mark `$1` is `$2`: the null value violates the column's constraint.
const DEMAND_MARK: &str = "INSERT INTO tintype.account (key, value) SELECT $1, NULL WHERE NOT EXISTS (SELECT 1 FROM tintype.account WHERE key = $1 AND value = $2)";

const TIME: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";

impl Statements {
    /// Prepares all statements in one round trip.
    pub async fn new(session: &Session) -> Result<Self, Error> {
        let bytes = [Type::BYTEA, Type::BYTEA, Type::BYTEA];
        let relations = Relation::ALL.map(|relation| prepare_relation(session, relation));
        let mark = async {
            tokio::try_join!(
                Query::new(session, MOVE_MARK, &bytes),
                Query::new(session, DEMAND_MARK, &bytes[..2]),
                Query::new(session, TIME, &[])
            )
        };
        let (relations, (move_mark, demand_mark, time)) =
            tokio::try_join!(try_join_all(relations), mark)?;
        Ok(Self {
            relations,
            move_mark,
            demand_mark,
            time,
        })
    }

    /// The pairs of the keys `$1`.
    pub fn get(&self, relation: Relation) -> &Query {
        &self.of(relation).get
    }

    /// The first or last `$3` pairs from `$1` (inclusive) to `$2` (exclusive).
    pub fn scan(&self, relation: Relation, direction: Direction) -> &Query {
        match direction {
            Direction::Rising => &self.of(relation).rising,
            Direction::Falling => &self.of(relation).falling,
        }
    }

    /// Scans many ranges: `$1` holds the starts, `$2` the ends, `$3` the limits. Each pair comes with the number of its range,
    /// from 1.
    pub fn scan_many(&self, relation: Relation, direction: Direction) -> &Query {
        match direction {
            Direction::Rising => &self.of(relation).many_rising,
            Direction::Falling => &self.of(relation).many_falling,
        }
    }

    /// The number of keys from `$1` (inclusive) to `$2` (exclusive).
    pub fn count(&self, relation: Relation) -> &Query {
        &self.of(relation).count
    }

    /// Locks the rows of the keys `$1` and returns their pairs. `waits`: wait for rows that another session has locked, instead
    /// of skipping them.
    pub fn lock(&self, relation: Relation, waits: bool) -> &Query {
        match waits {
            true => &self.of(relation).lock,
            false => &self.of(relation).lock_free,
        }
    }

    /// Inserts rows for those of the keys `$1` that have none, so that they can be locked, and returns these keys. Waits for a
    /// session that inserts one of them.
    pub fn reserve(&self, relation: Relation) -> &Query {
        &self.of(relation).reserve
    }

    /// Sets the keys `$1` to the values `$2`.
    pub fn upsert(&self, relation: Relation) -> &Query {
        &self.of(relation).upsert
    }

    /// Deletes the keys `$1`.
    pub fn delete(&self, relation: Relation) -> &Query {
        &self.of(relation).delete
    }

    fn of(&self, relation: Relation) -> &RelationStatements {
        &self.relations[relation as usize]
    }
}

async fn prepare_relation(
    session: &Session,
    relation: Relation,
) -> Result<RelationStatements, Error> {
    let table = relation.name();
    let many = [Type::BYTEA_ARRAY];
    let pairs = [Type::BYTEA_ARRAY, Type::BYTEA_ARRAY];
    let range = [Type::BYTEA, Type::BYTEA, Type::INT8];
    let ranges = [Type::BYTEA_ARRAY, Type::BYTEA_ARRAY, Type::INT8_ARRAY];
    let scan = |order: &str| {
        format!(
            "SELECT key, value FROM {table} WHERE key >= $1 AND key < $2 ORDER BY key {order} LIMIT $3"
        )
    };
    let scan_many = |order: &str| {
        format!(
            "SELECT part.number, found.key, found.value \
             FROM unnest($1::bytea[], $2::bytea[], $3::int8[]) WITH ORDINALITY AS part (low, high, most, number), \
             LATERAL (SELECT key, value FROM {table} WHERE key >= part.low AND key < part.high ORDER BY key {order} LIMIT part.most) AS found \
             ORDER BY part.number, found.key {order}"
        )
    };
    let lock =
        format!("SELECT key, value FROM {table} WHERE key = ANY($1) ORDER BY key FOR UPDATE");
    let lock_free = format!("{lock} SKIP LOCKED");
    let count = format!("SELECT count(*) FROM {table} WHERE key >= $1 AND key < $2");
    let reserve = format!(
        "INSERT INTO {table} (key, value) SELECT key, '' FROM unnest($1::bytea[]) AS absent (key) \
         ON CONFLICT (key) DO NOTHING RETURNING key"
    );
    let get = format!("SELECT key, value FROM {table} WHERE key = ANY($1)");
    let upsert = format!(
        "INSERT INTO {table} (key, value) SELECT * FROM unnest($1::bytea[], $2::bytea[]) \
         ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value"
    );
    let delete = format!("DELETE FROM {table} WHERE key = ANY($1)");
    let (rising, falling) = (scan("ASC"), scan("DESC"));
    let (many_rising, many_falling) = (scan_many("ASC"), scan_many("DESC"));
    let (
        get,
        rising,
        falling,
        many_rising,
        many_falling,
        count,
        lock,
        lock_free,
        reserve,
        upsert,
        delete,
    ) = tokio::try_join!(
        Query::new(session, &get, &many),
        Query::new(session, &rising, &range),
        Query::new(session, &falling, &range),
        Query::new(session, &many_rising, &ranges),
        Query::new(session, &many_falling, &ranges),
        Query::new(session, &count, &range[..2]),
        Query::new(session, &lock, &many),
        Query::new(session, &lock_free, &many),
        Query::new(session, &reserve, &many),
        Query::new(session, &upsert, &pairs),
        Query::new(session, &delete, &many),
    )?;
    Ok(RelationStatements {
        get,
        rising,
        falling,
        many_rising,
        many_falling,
        count,
        lock,
        lock_free,
        reserve,
        upsert,
        delete,
    })
}
