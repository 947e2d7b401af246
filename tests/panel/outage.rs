//! The panel while the service is down.

use crate::browse;
use serde_json::json;

/// Makes every call fail as if no server listened, while `away` is true.
const AWAY: &str = "window.away = true; const real = window.fetch;
    window.fetch = (...call) => window.away ? Promise.reject(new TypeError('no connection')) : real(...call);";

#[test]
fn a_page_that_failed_to_load_is_loaded_once_the_service_is_available() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.run(AWAY, vec![]).await;
        browser.run("location.hash = '#/ledger';", vec![]).await;
        browser.see("h1", "load this page").await;
        browser.see("p", "The panel retries").await;
        // The logo needs no request.
        let logo = "return Boolean(document.querySelector('.side .brand svg path')) && !document.querySelector('.brand img');";
        assert_eq!(browser.run(logo, vec![]).await, json!(true));
        browser.run("window.away = false;", vec![]).await;
        browser.see("h1", "Ledger").await;
        browser.see("p", "Balance").await;
        browser.leave().await;
        drop(service);
    });
}

/// Holds all calls back while `slow` is true.
const SLOW: &str = "window.slow = true; const real = window.fetch;
    window.fetch = async (...call) => { while (window.slow) await new Promise((wake) => setTimeout(wake, 20)); return real(...call); };";

#[test]
fn a_slow_page_shows_its_title_first() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.run(SLOW, vec![]).await;
        browser.run("location.hash = '#/all-usage';", vec![]).await;
        let said = "return document.querySelector('main .loading')?.innerText.split('\\n').filter(Boolean) ?? null;";
        let expected = json!(["Usage of all accounts", "Loading…"]);
        browser.comes_to(said, expected).await;
        browser.run("window.slow = false;", vec![]).await;
        browser.see("h2", "By account").await;
        browser.comes_to(said, json!(null)).await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_change_without_a_response_is_not_reported_as_failed() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/keys", "API keys").await;
        browser.press("New key").await;
        browser.fill("name", "website").await;
        browser.run(AWAY, vec![]).await;
        browser.press("Create key").await;
        browser.see("p", "The change may have been made").await;
        browser.leave().await;
        drop(service);
    });
}

/// While nodes are upgraded, each call of a page may meet another version.
#[test]
fn a_page_whose_scripts_are_missing_reloads_until_they_are_there() {
    browse(|service, browser| async move {
        browser.tools("Network.enable", json!({})).await;
        let block = |urls: serde_json::Value| {
            browser.tools("Network.setBlockedURLs", json!({"urls": urls}))
        };
        block(json!(["*/shell.js"])).await;
        browser.open("").await;
        browser.see("div", "A new version of Tintype").await;
        block(json!([])).await;
        browser.see("h1", "Sign in").await;
        let count = "return sessionStorage.getItem('tintype-reloads');";
        browser.comes_to(count, json!(null)).await;
        browser
            .run("sessionStorage.setItem('tintype-reloads', 15);", vec![])
            .await;
        block(json!(["*/shell.js"])).await;
        browser.client.refresh().await.unwrap();
        browser.see("div", "The panel could not start").await;
        browser.leave().await;
        drop(service);
    });
}
