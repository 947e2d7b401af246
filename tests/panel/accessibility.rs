//! Accessibility: axe finds no serious problem on any page or dialog, in either theme, on a large or a small screen.

use crate::browser::Browser;
use crate::pages::{PAGES, SCREENS, fill_account, resize, wait_until_loaded};
use crate::{browse, receiver};
use serde_json::json;

const CHECK: &str = "const done = arguments[arguments.length - 1];
    axe.run(document, { resultTypes: ['violations'] }).then((found) => done(found.violations
        .filter((it) => ['serious', 'critical'].includes(it.impact))
        .map((it) => it.id + ': ' + it.nodes.map((node) => node.target.join(' ') + ' ' + node.failureSummary).join('; '))));";

/// The text of the program axe.
pub fn axe() -> String {
    let axe = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/target/test-tools/npm/node_modules/axe-core/axe.min.js"
    );
    std::fs::read_to_string(axe).expect("axe-core: run tests/run, which installs it")
}

/// The problems that axe finds on the current page in its current state.
pub async fn problems(browser: &Browser, axe: &str, what: &str) -> Vec<String> {
    // Once per document: the script is large.
    if browser.run("return typeof axe;", vec![]).await == json!("undefined") {
        browser.run(axe, vec![]).await;
    }
    let found = browser.client.execute_async(CHECK, vec![]).await;
    let found = found.expect("axe runs");
    let found = found.as_array().cloned().unwrap_or_default();
    found.iter().map(|it| format!("{what}: {it}")).collect()
}

async fn problems_on_all_screens(
    browser: &Browser,
    axe: &str,
    what: &str,
    found: &mut Vec<String>,
) {
    for (width, height, size) in SCREENS {
        for theme in ["light", "dark"] {
            resize(browser, width, height, theme).await;
            wait_until_loaded(browser).await;
            let what = format!("{what}, {size}, {theme}");
            found.extend(problems(browser, axe, &what).await);
        }
    }
    let [(width, height, _), ..] = SCREENS;
    resize(browser, width, height, "light").await;
}

/// Asserts that axe finds no problem on the current page, in every theme and on every screen.
pub async fn assert_no_barriers(browser: &Browser, what: &str) {
    let mut found = Vec::new();
    problems_on_all_screens(browser, &axe(), what, &mut found).await;
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn no_page_and_no_dialog_has_a_serious_accessibility_problem() {
    browse(|service, browser| async move {
        let axe = axe();
        let mut found = Vec::new();
        let hook = receiver::answering("500 Oops", "{\"no\":1}");
        browser.open("").await;
        browser.see("h1", "Sign in as the operator").await;
        problems_on_all_screens(&browser, &axe, "Sign in as the operator", &mut found).await;
        browser.sign_in_as_operator().await;
        let places = fill_account(&browser, &hook, &["a fox"]).await;
        for (page, title) in PAGES {
            browser.go(&format!("#/{page}"), title).await;
            problems_on_all_screens(&browser, &axe, title, &mut found).await;
        }
        browser.go(&places.key, "the website").await;
        problems_on_all_screens(&browser, &axe, "A key", &mut found).await;
        browser.go("#/gallery", "Gallery").await;
        browser.press("Show: a fox").await;
        browser.see("button", "Copy prompt").await;
        problems_on_all_screens(&browser, &axe, "A large image", &mut found).await;
        browser.press("Close").await;
        browser.go(&places.batch, "Batch").await;
        browser.see("b", "HTTP 500").await;
        problems_on_all_screens(&browser, &axe, "A batch", &mut found).await;
        browser.go("#/batches", "Batches").await;
        crate::batches::choose_faulty(&browser).await;
        problems_on_all_screens(&browser, &axe, "A faulty file", &mut found).await;
        browser.go(&places.job, "Job").await;
        browser.press("Show request").await;
        browser.see("div", "X-Signature").await;
        problems_on_all_screens(&browser, &axe, "A job", &mut found).await;
        for (page, title, opens, heading) in [
            ("#/keys", "API keys", "New key", "New API key"),
            ("#/people", "People", "Invite", "Invite to"),
            ("#/accounts", "Accounts", "New account", "New account"),
            (
                "#/service",
                "Service",
                "Reason for pro",
                "Why is pro paused?",
            ),
        ] {
            browser.go(page, title).await;
            browser.press(opens).await;
            browser.see("h2", heading).await;
            problems_on_all_screens(&browser, &axe, heading, &mut found).await;
            browser.press("Cancel").await;
        }
        browser.press("Sign out").await;
        browser.see("h1", "Sign in").await;
        problems_on_all_screens(&browser, &axe, "Sign in", &mut found).await;
        browser.open(&places.invitation).await;
        browser.client.refresh().await.unwrap();
        browser.see("h1", "Welcome").await;
        problems_on_all_screens(&browser, &axe, "An invitation", &mut found).await;
        assert!(found.is_empty(), "{}", found.join("\n"));
        browser.leave().await;
        drop(service);
    });
}
