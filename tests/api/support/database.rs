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

/// The database of a server. The first start creates it; the last owner drops it.
#[derive(Clone)]
pub struct TestDatabase {
    pub(super) is_used: bool,
    created: Arc<OnceLock<Database<'static>>>,
}

/// Used if the environment asks for PostgreSQL.
impl Default for TestDatabase {
    fn default() -> Self {
        Self {
            is_used: env::var(ENGINE).as_deref() == Ok("postgres"),
            created: Arc::default(),
        }
    }
}

impl TestDatabase {
    /// Used whatever the environment asks for; `None` if PostgreSQL is not installed.
    pub fn required() -> Option<Self> {
        server().map(|_| Self {
            is_used: true,
            created: Arc::default(),
        })
    }

    /// An engine on the database; `None` if the server runs without PostgreSQL.
    pub fn engine(&self, node: NodeId) -> Option<Arc<dyn Engine>> {
        if !self.is_used {
            return None;
        }
        let server = server().expect("PostgreSQL's programs are not there");
        let database = self.created.get_or_init(|| server.database());
        let engine = PostgresEngine::open(PostgresOptions {
            node: Some(node),
            host: "localhost".into(),
            url: DatabaseUrl::parse(&database.url()).expect("a URL"),
            connections: 5,
            outage: Duration::from_secs(60),
            on_failure: Arc::new(|error| eprintln!("{error}")),
        });
        Some(Arc::new(engine.expect("an engine")))
    }
}
