//! Accessibility: axe finds no serious problem on a page or dialog, in either theme, on a large or a small screen. The walk of
//! screenshots.rs checks all of them.

use crate::browser::Browser;
use crate::pages::{SCREENS, resize, wait_until_loaded};
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

/// Asserts that axe finds no problem on the current page, in every theme and on every screen.
pub async fn assert_no_barriers(browser: &Browser, what: &str) {
    let (axe, mut found) = (axe(), Vec::new());
    for (width, height, size) in SCREENS {
        for theme in ["light", "dark"] {
            resize(browser, width, height, theme).await;
            wait_until_loaded(browser).await;
            let what = format!("{what}, {size}, {theme}");
            found.extend(problems(browser, &axe, &what).await);
        }
    }
    let [(width, height, _), ..] = SCREENS;
    resize(browser, width, height, "light").await;
    assert_eq!(found, Vec::<String>::new());
}
