//! One walk through all pages and dialogs. On every screen and in either theme, none is wider than the screen, and axe finds no serious
//! problem. Each is saved once in target/panel for review, because a screenshot takes longer than the checks; with
//! `TINTYPE_TEST_SCREENSHOTS=1`, on each screen in each theme.
//! `readme-*.png` are the screenshots of the README.

use crate::accessibility::{axe, problems};
use crate::browser::Browser;
use crate::calls::calls;
use crate::pages::{BATCH, PAGES, SCREENS, fill_account, resize, wait_until_loaded};
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

/// What all places are checked with, and what is found.
struct Walk<'a> {
    browser: &'a Browser,
    axe: String,
    problems: Vec<String>,
}

impl Walk<'_> {
    /// Checks the place that the browser shows, and saves screenshots of the whole page.
    async fn page(&mut self, name: &str) {
        self.place(name, false).await;
    }

    /// The same with screenshots of the viewport, for a dialog that fills it.
    async fn screen(&mut self, name: &str) {
        self.place(name, true).await;
    }

    async fn place(&mut self, name: &str, is_viewport: bool) {
        let browser = self.browser;
        for (width, height, size) in SCREENS {
            for theme in ["light", "dark"] {
                resize(browser, width, height, theme).await;
                let wide = wait_until_loaded(browser).await;
                let what = format!("{name}, {size}, {theme}");
                assert!(wide <= width, "{what}: {wide} pixels wide");
                let found = problems(browser, &self.axe, &what).await;
                self.problems.extend(found);
                if is_saved(size, theme) {
                    let path = format!("{SHOTS}/{name}-{size}-{theme}.png");
                    let saved = match is_viewport {
                        true => browser.screen().await,
                        false => browser.screenshot().await,
                    };
                    fs::write(path, saved).unwrap();
                }
            }
        }
        let [(width, height, _), ..] = SCREENS;
        resize(browser, width, height, "light").await;
    }
}

/// The pages of a job and of a batch whose deliveries a receiver refuses. The webhook sends to that receiver only meanwhile.
async fn make_refused(browser: &Browser) -> [String; 2] {
    let hook = receiver::answering("500 Oops", "{\"no\":1}");
    let script = format!(
        "const [webhook] = (await send('GET', base + '/webhooks')).data;
         const move = (url) => send('PATCH', base + '/webhooks/' + webhook.webhook_id, {{ url }});
         const attempted = async (find) => {{ while (!(await find())?.attempts.length) await new Promise((wake) => setTimeout(wake, 50)); }};
         await move('{hook}');
         {BATCH}
         const ended = await batch(send, base);
         await attempted(async () => (await send('GET', base + '/batches/' + ended)).delivery);
         const job = await make(base, {{ prompt: 'a fox', aspect_ratio: '1:1' }});
         await attempted(async () => (await send('GET', base + '/deliveries?job_id=' + job.job_id)).data[0]);
         await move(webhook.url);
         return {{ job: '#/jobs/' + job.job_id, batch: '#/batches/' + ended }};"
    );
    let made = calls(browser, &script).await;
    ["job", "batch"].map(|it| made[it].as_str().unwrap().to_owned())
}

#[test]
fn every_page_and_dialog_fits_the_screen_has_no_serious_accessibility_problem_and_is_saved() {
    browse(|mut service, browser| async move {
        fs::create_dir_all(SHOTS).unwrap();
        let hook = receiver::answering("200 OK", "{\"ok\":true}");
        let mut walk = Walk {
            browser: &browser,
            axe: axe(),
            problems: Vec::new(),
        };
        browser.open("").await;
        browser.see("h1", "Sign in as the operator").await;
        walk.page("sign-in").await;
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
        walk.page("playground-made").await;
        browser.go("#/overview", "Overview").await;
        wait_until_loaded(&browser).await;
        fs::write(
            format!("{SHOTS}/readme-overview.png"),
            browser.screen().await,
        )
        .unwrap();
        let [refused_job, refused_batch] = make_refused(&browser).await;
        for (page, title) in PAGES {
            browser.go(&format!("#/{page}"), title).await;
            walk.page(page).await;
        }
        browser.go(&places.key, "the website").await;
        walk.page("key").await;
        browser.go("#/gallery", "Gallery").await;
        browser
            .press("Show: a lighthouse on a cliff in a storm")
            .await;
        browser.see("button", "Copy prompt").await;
        walk.screen("lightbox").await;
        browser.press("Close").await;
        for prompt in &PROMPTS[..2] {
            let box_of = format!("//label[input[@aria-label='Compare: {prompt}']]");
            browser.press_in(&box_of).await;
        }
        walk.page("gallery-chosen").await;
        browser.press("Compare").await;
        browser.see("b", "Compare").await;
        walk.screen("compare").await;
        browser.press("Close").await;
        browser.go(&places.batch, "Batch").await;
        browser.see("b", "HTTP 200").await;
        walk.page("batch").await;
        browser.go(&refused_batch, "Batch").await;
        browser.see("b", "HTTP 500").await;
        walk.page("batch-refused").await;
        browser.go("#/batches", "Batches").await;
        crate::batches::choose_faulty(&browser).await;
        walk.page("batch-faults").await;
        browser.go(&refused_job, "Job").await;
        browser.see("b", "HTTP 500").await;
        browser.press("Show request").await;
        browser.see("div", "X-Signature").await;
        walk.page("job-refused").await;
        browser.go(&places.job, "Job").await;
        browser.see("b", "HTTP 200").await;
        browser.press("Show request").await;
        browser.see("div", "X-Signature").await;
        walk.page("job").await;
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
        walk.page("delivery").await;
        let image = receiver::serving("image/png", PIXEL);
        let script = format!(
            "return make(base, {{ prompt: 'the same in blue', aspect_ratio: '1:1', metadata: {{ order: 4711 }}, input_images_urls: ['{image}'] }});"
        );
        let job = calls(&browser, &script).await;
        let again = format!("#/playground?again={}", job["job_id"].as_str().unwrap());
        browser.go(&again, "Playground").await;
        browser.see("div", "The input image was deleted").await;
        walk.page("playground-again").await;
        for (name, page, title, opens, heading) in [
            ("dialog", "#/keys", "API keys", "New key", "New API key"),
            ("invite", "#/people", "People", "Invite", "Invite to"),
            (
                "new-account",
                "#/accounts",
                "Accounts",
                "New account",
                "New account",
            ),
            (
                "reason",
                "#/service",
                "Service",
                "Reason for pro",
                "Why is pro paused?",
            ),
        ] {
            browser.go(page, title).await;
            browser.press(opens).await;
            browser.see("h2", heading).await;
            walk.page(name).await;
            browser.press("Cancel").await;
        }
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
        walk.page("signed-out").await;
        browser.open(&places.invitation).await;
        browser.client.refresh().await.unwrap();
        browser.see("h1", "Welcome").await;
        walk.page("invitation").await;

        browser.client.goto("about:blank").await.unwrap();
        browser.sign_in_as_operator().await;
        browser.go("#/ledger", "Ledger").await;
        wait_until_loaded(&browser).await;
        let complaints = browser.complaints().await;
        assert!(complaints.is_empty(), "{}", complaints.join("\n"));
        service.end();
        browser.see("div", "Connection lost").await;
        walk.page("not-live").await;
        assert!(walk.problems.is_empty(), "{}", walk.problems.join("\n"));
    });
}
