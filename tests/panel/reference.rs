//! The page at `/docs`: it renders both documents, and its console generates an image.

use crate::accessibility::{axe, problems};
use crate::browse;
use crate::browser::Browser;
use crate::service::{Service, TOKEN};
use serde_json::json;
use std::fs;

/// Creates an account with a key, and returns the key.
const KEY: &str = "const [token] = arguments, done = arguments[arguments.length - 1];
    const call = async (path, body) => {
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
      return (await fetch(`/admin/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json();
    };
    call('/accounts', { name: 'reader', balance: '5.00' })
      .then((it) => call(`/accounts/${it.account_id}/keys`, { name: 'reader' }))
      .then((it) => done(it.api_key), (error) => done(`failed: ${error}`));";

/// Hides the operations that consist of elements whose kinds earlier operations have, except the one named by the argument, and returns
/// how many it shows and hides. A kind is a path of tags with their classes and the names of their attributes. The style sheets, which
/// make the difference between screens and themes, tell two elements of a kind apart only by their position, for a margin and a width.
const HIDE_REPETITIONS: &str = "const seen = new Set();
    const own = (it) => [it.tagName, ...[...it.classList].sort(), ...it.getAttributeNames().sort()].join('.');
    const kinds = (it, above) => { const kind = `${above} > ${own(it)}`; return [kind, ...[...it.children].flatMap((child) => kinds(child, kind))]; };
    const [shown, hidden] = [[], []];
    const calls = [...document.querySelectorAll('article.call')];
    for (const it of calls.sort((a, b) => (b.id === arguments[0]) - (a.id === arguments[0]))) {
      const unseen = kinds(it, '').filter((kind) => !seen.has(kind));
      unseen.forEach((kind) => seen.add(kind));
      (unseen.length ? shown : hidden).push(it);
    }
    for (const it of hidden) it.style.display = 'none';
    return [shown.length, hidden.length];";

/// Shows all operations.
const SHOW_REPETITIONS: &str =
    "for (const it of document.querySelectorAll('article.call')) it.removeAttribute('style');";

async fn visit(service: &Service, browser: &Browser, place: &str) {
    let url = format!("{}/docs{place}", service.url);
    browser.client.goto(&url).await.expect("a page");
}

/// Enters the operator's token and waits for the operator's calls.
async fn enter_as_operator(service: &Service, browser: &Browser) {
    visit(service, browser, "#operator/").await;
    browser.client.refresh().await.expect("a page");
    let field = browser.find("//form//input[@id='secret']").await;
    field.send_keys(TOKEN).await.expect("a field");
    browser.press("Show reference").await;
    browser.see("h3", "Open an account").await;
}

#[test]
fn an_entered_key_generates_an_image_and_is_not_stored() {
    browse(|service, browser| async move {
        visit(&service, &browser, "").await;
        browser.see("h3", "Generate from a prompt with fast").await;
        let key = browser
            .client
            .execute_async(KEY, vec![json!(TOKEN)])
            .await
            .unwrap();
        let key = key.as_str().unwrap().to_owned();
        assert!(key.starts_with("tt_"), "{key}");

        // The form begins with the simplest call, which costs least.
        let body = "const [field, choice] = ['textarea', 'select[aria-label=Example]'].map((it) => document.querySelector(`#createProFromText ${it}`));
            return [Object.keys(JSON.parse(field.value)), [...choice.options].map((it) => it.textContent)];";
        let body = browser.run(body, vec![]).await;
        assert_eq!(
            body,
            json!([["prompt", "aspect_ratio"], ["Minimal", "Full"]])
        );
        browser.see("p", "4K 0.24 USD").await;
        let dry_run = "const it = document.querySelector('#createProFromText select[name=dry_run]');
            return [it.value, document.querySelector('#createProFromText pre').textContent.includes('dry_run')];";
        let dry_run = browser.run(dry_run, vec![]).await;
        assert_eq!(dry_run, json!(["false", false]));
        let call = "//article[@id='createFastFromText']";
        browser
            .find(&format!("{call}//summary[.='Try it']"))
            .await
            .click()
            .await
            .unwrap();
        let note = |words: &str| format!("{call}//p[contains(., '{words}')]");
        browser.find(&note("Enter your API key first")).await;
        let send = format!("{call}//button[.='Send']");
        browser.find(&send).await.click().await.unwrap();
        browser
            .find(&format!("{call}//p[@class='came']/span[.='401']"))
            .await;

        browser
            .find("//input[@id='secret']")
            .await
            .send_keys(&key)
            .await
            .unwrap();
        browser
            .find(&note("API key is sent with the request"))
            .await;
        browser.find(&send).await.click().await.unwrap();
        browser
            .find(&format!("{call}//p[@class='came']/span[.='202']"))
            .await;
        browser.press("Wait for the image").await;
        browser
            .find(&format!("{call}//figure[@class='image']/img"))
            .await;
        let shown = "const it = document.querySelector('.image img'); return it.complete ? it.naturalWidth : 0;";
        let mut width = json!(0);
        while width == json!(0) {
            width = browser.run(shown, vec![]).await;
        }
        assert!(width.as_u64().unwrap() > 1_000, "{width}");
        shoot(&browser, "reference-console").await;

        let kept = "return JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]);";
        let kept = browser.run(kept, vec![]).await.to_string();
        assert!(!kept.contains("tt_"), "{kept}");
        browser.client.refresh().await.unwrap();
        let field = browser.find("//input[@id='secret']").await;
        assert_eq!(field.prop("value").await.unwrap().as_deref(), Some(""));
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn the_operator_reference_is_shown_only_with_the_token() {
    browse(|service, browser| async move {
        visit(&service, &browser, "#operator/").await;
        browser.see("h1", "Operator API").await;
        browser
            .find("//form//input[@id='secret']")
            .await
            .send_keys("nonsense")
            .await
            .unwrap();
        browser.press("Show reference").await;
        browser.see("p", "the operator token is not valid").await;
        let text = browser.text().await;
        assert!(!text.contains("Open an account"), "{text}");
        enter_as_operator(&service, &browser).await;
        let call = "//article[@id='showStats']";
        browser
            .find(&format!("{call}//summary[.='Try it']"))
            .await
            .click()
            .await
            .unwrap();
        browser
            .find(&format!("{call}//button[.='Send']"))
            .await
            .click()
            .await
            .unwrap();
        browser
            .find(&format!("{call}//p[@class='came']/span[.='200']"))
            .await;
        browser
            .find(&format!("{call}//span[.='\"webhooks_pending\"']"))
            .await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn an_operation_is_found_by_its_title() {
    browse(|service, browser| async move {
        visit(&service, &browser, "").await;
        let field = browser.find("//input[@type='search']").await;
        field.send_keys("cancel a job").await.unwrap();
        let links = "return [...document.querySelectorAll('.index a')].filter((it) => it.offsetParent).map((it) => it.hash);";
        assert_eq!(
            browser.run(links, vec![]).await,
            json!(["#clients/cancelJob"])
        );
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn the_page_fits_the_screen_and_has_no_serious_accessibility_problem() {
    browse(|service, browser| async move {
        let axe = axe();
        let mut barriers = Vec::new();
        for name in ["clients", "operator"] {
            match name {
                "operator" => enter_as_operator(&service, &browser).await,
                _ => {
                    visit(&service, &browser, "").await;
                    browser.see("h3", "Get a job").await;
                }
            }
            for (width, height, size) in [(1440, 900, "wide"), (390, 844, "narrow")] {
                for theme in ["light", "dark"] {
                    let screen = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
                    browser
                        .tools("Emulation.setDeviceMetricsOverride", screen)
                        .await;
                    let colours =
                        json!({"features": [{"name": "prefers-color-scheme", "value": theme}]});
                    browser.tools("Emulation.setEmulatedMedia", colours).await;
                    let seen = browser
                        .run("return document.documentElement.scrollWidth;", vec![])
                        .await;
                    assert!(
                        seen.as_u64().unwrap() <= width,
                        "{name}, {size}: {seen} pixels wide"
                    );
                    browser.run("scrollTo(0, 0);", vec![]).await;
                    shoot(&browser, &format!("reference-{name}-top-{size}-{theme}")).await;
                    let call = if name == "clients" {
                        "createProFromText"
                    } else {
                        "createKey"
                    };
                    let go = "const it = document.getElementById(arguments[0]); it.scrollIntoView();
                        for (const answer of it.querySelectorAll('.answer')) answer.open = answer.innerText.startsWith('202') || answer.innerText.startsWith('402');";
                    browser.run(go, vec![json!(call)]).await;
                    shoot(&browser, &format!("reference-{name}-call-{size}-{theme}")).await;
                    let what = format!("{name}, {size}, {theme}");
                    // Once with each operation, for what differs between those of a kind: names, roles and ids. A check of all of them
                    // takes axe up to its timeout on a busy machine.
                    let is_first = (size, theme) == ("wide", "light");
                    if !is_first {
                        let counts = browser.run(HIDE_REPETITIONS, vec![json!(call)]).await;
                        println!("{what}: {counts}");
                    }
                    barriers.extend(problems(&browser, &axe, &what).await);
                    browser.run(SHOW_REPETITIONS, vec![]).await;
                }
            }
            browser
                .tools("Emulation.clearDeviceMetricsOverride", json!({}))
                .await;
        }
        assert!(barriers.is_empty(), "{}", barriers.join("\n"));
        browser.leave().await;
        drop(service);
    });
}

/// Saves a screenshot for review in target/panel.
async fn shoot(browser: &Browser, name: &str) {
    let shots = concat!(env!("CARGO_MANIFEST_DIR"), "/target/panel");
    fs::create_dir_all(shots).unwrap();
    fs::write(format!("{shots}/{name}.png"), browser.screen().await).unwrap();
}
