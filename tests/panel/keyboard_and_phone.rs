//! The panel by keyboard, on a phone, and as a viewer.

use crate::browse;
use crate::browser::Browser;
use crate::pages::resize;
use crate::service::TOKEN;
use fantoccini::actions::{InputSource as _, KeyAction, KeyActions};
use serde_json::{Value, json};

const TAB: &str = "\u{e004}";
const ENTER: &str = "\u{e007}";
const SPACE: &str = "\u{e00d}";
pub const ESCAPE: &str = "\u{e00c}";

/// The accessible name of the focused element.
const FOCUSED_NAME: &str = "const it = document.activeElement;
    return it.getAttribute('aria-label') ?? it.closest('label')?.innerText ?? it.labels?.[0]?.innerText ?? it.innerText ?? it.localName;";

async fn focused_name(browser: &Browser) -> String {
    let name = browser.run(FOCUSED_NAME, vec![]).await;
    name.as_str().unwrap_or_default().trim().to_owned()
}

/// Sends key presses to the page. Sending them to an element differs: a date field takes them as its value.
pub async fn press_keys(browser: &Browser, keys: &str) {
    let press = |actions: KeyActions, value| {
        let actions = actions.then(KeyAction::Down { value });
        actions.then(KeyAction::Up { value })
    };
    let actions = keys.chars().fold(KeyActions::new("keyboard".into()), press);
    let pressed = browser.client.perform_actions(actions).await;
    pressed.expect("the keys");
}

/// Presses Tab until the element with this name has the focus.
async fn tab_to(browser: &Browser, name: &str) {
    let mut passed = Vec::new();
    for _ in 0..80 {
        let here = focused_name(browser).await;
        if here == name {
            return;
        }
        passed.push(here);
        press_keys(browser, TAB).await;
    }
    panic!("{name} is not reached; passed {passed:?}");
}

/// Asserts that the focus is visible.
async fn assert_seen(browser: &Browser) {
    let seen = "const it = document.activeElement, box = it.getBoundingClientRect(), style = getComputedStyle(it);
        const near = it.parentElement ? getComputedStyle(it.nextElementSibling ?? it.parentElement) : style;
        return { wide: box.width > 0 && box.height > 0, marked: style.outlineStyle !== 'none' || near.outlineStyle !== 'none', name: it.outerHTML.slice(0, 200) };";
    let found = browser.run(seen, vec![]).await;
    assert_eq!(found["wide"], true, "{found}");
    assert_eq!(found["marked"], true, "{found}");
}

