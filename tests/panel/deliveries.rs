//! Deliveries in the panel: the request of each attempt, new attempts, and links to one delivery.

use crate::calls::calls;
use crate::{browse, browse_with, receiver};
use serde_json::json;

#[test]
fn the_sent_request_of_each_attempt_is_shown() {
    browse(|service, browser| async move {
        let hook = receiver::answering("500 Oops", "{}");
        browser.sign_in_as_operator().await;
        browser.go("#/webhooks", "Webhooks").await;
        browser.fill("url", &hook).await;
        browser.press("Register").await;
        browser.press("Done").await;
        browser.press("Send a test").await;
        browser.see("h1", "Deliveries").await;
        browser.see("b", "HTTP 500").await;
        // A test delivery belongs to no job, so nothing links to it.
        browser.see("summary", "test delivery").await;
        browser.see("summary", "HTTP 500").await;
        let links = "return document.querySelectorAll('details a[href^=\"#/jobs/\"]').length;";
        assert_eq!(browser.run(links, vec![]).await, json!(0));
        // The list below has the same delivery, collapsed.
        browser.press_in("(//button[.='Show request'])[1]").await;
        browser.see("code", "X-Signature").await;
        browser.press_in("(//button[.='Resend'])[1]").await;
        let first = "(//details)[1]//ol[@class='timeline']/li";
        browser
            .find(&format!("{first}[2]//code[contains(., 'X-Signature')]"))
            .await;
        let untrue = "return document.body.innerText.includes('No request was sent');";
        assert_eq!(browser.run(untrue, vec![]).await, json!(false));
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_link_opens_its_delivery_regardless_of_its_age() {
    browse(|service, browser| async move {
        let hook = receiver::answering("200 OK", "{}");
        browser.sign_in_as_operator().await;
        let script = format!(
            "const hook = await send('POST', base + '/webhooks', {{ url: '{hook}' }});
             const first = await send('POST', base + '/webhooks/' + hook.webhook_id + '/test');
             // One test delivery per webhook, because a webhook accepts one a minute.
             for (let at = 0; at < 51; at += 1) {{
                 const {{ webhook_id }} = await send('POST', base + '/webhooks', {{ url: '{hook}?' + at }});
                 await send('POST', base + '/webhooks/' + webhook_id + '/test');
                 await send('DELETE', base + '/webhooks/' + webhook_id);
             }}
             return {{ first: first.delivery_id }};"
        );
        let sent = calls(&browser, &script).await;
        let first = sent["first"].as_str().unwrap();
        browser
            .go(&format!("#/deliveries?open={first}"), "Deliveries")
            .await;
        browser
            .find(&format!("//details[@open]//code[.='{first}']"))
            .await;
        browser.see("h2", "All deliveries").await;
        let gone = "01a1ee56-5e00-72ec-8969-d19c626e9021";
        browser
            .go(&format!("#/deliveries?open={gone}"), "Deliveries")
            .await;
        browser.see("div", "no longer exists").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn each_webhook_shows_how_many_of_its_deliveries_arrived() {
    browse(|service, browser| async move {
        let hook = receiver::answering("200 OK", "{}");
        browser.sign_in_as_operator().await;
        let script = format!(
            "await send('POST', base + '/webhooks', {{ url: '{hook}' }});
             return await make(base, {{ prompt: 'a fox', aspect_ratio: '1:1' }});"
        );
        let job = calls(&browser, &script).await;
        let id = job["job_id"].as_str().unwrap();
        browser.go("#/webhooks", "Webhooks").await;
        browser.see("span", "100 % of 1 delivery delivered").await;
        browser.go("#/deliveries", "Deliveries").await;
        let short = &id[id.len() - 8..];
        browser
            .find(&format!(
                "//summary[contains(., 'job {short}') and contains(., 'HTTP 200')]"
            ))
            .await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_delivery_about_a_batch_names_it() {
    browse(|service, browser| async move {
        let hook = receiver::answering("200 OK", "{}");
        browser.sign_in_as_operator().await;
        let script = format!(
            "await send('POST', base + '/webhooks', {{ url: '{hook}' }});
             const key = await send('POST', base + '/keys', {{ name: 'nightly' }});
             const headers = {{ Authorization: 'Bearer ' + key.api_key, 'Content-Type': 'application/json' }};
             const body = JSON.stringify({{ requests: [{{ model: 'fast', prompt: 'a fox', aspect_ratio: '1:1' }}] }});
             const answer = await fetch('/api/v1/batches', {{ method: 'POST', headers, body }});
             if (answer.status !== 202) throw new Error(await answer.text());
             return await answer.json();"
        );
        let batch = calls(&browser, &script).await;
        let id = batch["batch_id"].as_str().unwrap();
        browser.go("#/deliveries", "Deliveries").await;
        let short = &id[id.len() - 8..];
        browser
            .find(&format!(
                "//summary[contains(., 'batch {short}') and contains(., 'HTTP 200')]"
            ))
            .await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn only_a_delivery_that_can_be_sent_again_is_called_failed() {
    let once = [("TINTYPE__WEBHOOKS__RETRY_DELAYS_SECONDS", "[1]")];
    browse_with(&once, |service, browser| async move {
        let hook = receiver::answering("500 Oops", "{}");
        browser.sign_in_as_operator().await;
        let script = format!(
            "const hook = await send('POST', base + '/webhooks', {{ url: '{hook}' }});
             await send('POST', base + '/webhooks/' + hook.webhook_id + '/test');
             await make(base, {{ prompt: 'a fox', aspect_ratio: '1:1' }});
             return hook;"
        );
        let webhook = calls(&browser, &script).await;
        // The test delivery fails too, and does not count.
        browser
            .see("div", "1 delivery has failed after all attempts.")
            .await;
        browser.go("#/deliveries?status=failed", "Deliveries").await;
        browser
            .find("//div[count(details)=2]/details//button[.='Resend']")
            .await;
        let script = format!(
            "await send('DELETE', base + '/webhooks/{}'); return {{}};",
            webhook["webhook_id"].as_str().unwrap()
        );
        calls(&browser, &script).await;
        browser.go("#/overview", "Overview").await;
        browser.see("h2", "Latest").await;
        let text = browser.text().await;
        assert!(!text.contains("after all attempts"), "{text}");
        let id = webhook["webhook_id"].as_str().unwrap();
        browser
            .go(&format!("#/deliveries?webhook_id={id}"), "Deliveries")
            .await;
        browser.find("//main//details[2]").await;
        let many = "return [...document.querySelectorAll('button')].find((it) => it.textContent === 'Resend failed…').checkVisibility();";
        assert_eq!(browser.run(many, vec![]).await, json!(false));
        browser.go("#/deliveries", "Deliveries").await;
        browser
            .find("//span[contains(., 'attempts exhausted · webhook deleted')]")
            .await;
        let offered = "return [...document.querySelectorAll('details button')].some((it) => it.textContent === 'Resend');";
        assert_eq!(browser.run(offered, vec![]).await, json!(false));
        browser.leave().await;
        drop(service);
    });
}
