//! API keys in the panel: recognizable by the first characters of their text; the panel's own key is marked.

use crate::browse;
use crate::calls::calls;
use serde_json::json;

#[test]
fn keys_are_listed_with_their_first_characters_and_the_panels_own_cannot_be_deleted() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        let script = "const made = await send('POST', base + '/keys', { name: 'website' });
            await make(base, { prompt: 'a fox', aspect_ratio: '1:1' });
            return { begins: made.api_key.slice(0, 7) };";
        let made = calls(&browser, script).await;
        browser.go("#/keys", "API keys").await;
        let row = |name: &str| format!("//tr[.//b[.='{name}']]");
        let begins = made["begins"].as_str().unwrap();
        browser
            .find(&format!("{}//code[.='{begins}…']", row("website")))
            .await;
        browser
            .find(&format!("{}//span[.='system']", row("panel")))
            .await;
        // It is used, but not by a program.
        browser
            .find(&format!(
                "{}/td[@data-label='Last used' and .='–']",
                row("panel")
            ))
            .await;
        browser.press("panel").await;
        browser.see("p", "Images of the playground").await;
        let last_used = "return document.querySelector('main').innerText.includes('Last used');";
        assert_eq!(browser.run(last_used, vec![]).await, json!(false));
        let buttons =
            "return [...document.querySelectorAll('header button')].map((it) => it.textContent);";
        browser
            .comes_to(buttons, json!(["Change", "Deactivate"]))
            .await;
        browser.press("Deactivate").await;
        browser.see("h2", "Turn off the playground?").await;
        browser.press("Cancel").await;
        browser.see("span", "active").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_key_is_given_a_limit_of_live_jobs() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        let script = "await send('POST', base + '/keys', { name: 'worker' }); return {};";
        calls(&browser, script).await;
        browser.go("#/keys", "API keys").await;
        browser.press("worker").await;
        browser.see("dd", "no limit").await;
        browser
            .find("//dd[.='no limit; calls that fetch input images: 5 per second, burst 20']")
            .await;
        browser.press("Change").await;
        browser.fill("max_concurrent", "0").await;
        browser.press_in("//dialog//button[.='Save']").await;
        browser
            .see("span", "Enter a whole number from 1 to 1,000,000.")
            .await;
        browser.fill("max_concurrent", "4").await;
        browser.press_in("//dialog//button[.='Save']").await;
        browser.see("dd", "at most 4").await;
        browser.go("#/keys", "API keys").await;
        browser
            .find("//tr[.//b[.='worker']]//*[.='4 at once']")
            .await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn the_list_of_keys_shows_when_a_key_expires_and_the_currency_of_its_limits() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        let script = "const after = (days) => new Date(Date.now() + days * 86_400_000).toISOString();
            await send('POST', base + '/keys', { name: 'soon', expires_at: after(3) });
            await send('POST', base + '/keys', { name: 'later', expires_at: after(60), spend_limit: '25' });
            return {};";
        calls(&browser, script).await;
        browser.go("#/keys", "API keys").await;
        let limits = |name: &str| format!("//tr[.//b[.='{name}']]/td[@data-label='Limits']");
        browser
            .find(&format!(
                "{}[.//span[contains(@class, 'warn') and contains(., 'expires in 3 days')] and not(contains(., 'none'))]",
                limits("soon")
            ))
            .await;
        browser
            .find(&format!(
                "{}[contains(., '25.00 USD in total, until ') and not(.//*[contains(@class, 'warn')])]",
                limits("later")
            ))
            .await;
        browser.leave().await;
        drop(service);
    });
}
