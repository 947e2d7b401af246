//! Every engine passes the conformance suite.

use crate::support::no_failure;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tintype_storage::engine::Engine;
use tintype_storage::engine::sled::{SledEngine, SledOptions};
use tintype_storage::testing::conformance::CASES;
use tintype_storage::testing::failing::FailingEngine;
use tintype_storage::testing::memory::MemoryEngine;

/// Runs all cases, so that one report names all failures.
fn all_cases(fresh: impl Fn(&dyn Fn(Arc<dyn Engine>))) {
    let failed: Vec<&str> = CASES
        .iter()
        .filter(|(_, case)| {
            catch_unwind(AssertUnwindSafe(|| fresh(&|engine| case(&engine)))).is_err()
        })
        .map(|(name, _)| *name)
        .collect();
    assert!(failed.is_empty(), "broken: {failed:#?}");
}

#[test]
fn the_memory_engine_satisfies_the_contract() {
    all_cases(|case| case(Arc::new(MemoryEngine::new())));
}

#[test]
fn the_sled_engine_satisfies_the_contract() {
    all_cases(|case| {
        let directory = tempfile::tempdir().expect("directory");
        let options = SledOptions::new(no_failure());
        let engine = SledEngine::open(directory.path(), options);
        case(Arc::new(engine.expect("open")));
    });
}

#[test]
fn a_failing_engine_satisfies_the_contract_until_its_fault() {
    all_cases(|case| {
        let inner = Arc::new(MemoryEngine::new());
        case(Arc::new(FailingEngine::new(inner, u64::MAX, no_failure())));
    });
}
