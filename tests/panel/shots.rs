//! Pictures of every page, for people to look at: target/panel, light and dark, wide and narrow. No page may be wider than
//! the screen.

use crate::{browse, receiver};
use serde_json::json;
use std::fs;

const PAGES: &[(&str, &str)] = &[
    ("overview", "Overview"),
    ("playground", "Playground"),
    ("jobs", "Jobs"),
    ("keys", "API keys"),
    ("webhooks", "Webhooks"),
    ("deliveries", "Deliveries"),
    ("ledger", "Ledger"),
    ("people", "People"),
    ("accounts", "Accounts"),
    ("service", "Service"),
    ("profile", "You"),
];
const PROMPTS: &[&str] = &[
    "a red fox in the snow at dusk",
    "a lighthouse on a cliff in a storm",
    "city skyline at night",
    "portrait of an old sailor",
    "mountains reflected in a lake at dawn",
    "a hot air balloon over green hills",
];

#[test]
fn every_page_fits_its_screen_and_is_pictured() {
    browse(|service, browser| async move {
        let shots = concat!(env!("CARGO_MANIFEST_DIR"), "/target/panel");
        fs::create_dir_all(shots).unwrap();
        let hook = receiver::answering("200 OK", "{\"ok\":true}");
        browser.sign_in_as_operator().await;
        browser.go("#/webhooks", "Webhooks").await;
        browser.fill("url", &hook).await;
        browser.press("Register").await;
        browser.press("Done").await;
        for prompt in PROMPTS {
            browser.go("#/playground", "Playground").await;
            browser.fill("prompt", prompt).await;
            browser.press("Make it").await;
            browser.see("p", "made in").await;
            browser.run("scrollTo(0, 0)", vec![]).await;
            let picture = browser.picture().await;
            fs::write(format!("{shots}/made-wide-light.png"), picture).unwrap();
            browser.go("#/overview", "Overview").await;
        }
        let first = "document.querySelector('.gallery a').click()";
        browser.run(first, vec![]).await;
        browser.see("b", "HTTP 200").await;
        fs::write(
            format!("{shots}/job-wide-light.png"),
            browser.picture().await,
        )
        .unwrap();
        for (width, height, size) in [(1360, 900, "wide"), (390, 844, "narrow")] {
            for theme in ["light", "dark"] {
                let screen = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
                browser
                    .tools("Emulation.setDeviceMetricsOverride", screen)
                    .await;
                let colours =
                    json!({"features": [{"name": "prefers-color-scheme", "value": theme}]});
                browser.tools("Emulation.setEmulatedMedia", colours).await;
                for (page, title) in PAGES {
                    browser.go(&format!("#/{page}"), title).await;
                    let loaded = "const done = arguments[arguments.length - 1];
                        const look = () => document.body.innerText.includes('Loading…') ? setTimeout(look, 20)
                            : Promise.all([...document.images].map((it) => it.decode().catch(() => null))).then(() => done(document.documentElement.scrollWidth));
                        look();";
                    let seen = browser.client.execute_async(loaded, vec![]).await.unwrap();
                    assert!(
                        seen.as_u64().unwrap() <= width,
                        "{page}, {size}: {seen} pixels wide"
                    );
                    let picture = browser.picture().await;
                    fs::write(format!("{shots}/{page}-{size}-{theme}.png"), picture).unwrap();
                }
            }
        }
        browser.leave().await;
        drop(service);
    });
}
