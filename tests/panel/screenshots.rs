//! Screenshots of every page for review: target/panel. No page may be wider than the screen, in either theme. Each page is saved once,
//! because a screenshot takes longer than the check; with `TINTYPE_TEST_SCREENSHOTS=1`, on each screen in each theme.
//! `readme-*.png` are the screenshots of the README.

use crate::browser::Browser;
use crate::calls::calls;
use crate::pages::{PAGES, SCREENS, fill_account, resize, wait_until_loaded};
use crate::receiver::PIXEL;
use crate::{browse, receiver};
use serde_json::json;
use std::fs;

const SHOTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/panel");
const PROMPTS: &[&str] = &[
    "a red fox in the snow at dusk",
    "a lighthouse on a cliff in a storm",
    "city skyline at night",
    "portrait of an old sailor",
    "mountains reflected in a lake at dawn",
    "a hot air balloon over green hills",
];

/// Whether the page is saved as it looks on this screen in this theme.
fn is_saved(size: &str, theme: &str) -> bool {
    (size, theme) == ("wide", "light")
        || std::env::var("TINTYPE_TEST_SCREENSHOTS").is_ok_and(|it| it == "1")
}

/// Asserts that the page fits each screen in each theme, and saves screenshots of the whole page.
async fn shoot_page(browser: &Browser, name: &str) {
    for (width, height, size) in SCREENS {
        for theme in ["light", "dark"] {
            resize(browser, width, height, theme).await;
            let wide = wait_until_loaded(browser).await;
            assert!(wide <= width, "{name}, {size}: {wide} pixels wide");
            if is_saved(size, theme) {
                let path = format!("{SHOTS}/{name}-{size}-{theme}.png");
                fs::write(path, browser.screenshot().await).unwrap();
            }
        }
    }
    let [(width, height, _), ..] = SCREENS;
    resize(browser, width, height, "light").await;
}

/// Loads the page on each screen in each theme, and saves screenshots of the viewport.
async fn shoot_screen(browser: &Browser, name: &str) {
    for (width, height, size) in SCREENS {
        for theme in ["light", "dark"] {
            resize(browser, width, height, theme).await;
            wait_until_loaded(browser).await;
            if is_saved(size, theme) {
                let path = format!("{SHOTS}/{name}-{size}-{theme}.png");
                fs::write(path, browser.screen().await).unwrap();
            }
        }
    }
    let [(width, height, _), ..] = SCREENS;
    resize(browser, width, height, "light").await;
}

