//! No call blocks a thread that runs async tasks until the store answers.

use crate::sources::{assert_none, below};
use std::collections::BTreeSet;

/// The code of handlers, use cases and actors.
const FOLDERS: [&str; 8] = [
    "actors/src/",
    "src/api/",
    "src/application/",
    "src/compat/",
    "src/http/",
    "src/management/",
    "src/panel/",
    "src/web/",
];

/// Calls that block the thread until the store answers.
const BLOCKING: [&str; 3] = [".wait()", "commit_and_wait(", ".snapshot()"];

/// The functions with such calls, all on the blocking pool or before the service answers calls.
const ALLOWED: [&str; 33] = [
    "actors/src/delivery/restart.rs recover",
    "actors/src/recovery.rs is_of_canceled_batch",
    "actors/src/recovery.rs queue_live_jobs",
    "actors/src/recovery.rs raise_ids",
    "actors/src/recovery.rs state_of",
    "actors/src/system.rs process_context",
    "src/api/stats.rs stats",
    "src/application/accounts/account_list.rs find_blocking",
    "src/application/accounts/ledger.rs read",
    "src/application/accounts/statements.rs group",
    "src/application/accounts/statements.rs read",
    "src/application/jobs/batches.rs find_in_all",
    "src/application/jobs/batches.rs page_of_jobs",
    "src/application/jobs/export.rs record_export",
    "src/application/jobs/export.rs start",
    "src/application/jobs/list.rs read",
    "src/application/jobs/mod.rs find_in_all",
    "src/application/operations/audit_list.rs page",
    "src/application/usage/hourly.rs sum_up",
    "src/application/usage/list.rs read",
    "src/application/usage/list.rs with_names",
    "src/application/usage/mod.rs of_account",
    "src/application/usage/mod.rs of_all_accounts",
    "src/application/webhooks/deliveries.rs find_failed",
    "src/panel/audit.rs list",
    "src/panel/ledger.rs list",
    "src/panel/overview.rs active_keys",
    "src/panel/overview.rs deliveries",
    "src/panel/service_usage.rs read",
    "src/panel/usage.rs view",
    "src/panel/usage_view.rs csv_lines",
    "src/panel/webhook_views.rs outcomes",
    "src/web/queries/delivery_list.rs read_page",
];

/// The name of the function that begins on this line.
fn function(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("fn ")?;
    let is_code = before.is_empty() || before.ends_with(' ');
    let name = rest.split(['(', '<']).next()?;
    (is_code && !before.trim_start().starts_with("//")).then_some(name)
}

#[test]
fn only_functions_of_the_blocking_pool_and_of_the_start_wait_for_the_store() {
    let mut found = BTreeSet::new();
    for source in FOLDERS.iter().flat_map(|folder| below(folder)) {
        if !source.is_rust() || source.path.ends_with("/tests.rs") {
            continue;
        }
        let code = source.text.split("\n#[cfg(test)]\nmod tests {").next();
        let mut within = "";
        for line in code.unwrap_or_default().lines() {
            within = function(line).unwrap_or(within);
            if BLOCKING.iter().any(|call| line.contains(call)) {
                found.insert(format!("{} {within}", source.path));
            }
        }
    }
    let allowed = ALLOWED.map(str::to_owned).into();
    let other = found.symmetric_difference(&allowed).cloned();
    assert_none(
        "blocking functions that are not listed, and the reverse",
        other.collect(),
    );
}
