//! Records in a PostgreSQL database, if the environment asks for one.

use std::env;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tintype_postgres::testing::{Database, server};
use tintype_postgres::{DatabaseUrl, PostgresEngine, PostgresOptions};
use tintype_storage::domain::ids::NodeId;
use tintype_storage::engine::Engine;

/// The value `postgres` gives every test server its own database.
const ENGINE: &str = "TINTYPE_TEST_ENGINE";

/// Whether test servers keep their records in PostgreSQL.
pub fn is_on_postgres() -> bool {
    env::var(ENGINE).as_deref() == Ok("postgres")
}

/// The database of a server. The first start creates it; the last owner drops it.
#[derive(Clone, Default)]
pub struct TestDatabase(Arc<OnceLock<Database<'static>>>);

impl TestDatabase {
    /// An engine on the database; `None` if the tests run without PostgreSQL.
    pub fn engine(&self, node: NodeId) -> Option<Arc<dyn Engine>> {
        if !is_on_postgres() {
            return None;
        }
        let server = server().expect("PostgreSQL's programs are not there");
        let database = self.0.get_or_init(|| server.database());
        let engine = PostgresEngine::open(PostgresOptions {
            node: Some(node),
            url: DatabaseUrl::parse(&database.url()).expect("a URL"),
            connections: 5,
            outage: Duration::from_secs(60),
            on_failure: Arc::new(|error| eprintln!("{error}")),
        });
        Some(Arc::new(engine.expect("an engine")))
    }
}