#[test]
fn every_page_fits_the_screen_and_is_saved_as_a_screenshot() {
    browse(|mut service, browser| async move {
        fs::create_dir_all(SHOTS).unwrap();
        let hook = receiver::answering("200 OK", "{\"ok\":true}");
        browser.open("").await;
        browser.see("h1", "Sign in").await;
        shoot_page(&browser, "sign-in").await;
        browser.sign_in_as_operator().await;
        let places = fill_account(&browser, &hook, PROMPTS).await;
        // The screenshots of the README show no pointer and no scroll bars, which disappear with the next layout.
        let hidden = json!({"hidden": true});
        browser.tools("Emulation.setScrollbarsHidden", hidden).await;
        let corner = json!({"type": "mouseMoved", "x": 1, "y": 1});
        browser.tools("Input.dispatchMouseEvent", corner).await;
        resize(&browser, 390, 844, "light").await;
        resize(&browser, 1360, 900, "light").await;
        browser.run("scrollTo(0, 0)", vec![]).await;
        wait_until_loaded(&browser).await;
        fs::write(
            format!("{SHOTS}/readme-playground.png"),
            browser.screen().await,
        )
        .unwrap();
        shoot_page(&browser, "playground-made").await;
        browser.go("#/overview", "Overview").await;
        wait_until_loaded(&browser).await;
        fs::write(
            format!("{SHOTS}/readme-overview.png"),
            browser.screen().await,
        )
        .unwrap();
        for (page, title) in PAGES {
            browser.go(&format!("#/{page}"), title).await;
            shoot_page(&browser, page).await;
        }
        browser.go(&places.key, "the website").await;
        shoot_page(&browser, "key").await;
        browser.go("#/gallery", "Gallery").await;
        browser
            .press("Show: a lighthouse on a cliff in a storm")
            .await;
        browser.see("button", "Copy prompt").await;
        shoot_screen(&browser, "lightbox").await;
        browser.press("Close").await;
        for prompt in &PROMPTS[..2] {
            let box_of = format!("//label[input[@aria-label='Compare: {prompt}']]");
            browser.press_in(&box_of).await;
        }
        shoot_page(&browser, "gallery-chosen").await;
        browser.press("Compare").await;
        browser.see("b", "Compare").await;
        shoot_screen(&browser, "compare").await;
        browser.press("Close").await;
        browser.go(&places.batch, "Batch").await;
        browser.see("b", "HTTP 200").await;
        shoot_page(&browser, "batch").await;
        browser.go("#/batches", "Batches").await;
        crate::batches::choose_faulty(&browser).await;
        shoot_page(&browser, "batch-faults").await;
        browser.go(&places.job, "Job").await;
        browser.see("b", "HTTP 200").await;
        browser.press("Show request").await;
        browser.see("div", "X-Signature").await;
        shoot_page(&browser, "job").await;
        browser
            .find("//code[contains(@class, 'wrap')][ancestor::details]")
            .await;
        // In one step, because the page may redraw itself between a search and a read.
        let read = "return document.querySelector('details code.wrap').textContent;";
        let delivery = browser.run(read, vec![]).await;
        let delivery = delivery.as_str().unwrap().to_owned();
        browser
            .go(&format!("#/deliveries?open={delivery}"), "Deliveries")
            .await;
        browser.see("b", "HTTP 200").await;
        shoot_page(&browser, "delivery").await;
        let image = receiver::serving("image/png", PIXEL);
        let script = format!(
            "return make(base, {{ prompt: 'the same in blue', aspect_ratio: '1:1', metadata: {{ order: 4711 }}, input_images_urls: ['{image}'] }});"
        );
        let job = calls(&browser, &script).await;
        let again = format!("#/playground?again={}", job["job_id"].as_str().unwrap());
        browser.go(&again, "Playground").await;
        browser.see("div", "The input image was deleted").await;
        shoot_page(&browser, "playground-again").await;
        browser.go("#/keys", "API keys").await;
        browser.press("New key").await;
        browser.see("h2", "New API key").await;
        shoot_page(&browser, "dialog").await;
        browser.press("Cancel").await;
        resize(&browser, 390, 844, "light").await;
        browser.press("Menu").await;
        browser.see("a", "Audit log").await;
        // The drawer slides in.
        let rest = "const done = arguments[0]; Promise.all(document.getAnimations().map((it) => it.finished)).then(() => done(0));";
        browser.client.execute_async(rest, vec![]).await.unwrap();
        fs::write(
            format!("{SHOTS}/menu-narrow-light.png"),
            browser.screen().await,
        )
        .unwrap();
        browser.press("Sign out").await;
        browser.see("h1", "Sign in").await;
        browser.open(&places.invitation).await;
        browser.client.refresh().await.unwrap();
        browser.see("h1", "Welcome").await;
        shoot_page(&browser, "invitation").await;

        browser.client.goto("about:blank").await.unwrap();
        browser.sign_in_as_operator().await;
        browser.go("#/ledger", "Ledger").await;
        wait_until_loaded(&browser).await;
        let complaints = browser.complaints().await;
        assert!(complaints.is_empty(), "{}", complaints.join("\n"));
        service.end();
        browser.see("div", "Connection lost").await;
        shoot_page(&browser, "not-live").await;
    });
}
