//! The panel for everybody: axe finds nothing serious on any page, in either theme.

use crate::browse;
use serde_json::json;

const PAGES: &[(&str, &str)] = &[
    ("#/overview", "Overview"),
    ("#/playground", "Playground"),
    ("#/jobs", "Jobs"),
    ("#/keys", "API keys"),
    ("#/webhooks", "Webhooks"),
    ("#/deliveries", "Deliveries"),
    ("#/ledger", "Ledger"),
    ("#/people", "People"),
    ("#/accounts", "Accounts"),
    ("#/service", "Service"),
    ("#/profile", "You"),
];

#[test]
fn no_page_has_a_serious_barrier() {
    browse(|service, browser| async move {
        let axe = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/target/test-tools/npm/node_modules/axe-core/axe.min.js"
        );
        let axe = std::fs::read_to_string(axe).expect("axe-core: run tests/run, which installs it");
        browser.open("").await;
        browser.see("h1", "Sign in").await;
        let check = "const done = arguments[arguments.length - 1];
            axe.run(document, { resultTypes: ['violations'] }).then((found) => done(found.violations
                .filter((it) => ['serious', 'critical'].includes(it.impact))
                .map((it) => it.id + ': ' + it.nodes.map((node) => node.target.join(' ') + ' ' + node.failureSummary).join('; '))));";
        let mut barriers = Vec::new();
        let mut places = vec![("#/sign-in", "Sign in")];
        places.extend(PAGES);
        for (place, title) in places {
            if title == "Overview" {
                browser.sign_in_as_operator().await;
            }
            browser.go(place, title).await;
            for theme in ["light", "dark"] {
                let turn = "document.documentElement.dataset.theme = arguments[0];";
                browser.run(turn, vec![json!(theme)]).await;
                browser.run(&axe, vec![]).await;
                let found = browser.client.execute_async(check, vec![]).await.unwrap();
                for barrier in found.as_array().cloned().unwrap_or_default() {
                    barriers.push(format!("{title}, {theme}: {barrier}"));
                }
            }
        }
        assert!(barriers.is_empty(), "{}", barriers.join("\n"));
        browser.leave().await;
        drop(service);
    });
}
