//! Helpers of the tests.

use std::sync::Arc;
use std::time::Duration;
use tintype_postgres::testing::Database;
use tintype_postgres::{DatabaseUrl, PostgresEngine, PostgresOptions};
use tintype_storage::engine::{Engine, EngineError};

/// Options for a URL. Tests see failures by their outcomes.
pub fn options(url: &str) -> PostgresOptions {
    PostgresOptions {
        url: DatabaseUrl::parse(url).expect("a URL"),
        connections: 8,
        node: None,
        host: "localhost".into(),
        outage: Duration::from_secs(60),
        on_failure: Arc::new(|_| {}),
    }
}

pub fn open(database: &Database<'_>) -> Arc<PostgresEngine> {
    Arc::new(PostgresEngine::open(options(&database.url())).expect("an engine"))
}

/// The reason why a URL is refused.
pub fn refusal(url: &str) -> String {
    error(PostgresEngine::open(options(url))).to_string()
}

pub fn error(opened: Result<PostgresEngine, EngineError>) -> EngineError {
    match opened {
        Ok(_) => panic!("it was opened"),
        Err(error) => error,
    }
}

pub fn put(key: &str, value: &str) -> (Vec<u8>, Option<Vec<u8>>) {
    (key.as_bytes().to_vec(), Some(value.as_bytes().to_vec()))
}

pub fn get(engine: &dyn Engine, key: &str) -> Option<String> {
    let value = engine.get(key.as_bytes()).wait().expect("a read");
    value.map(|value| String::from_utf8(value).expect("text"))
}
