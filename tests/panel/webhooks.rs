//! The webhook console: verify a delivery, resend failed deliveries; and owners invite people.

use crate::accessibility::assert_no_barriers;
use crate::calls::calls;
use crate::{browse, receiver};
use serde_json::json;

#[test]
fn a_received_delivery_is_pasted_and_verified() {
    browse(|service, browser| async move {
        let hook = receiver::answering("200 OK", "{}");
        browser.sign_in_as_operator().await;
        let script = format!(
            "const hook = await send('POST', base + '/webhooks', {{ url: '{hook}' }});
             const {{ delivery_id: id }} = await send('POST', base + '/webhooks/' + hook.webhook_id + '/test');
             let sent = [];
             while (!sent.length) sent = (await send('GET', base + '/deliveries/' + id + '/sent')).data.filter(Boolean);
             const lines = Object.entries(sent[0].headers).map(([name, value]) => name + ': ' + value);
             return {{ text: lines.join('\\n') + '\\n\\n' + sent[0].body }};"
        );
        let sent = calls(&browser, &script).await;
        let text = sent["text"].as_str().unwrap();
        browser.go("#/webhooks", "Webhooks").await;
        let paste = "document.querySelector('[name=delivery]').value = arguments[0];";
        browser.run(paste, vec![json!(text)]).await;
        browser.press("Verify").await;
        browser.see("div", "The delivery verifies.").await;
        let changed = text.replace("\"test\":true", "\"test\":false");
        assert_ne!(changed, text);
        browser.run(paste, vec![json!(changed)]).await;
        browser.press("Verify").await;
        browser.see("div", "The delivery does not verify.").await;
        browser.see("li", "another secret signed it").await;
        assert_no_barriers(&browser, "Webhooks").await;
        // As if it were pasted ten minutes later.
        let age = "const real = window.fetch; window.fetch = async (url, options) => {
                const answer = await real(url, options);
                if (!url.endsWith('/verify') || !answer.ok) return answer;
                return new Response(JSON.stringify({ ...await answer.json(), is_stale: true }));
            };";
        browser.run(age, vec![]).await;
        browser.press("Verify").await;
        browser
            .see("div", "The signature is right, but the timestamp is older")
            .await;
        browser.run(paste, vec![json!("no headers")]).await;
        browser.press("Verify").await;
        browser.see("span", "There is no blank line").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn failed_deliveries_are_counted_before_they_are_sent_again() {
    // No retry: the first failure is final.
    let settings = [("TINTYPE__WEBHOOKS__RETRY_DELAYS_SECONDS", "[]")];
    crate::browse_with(&settings, |service, browser| async move {
        let hook = receiver::answering("500 Oops", "{}");
        browser.sign_in_as_operator().await;
        let script = format!(
            "await send('POST', base + '/webhooks', {{ url: '{hook}' }});
             for (const prompt of ['a fox', 'an owl']) await make(base, {{ prompt, aspect_ratio: '1:1' }});
             while ((await send('GET', base + '/deliveries?status=failed')).data.length < 2);
             return {{}};"
        );
        calls(&browser, &script).await;
        browser.go("#/webhooks", "Webhooks").await;
        browser.press(&format!("More actions for {hook}")).await;
        browser.press("Resend failed…").await;
        browser.press("Count").await;
        browser.see("h2", "Resend 2 failed deliveries?").await;
        browser.press("Resend 2").await;
        browser.see("div", "2 queued again").await;
        browser.go("#/deliveries?status=failed", "Deliveries").await;
        let hidden = "return [...document.querySelectorAll('button')].find((it) => it.textContent === 'Resend failed…').hidden;";
        assert_eq!(browser.run(hidden, vec![]).await, json!(true));
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn an_owner_invites_a_person() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        let script = "const { invitation_url: url } = await send('POST', base + '/people', { email: 'ada@example.com', role: 'owner' });
            await send('POST', '/invitation/accept', { token: url.split('/').pop(), password: 'a long enough password' });
            return {};";
        calls(&browser, script).await;
        // The answer has replaced the operator's session with the owner's.
        browser.client.refresh().await.unwrap();
        browser.go("#/people", "People").await;
        browser.press("Invite").await;
        browser.fill("email", "bea@example.com").await;
        browser.press("Create link").await;
        browser.see("h2", "Invitation").await;
        browser.press("Done").await;
        browser.see("b", "bea@example.com").await;
        let seen = "return [...document.querySelectorAll('tbody button')].filter((it) => it.checkVisibility()).map((it) => it.ariaLabel ?? it.textContent);";
        let expected = json!(["New link", "More actions for bea@example.com"]);
        browser.comes_to(seen, expected).await;
        assert_no_barriers(&browser, "People").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_webhook_is_deactivated_in_one_click_which_can_be_undone() {
    browse(|service, browser| async move {
        let hook = receiver::answering("200 OK", "{}");
        browser.sign_in_as_operator().await;
        let script = format!("return await send('POST', base + '/webhooks', {{ url: '{hook}' }});");
        calls(&browser, &script).await;
        browser.go("#/webhooks", "Webhooks").await;
        let menu = format!("More actions for {hook}");
        browser.press(&menu).await;
        browser.press("Deactivate").await;
        browser.see("span", "inactive").await;
        browser
            .see("div", "Its deliveries fail and stay in the log")
            .await;
        browser.press("Undo").await;
        let badges =
            "return [...document.querySelectorAll('.hook .badge')].map((it) => it.textContent);";
        browser.comes_to(badges, json!(["default", "ascii"])).await;
        browser.press(&menu).await;
        browser.press("Deactivate").await;
        browser
            .comes_to(badges, json!(["inactive", "default", "ascii"]))
            .await;
        // After the first undo, because the message with "Undo" stays for some seconds only.
        assert_no_barriers(&browser, "Webhooks").await;
        browser.press("Activate").await;
        browser.comes_to(badges, json!(["default", "ascii"])).await;
        browser.press("Send a test").await;
        browser.see("b", "HTTP 200").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn the_operator_sees_how_the_last_event_was_delivered() {
    let hook = receiver::answering("500 Oops", "{}");
    let settings = [
        ("TINTYPE__OPERATOR__WEBHOOK_URL", hook.as_str()),
        (
            "TINTYPE__OPERATOR__WEBHOOK_SECRET",
            "whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=",
        ),
        ("TINTYPE__WEBHOOKS__RETRY_DELAYS_SECONDS", "[]"),
        // No event of a machine whose disk is nearly full.
        ("TINTYPE__OPERATOR__DISK_LOW_BYTES", "0"),
    ];
    crate::browse_with(&settings, |service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/service", "Service").await;
        browser.see("p", "No event has been sent yet.").await;
        browser.press("Send a test event").await;
        browser.find("//ul[@aria-label='Last deliveries to the operator']/li[contains(., 'failed') and contains(., 'HTTP 500')]").await;
        browser
            .see(
                "div",
                "The last event for the operator was not delivered: HTTP 500.",
            )
            .await;
        browser.go("#/overview", "Overview").await;
        browser
            .see("div", "The last event for the operator was not delivered")
            .await;
        assert_no_barriers(&browser, "Overview").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn an_outdated_change_dialog_overwrites_only_what_the_user_changes() {
    browse(|service, browser| async move {
        let hook = receiver::answering("200 OK", "{}");
        browser.sign_in_as_operator().await;
        let script = format!("return await send('POST', base + '/webhooks', {{ url: '{hook}' }});");
        let webhook = calls(&browser, &script).await;
        let id = webhook["webhook_id"].as_str().unwrap();
        browser.go("#/webhooks", "Webhooks").await;
        browser.choose(&hook, "Change").await;
        browser.see("h2", "Change webhook").await;
        let elsewhere = format!(
            "await send('PATCH', base + '/webhooks/{id}', {{ encoding: 'utf8' }}); return {{}};"
        );
        calls(&browser, &elsewhere).await;
        let moved = format!("{hook}?v=2");
        browser.fill("url", &moved).await;
        browser.press_in("//dialog//button[.='Save']").await;
        browser.find("//main[not(//dialog)]").await;
        let found = calls(
            &browser,
            "return (await send('GET', base + '/webhooks')).data[0];",
        )
        .await;
        assert_eq!(
            (&found["url"], &found["encoding"]),
            (&json!(moved), &json!("utf8"))
        );
        browser.leave().await;
        drop(service);
    });
}
