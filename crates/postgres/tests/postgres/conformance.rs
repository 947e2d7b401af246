//! The engine passes the conformance suite.

use crate::support::open;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tintype_postgres::testing::server;
use tintype_storage::engine::Engine;
use tintype_storage::testing::conformance::CASES;

#[test]
fn postgres_satisfies_the_engine_contract() {
    let Some(server) = server() else { return };
    let passes = |case: &fn(&Arc<dyn Engine>)| {
        let database = server.database();
        let engine: Arc<dyn Engine> = open(&database);
        catch_unwind(AssertUnwindSafe(|| case(&engine))).is_ok()
    };
    let failed: Vec<&str> = CASES
        .iter()
        .filter(|(_, case)| !passes(case))
        .map(|(name, _)| *name)
        .collect();
    assert!(failed.is_empty(), "broken: {failed:#?}");
}
