//! The panel for everybody: axe finds nothing serious on any page or dialog, in either theme, on a large screen or a small one.

use crate::browser::Browser;
use crate::pages::{PAGES, SCREENS, as_on, furnish, settle};
use crate::{browse, receiver};

const CHECK: &str = "const done = arguments[arguments.length - 1];
    axe.run(document, { resultTypes: ['violations'] }).then((found) => done(found.violations
        .filter((it) => ['serious', 'critical'].includes(it.impact))
        .map((it) => it.id + ': ' + it.nodes.map((node) => node.target.join(' ') + ' ' + node.failureSummary).join('; '))));";

fn axe() -> String {
    let axe = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/target/test-tools/npm/node_modules/axe-core/axe.min.js"
    );
    std::fs::read_to_string(axe).expect("axe-core: run tests/run, which installs it")
}

/// What is in somebody's way on the page that is shown, as it is shown.
async fn barriers(browser: &Browser, axe: &str, what: &str) -> Vec<String> {
    browser.run(axe, vec![]).await;
    let found = browser.client.execute_async(CHECK, vec![]).await;
    let found = found.expect("axe runs");
    let found = found.as_array().cloned().unwrap_or_default();
    found.iter().map(|it| format!("{what}: {it}")).collect()
}

async fn in_all_lights(browser: &Browser, axe: &str, what: &str, found: &mut Vec<String>) {
    for (width, height, size) in SCREENS {
        for theme in ["light", "dark"] {
            as_on(browser, width, height, theme).await;
            settle(browser).await;
            let what = format!("{what}, {size}, {theme}");
            found.extend(barriers(browser, axe, &what).await);
        }
    }
    let [(width, height, _), ..] = SCREENS;
    as_on(browser, width, height, "light").await;
}

/// Axe finds nothing on the page that is shown, in any light and on any screen.
pub async fn assert_no_barriers(browser: &Browser, what: &str) {
    let mut found = Vec::new();
    in_all_lights(browser, &axe(), what, &mut found).await;
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn no_page_and_no_dialog_has_a_serious_barrier() {
    browse(|service, browser| async move {
        let axe = axe();
        let mut found = Vec::new();
        let hook = receiver::answering("500 Oops", "{\"no\":1}");
        browser.open("").await;
        browser.see("h1", "Sign in").await;
        in_all_lights(&browser, &axe, "Sign in", &mut found).await;
        browser.sign_in_as_operator().await;
        let places = furnish(&browser, &hook, &["a fox"]).await;
        for (page, title) in PAGES {
            browser.go(&format!("#/{page}"), title).await;
            in_all_lights(&browser, &axe, title, &mut found).await;
        }
        browser.go(&places.key, "the website").await;
        in_all_lights(&browser, &axe, "A key", &mut found).await;
        browser.go("#/gallery", "Gallery").await;
        browser.press("Show: a fox").await;
        browser.see("button", "Copy prompt").await;
        in_all_lights(&browser, &axe, "A large image", &mut found).await;
        browser.press("Close").await;
        browser.go(&places.batch, "Batch").await;
        browser.see("b", "HTTP 500").await;
        in_all_lights(&browser, &axe, "A batch", &mut found).await;
        browser.go("#/batches", "Batches").await;
        crate::batches::choose_faulty(&browser).await;
        in_all_lights(&browser, &axe, "A faulty file", &mut found).await;
        browser.go(&places.job, "Job").await;
        browser.press("Show request").await;
        browser.see("div", "X-Signature").await;
        in_all_lights(&browser, &axe, "A job", &mut found).await;
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
            in_all_lights(&browser, &axe, heading, &mut found).await;
            browser.press("Cancel").await;
        }
        browser.press("Sign out").await;
        browser.see("h1", "Sign in").await;
        browser.open(&places.invitation).await;
        browser.client.refresh().await.unwrap();
        browser.see("h1", "Welcome").await;
        in_all_lights(&browser, &axe, "An invitation", &mut found).await;
        assert!(found.is_empty(), "{}", found.join("\n"));
        browser.leave().await;
        drop(service);
    });
}
