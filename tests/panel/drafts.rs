//! What a visitor typed, generated and viewed is still there when they return.

use crate::browse;
use crate::browser::Browser;
use crate::calls::calls;
use serde_json::json;

const PROMPT: &str = "return document.querySelector('[name=prompt]').value;";

/// Waits for the playground with this prompt.
async fn wait_for_draft(browser: &Browser, prompt: &str) {
    browser.see("h1", "Playground").await;
    browser.find("//textarea[@name='prompt']").await;
    browser.comes_to(PROMPT, json!(prompt)).await;
}

#[test]
fn the_playground_keeps_its_draft_and_its_image_until_the_visitor_signs_out() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/playground", "Playground").await;
        // Ctrl+Enter submits.
        browser.fill("prompt", "a heron at dawn").await;
        let field = browser.find("//textarea[@name='prompt']").await;
        field.send_keys("\u{e009}\u{e007}\u{e000}").await.unwrap();
        browser.see("p", "generated in").await;
        browser.fill("prompt", "a heron at noon").await;
        browser.press_in("//label[input[@value='16:9']]").await;
        // To the details and back, to another page and back.
        browser.press("Details").await;
        browser.see("h1", "done").await;
        browser.run("history.back();", vec![]).await;
        wait_for_draft(&browser, "a heron at noon").await;
        browser.see("p", "generated in").await;
        browser
            .find("//input[@value='16:9' and @name='aspect_ratio']")
            .await;
        let ratio = "return document.querySelector('[name=aspect_ratio]:checked').value;";
        assert_eq!(browser.run(ratio, vec![]).await, json!("16:9"));
        browser.go("#/jobs", "Jobs").await;
        browser.go("#/playground", "Playground").await;
        wait_for_draft(&browser, "a heron at noon").await;
        // A rejected request keeps prompt and image.
        browser
            .press_in("//summary[.='Metadata and callback']")
            .await;
        browser.fill("metadata", "nonsense").await;
        browser.press("Generate").await;
        browser.see("span", "Enter a JSON object").await;
        browser.see("p", "generated in").await;
        // The session ends without the page.
        let end = "fetch('/panel/api/session', { method: 'DELETE', headers: { 'X-Tintype-Panel': '1' } }).then(() => { location.hash = '#/jobs'; });";
        browser.run(end, vec![]).await;
        browser.see("div", "Your session has ended").await;
        browser.fill("token", crate::service::TOKEN).await;
        browser.press("Sign in").await;
        browser.see("h1", "Jobs").await;
        browser.go("#/playground", "Playground").await;
        wait_for_draft(&browser, "a heron at noon").await;
        browser.see("p", "generated in").await;
        browser.press("Sign out").await;
        browser.see("h1", "Sign in").await;
        browser.sign_in_as_operator().await;
        browser.go("#/playground", "Playground").await;
        wait_for_draft(&browser, "").await;
        browser.see("b", "No image yet").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_job_to_run_again_replaces_the_draft_once() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        let made = calls(
            &browser,
            "return await make(base, { prompt: 'a fox', aspect_ratio: '3:2' });",
        )
        .await;
        let job = made["job_id"].as_str().unwrap();
        browser.go("#/playground", "Playground").await;
        browser.fill("prompt", "a heron").await;
        browser.go(&format!("#/jobs/{job}"), "Job").await;
        browser.press("Run again").await;
        wait_for_draft(&browser, "a fox").await;
        browser.fill("prompt", "a red fox").await;
        browser.go("#/jobs", "Jobs").await;
        browser.run("history.back();", vec![]).await;
        wait_for_draft(&browser, "a red fox").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn the_back_button_restores_the_rows_of_a_filtered_list() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        calls(
            &browser,
            "for (let at = 0; at < 60; at += 1) await send('POST', base + '/keys', { name: `key ${at}` });
             for (const order of [1, 2]) await make(base, { prompt: `order ${order}`, aspect_ratio: '1:1', metadata: { order } });
             return null;",
        )
        .await;
        browser.go("#/keys", "API keys").await;
        browser.press("Show more").await;
        let rows = "return document.querySelectorAll('tbody tr').length;";
        browser.comes_to(rows, json!(62)).await;
        browser.run("scrollTo(0, 1500);", vec![]).await;
        browser.go("#/jobs", "Jobs").await;
        browser.fill("metadata", "order=2\u{e007}").await;
        browser.comes_to(rows, json!(1)).await;
        browser.press("order 2").await;
        browser.see("h1", "Job").await;
        browser.run("history.back();", vec![]).await;
        browser.see("h1", "Jobs").await;
        browser.see("span", "order=2").await;
        browser.comes_to(rows, json!(1)).await;
        browser.run("history.back();", vec![]).await;
        browser.see("h1", "API keys").await;
        browser.comes_to(rows, json!(62)).await;
        browser.comes_to("return scrollY;", json!(1500)).await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_key_is_shown_whole_on_a_phone_and_copied_without_the_clipboard_api() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        crate::pages::resize(&browser, 390, 844, "light").await;
        browser.go("#/keys", "API keys").await;
        browser.press("New key").await;
        browser.fill("name", "phone").await;
        browser.press("Create key").await;
        browser.see("h2", "Your new key").await;
        let fits = "const box = document.querySelector('dialog'); const key = box.querySelector('.secret code').getBoundingClientRect();
            return [box.scrollWidth <= box.clientWidth, key.left >= 0, key.right <= innerWidth];";
        let whole = browser.run(fits, vec![]).await;
        assert_eq!(whole, json!([true, true, true]));
        // The clipboard API is absent over plain HTTP.
        let without = "Object.defineProperty(navigator, 'clipboard', { value: undefined });
            window.copied = []; document.addEventListener('copy', () => copied.push(String(getSelection())));";
        browser.run(without, vec![]).await;
        browser
            .press_in("//dialog//*[@class='secret']//button")
            .await;
        browser.see("div", "Copied").await;
        let same = "return copied.join() === document.querySelector('dialog .secret code').textContent && copied[0].startsWith('tt_');";
        assert_eq!(browser.run(same, vec![]).await, json!(true));
        browser.leave().await;
        drop(service);
    });
}
