//! The panel and the API reference in a real browser: headless Chromium, driven over WebDriver.
//!
//! With `TINTYPE_TEST_NODES=3` each service is three nodes, and each call goes to the next one.
//!
//! Needs `chromium-headless-shell`, `chromedriver`, and axe-core below target/test-tools; `tests/run` installs them and sets
//! `TINTYPE_TEST_BROWSER=1`. Without the variable these tests pass without running.

mod accessibility;
mod accounts;
mod backends;
mod batches;
mod browser;
#[path = "../recovery/bucket.rs"]
mod bucket;
mod calls;
#[path = "../cli/cluster.rs"]
mod cluster;
mod deliveries;
mod drafts;
mod end_to_end;
mod filters;
mod gallery;
mod keyboard_and_phone;
mod keys;
mod layout;
mod lists;
mod live_updates;
mod markup;
mod nodes;
mod outage;
mod pages;
mod playground;
#[allow(
    dead_code,
    reason = "shared with the tests of the HTTP edge, which use all of it"
)]
#[path = "../api/support/poll.rs"]
mod poll;
mod prefix;
mod queue;
mod receiver;
mod reference;
#[allow(
    dead_code,
    reason = "shared with the tests of the HTTP edge, which use all of it"
)]
#[path = "../api/support/running.rs"]
mod running;
mod screenshots;
mod service;
mod sessions;
mod usage;
mod webhooks;
mod wording;

use browser::Browser;
use service::Service;

/// Whether the environment asks for the browser tests.
fn is_enabled() -> bool {
    std::env::var("TINTYPE_TEST_BROWSER").is_ok_and(|it| it == "1")
}

/// Runs a test with a new service and a browser with an empty profile.
fn browse<F: Future<Output = ()>>(test: impl FnOnce(Service, Browser) -> F) {
    browse_with(&[], test);
}

/// Like [`browse`], with settings of the service by the names of their environment variables.
fn browse_with<F: Future<Output = ()>>(
    settings: &[(&str, &str)],
    test: impl FnOnce(Service, Browser) -> F,
) {
    if is_enabled() {
        browse_at(Service::start(settings), test);
    }
}

/// Like [`browse_with`], with a single process whatever the environment asks for.
fn browse_alone<F: Future<Output = ()>>(
    settings: &[(&str, &str)],
    test: impl FnOnce(Service, Browser) -> F,
) {
    if is_enabled() {
        browse_at(Service::start_alone(settings), test);
    }
}

/// Runs a test with a service and a browser with an empty profile.
fn browse_at<F: Future<Output = ()>>(service: Service, test: impl FnOnce(Service, Browser) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let browser = Browser::start(&service.url).await;
        test(service, browser).await;
    });
}