#[test]
fn everything_is_reached_by_the_keyboard_alone() {
    browse(|service, browser| async move {
        browser.open("").await;
        // The service has no people, so the form of the operator is first.
        browser.see("h1", "Sign in as the operator").await;
        tab_to(&browser, "Sign in with email and password").await;
        assert_seen(&browser).await;
        press_keys(&browser, ENTER).await;
        browser.find("//h1[.='Sign in']").await;
        tab_to(&browser, "Sign in as the operator").await;
        assert_seen(&browser).await;
        press_keys(&browser, ENTER).await;
        browser.see("h1", "Sign in as the operator").await;
        assert_eq!(focused_name(&browser).await, "Operator token");
        press_keys(&browser, &format!("{TOKEN}{ENTER}")).await;
        browser.see("h1", "Overview").await;

        // The first link skips the menu.
        browser
            .run(
                "document.activeElement.blur(); document.body.focus();",
                vec![],
            )
            .await;
        tab_to(&browser, "Skip to content").await;
        press_keys(&browser, ENTER).await;
        let at = "return document.activeElement.id;";
        browser.comes_to(at, json!("main")).await;

        browser.go("#/keys", "API keys").await;
        tab_to(&browser, "New key").await;
        assert_seen(&browser).await;
        press_keys(&browser, ENTER).await;
        browser.see("h2", "New API key").await;
        assert_eq!(focused_name(&browser).await, "Name");
        press_keys(&browser, "by hand").await;
        tab_to(&browser, "pro").await;
        assert_seen(&browser).await;
        press_keys(&browser, SPACE).await;
        tab_to(&browser, "Create key").await;
        press_keys(&browser, ENTER).await;
        browser.see("h2", "Your new key").await;
        press_keys(&browser, ESCAPE).await;
        browser.see("td", "by hand").await;
        browser.see("td", "fast, quality").await;

        // The arrow keys move between tabs, and Tab stops once at all of them.
        browser.go("#/webhooks", "Webhooks").await;
        tab_to(&browser, "Python").await;
        press_keys(&browser, "\u{e014}").await;
        assert_eq!(focused_name(&browser).await, "JavaScript");
        browser
            .find("//div[@role='tabpanel' and @aria-labelledby=//button[.='JavaScript']/@id]//code[contains(., 'node:crypto')]")
            .await;
        press_keys(&browser, TAB).await;
        assert_ne!(focused_name(&browser).await, "Go");

        // A refresh of the page keeps the focus on a switch.
        browser.go("#/service", "Service").await;
        tab_to(&browser, "Pause pro").await;
        press_keys(&browser, SPACE).await;
        browser.see("h2", "Pause pro?").await;
        press_keys(&browser, &format!("repairs{ENTER}")).await;
        browser.see("div", "paused: repairs").await;
        browser
            .run("document.querySelector('[name=pause-pro]').focus()", vec![])
            .await;
        let redrawn = "document.querySelector('[name=pause-pro]').dataset.old = '1'";
        browser.run(redrawn, vec![]).await;
        let pause = "fetch('/panel/api/pause', { method: 'PUT', headers: { 'X-Tintype-Panel': '1', 'Content-Type': 'application/json' }, body: '{\"tiers\":{\"fast\":true,\"pro\":true}}' })";
        browser.run(pause, vec![]).await;
        browser
            .find("//input[@name='pause-pro' and not(@data-old)]")
            .await;
        let name = "return document.activeElement.name ?? '';";
        browser.comes_to(name, json!("pause-pro")).await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn on_a_phone_the_menu_opens_closes_and_navigates() {
    browse(|service, browser| async move {
        resize(&browser, 390, 844, "light").await;
        browser.sign_in_as_operator().await;
        let open = "return document.querySelector('.frame').classList.contains('drawer-open');";
        browser.press("Menu").await;
        assert_eq!(browser.run(open, vec![]).await, json!(true));
        press_keys(&browser, ESCAPE).await;
        assert_eq!(browser.run(open, vec![]).await, json!(false));
        assert_eq!(focused_name(&browser).await, "Menu");
        // By the keyboard: the focus moves into the drawer, stays there, and returns to the button.
        press_keys(&browser, ENTER).await;
        let inside = "return document.querySelector('.side').contains(document.activeElement);";
        browser.comes_to(inside, json!(true)).await;
        assert_eq!(focused_name(&browser).await, "Overview");
        let outside = "return document.activeElement !== document.body && !document.querySelector('.side').contains(document.activeElement);";
        for _ in 0..30 {
            press_keys(&browser, TAB).await;
            assert_eq!(browser.run(outside, vec![]).await, json!(false));
        }
        browser
            .run("document.querySelector('.nav a').focus()", vec![])
            .await;
        press_keys(&browser, ESCAPE).await;
        assert_eq!(browser.run(open, vec![]).await, json!(false));
        assert_eq!(focused_name(&browser).await, "Menu");
        // A wider window has no drawer.
        press_keys(&browser, ENTER).await;
        resize(&browser, 1280, 800, "light").await;
        browser
            .comes_to("return document.querySelector('main').inert;", json!(false))
            .await;
        resize(&browser, 390, 844, "light").await;
        browser.press("Menu").await;
        browser.press("Ledger").await;
        browser.see("h1", "Ledger").await;
        assert_eq!(browser.run(open, vec![]).await, json!(false));
        // Every target is large enough or has enough space around it (WCAG 2.2, 2.5.8).
        let small = "return [...document.querySelectorAll('main button, main a.button, .bar button')]
            .map((it) => [it.innerText || it.getAttribute('aria-label'), it.getBoundingClientRect()])
            .filter(([, box]) => box.width && (box.width < 24 || box.height < 24)).map(([name]) => name);";
        for (page, title) in crate::pages::PAGES {
            browser.go(&format!("#/{page}"), title).await;
            crate::pages::wait_until_loaded(&browser).await;
            assert_eq!(browser.run(small, vec![]).await, json!([]), "{title}");
        }
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn escape_returns_the_focus_from_a_menu_that_was_redrawn_to_its_button() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/accounts", "Accounts").await;
        tab_to(&browser, "More actions for default").await;
        press_keys(&browser, ENTER).await;
        let open = "return document.querySelectorAll(':popover-open').length;";
        browser.comes_to(open, json!(1)).await;
        // The new row arrives while the menu is open.
        let add = "fetch('/panel/api/accounts', { method: 'POST', headers: { 'X-Tintype-Panel': '1', 'Content-Type': 'application/json' }, body: '{\"name\":\"second\"}' });";
        browser.run(add, vec![]).await;
        browser.see("td", "second").await;
        browser.comes_to(open, json!(1)).await;
        press_keys(&browser, ESCAPE).await;
        browser.comes_to(open, json!(0)).await;
        let focused = "return document.activeElement.getAttribute('aria-label');";
        browser
            .comes_to(focused, json!("More actions for default"))
            .await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_viewer_sees_everything_and_is_offered_no_change() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/people", "People").await;
        browser.press("Invite").await;
        let long = "somebody-with-a-rather-long-name@pictures.example.com";
        browser.fill("email", long).await;
        browser
            .run(
                "document.querySelector('dialog select').value = 'viewer'",
                vec![],
            )
            .await;
        let invitation = browser.create_invitation().await;
        browser.follow_invitation(&invitation).await;
        browser.fill("password", "a few words to keep").await;
        browser.press("Set password").await;
        browser.see("h1", "Overview").await;
        // A viewer may copy and load more.
        let offered = "return [...document.querySelectorAll('main button, main a.button')].map((it) => it.innerText.trim())
            .filter((it) => !['Copy', 'Show more', 'Download CSV', '24 h', '14 days', '30 days', '90 days'].includes(it) && !['Python', 'JavaScript', 'Go', 'Ruby', 'PHP'].includes(it));";
        for (page, title) in [
            ("overview", "Overview"),
            ("playground", "Playground"),
            ("gallery", "Gallery"),
            ("jobs", "Jobs"),
            ("batches", "Batches"),
            ("keys", "API keys"),
            ("webhooks", "Webhooks"),
            ("deliveries", "Deliveries"),
            ("ledger", "Ledger"),
            ("people", "People"),
        ] {
            browser.go(&format!("#/{page}"), title).await;
            crate::pages::wait_until_loaded(&browser).await;
            assert_eq!(browser.run(offered, vec![]).await, json!([]), "{title}");
        }
        // "Sign out" stays on the screen, however long the email address is.
        let out = "return document.querySelector('[aria-label=\"Sign out\"]').getBoundingClientRect().right <= document.querySelector('.side').getBoundingClientRect().right;";
        assert_eq!(browser.run(out, vec![]).await, json!(true));
        // An operator's page redirects to the viewer's own first page.
        browser.go("#/audit", "Overview").await;
        let menu =
            "return [...document.querySelectorAll('.nav a')].map((it) => it.innerText.trim());";
        let menu = browser.run(menu, vec![]).await;
        let operators = |it: &Value| {
            ["Accounts", "Service", "Audit log"]
                .iter()
                .any(|name| it == name)
        };
        assert!(!menu.as_array().unwrap().iter().any(operators), "{menu}");
        browser.leave().await;
        drop(service);
    });
}
