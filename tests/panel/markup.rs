//! Input from outside appears as text on every page, however much it looks like markup.

use crate::browser::{Browser, PATIENCE};
use crate::{browse, receiver};
use serde_json::json;

const MARKUP: &str = "<img src=x onerror=\"window.hit=1\"><script>window.hit=1</script>";

/// Fills an account with markup over the panel API in the browser's session; returns the job's id.
const FILL: &str = "
const [markup, hook, done] = arguments;
const fill = async () => {
    const headers = { 'X-Tintype-Panel': '1', 'Content-Type': 'application/json' };
    const send = async (path, body) => {
    const answer = await fetch('/panel/api' + path, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(path + ': ' + await answer.text());
    return answer.json();
    };
    const put = (path, body) => fetch('/panel/api' + path, { method: 'PUT', headers, body: JSON.stringify(body) });
    const opened = await send('/accounts', { name: markup, balance: '10' });
    const base = '/accounts/' + opened.account_id;
    const key = await send(base + '/keys', { name: markup });
    await put('/pause', { tiers: { pro: true }, reasons: { pro: markup } });
    await send(base + '/deposits', { amount: '1', reference: markup });
    await send(base + '/webhooks', { url: hook + '?x=%3Cscript%3E' });
    const person = await send(base + '/people', { email: '<script>@example.com', role: 'owner' });
    const form = new FormData();
    const metadata = { [markup]: markup };
    form.append('request', JSON.stringify({ prompt: markup, aspect_ratio: '1:1', metadata }));
    const made = await fetch('/panel/api' + base + '/generations/fast', { method: 'POST', headers: { 'X-Tintype-Panel': '1' }, body: form });
    const job = (await made.json()).job_id;
    sessionStorage.setItem('tintype-account', JSON.stringify({ id: opened.account_id, name: markup }));
    return { job, key: key.key_id, invitation: person.invitation_url.split('#')[1] };
};
fill().then(done, (error) => done({ failed: String(error) }));";

async fn assert_clean(browser: &Browser, place: &str) {
    let clean = "return window.hit === undefined && !document.querySelector('img[src=x], #app script, dialog script, [onerror]');";
    assert_eq!(browser.run(clean, vec![]).await, json!(true), "{place}");
}

/// The other tests depend on this one: they end by asserting that the console has no errors.
#[test]
fn violations_of_the_content_security_policy_are_detected() {
    browse(|service, browser| async move {
        browser.open("").await;
        browser.see("h1", "Sign in").await;
        assert!(browser.complaints().await.is_empty());
        for forbidden in [
            "const it = document.createElement('script'); it.textContent = 'window.hit = 1'; document.head.append(it);",
            "const it = new Image(); it.src = 'http://127.0.0.1:9/x.png'; document.body.append(it);",
            "fetch('http://127.0.0.1:9/').catch(() => {});",
            "const it = document.createElement('b'); it.setAttribute('style', 'color: red'); document.body.append(it);",
        ] {
            browser.run(forbidden, vec![]).await;
            let deadline = std::time::Instant::now() + PATIENCE;
            while browser.complaints().await.is_empty() {
                assert!(std::time::Instant::now() < deadline, "{forbidden}");
            }
        }
        let ran = browser
            .run("return window.hit === undefined;", vec![])
            .await;
        assert_eq!(ran, json!(true));
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn markup_from_callers_is_shown_as_text_on_every_page() {
    browse(|service, browser| async move {
        let hook = receiver::answering("500 Oops", MARKUP);
        browser.sign_in_as_operator().await;
        let arguments = vec![json!(MARKUP), json!(hook)];
        let filled = browser.client.execute_async(FILL, arguments).await.unwrap();
        assert_eq!(filled.get("failed"), None, "{filled}");
        let text = |name: &str| filled[name].as_str().unwrap().to_owned();
        browser.client.refresh().await.unwrap();
        let (detail, key) = (
            format!("#/jobs/{}", text("job")),
            format!("#/keys/{}", text("key")),
        );
        let pages = [
            ("#/overview", "Overview", "<img src=x"),
            ("#/jobs", "Jobs", "<img src=x"),
            (detail.as_str(), "Job", "HTTP 500"),
            ("#/keys", "API keys", "<img src=x"),
            (key.as_str(), "<img src=x", "<img src=x"),
            ("#/webhooks", "Webhooks", "%3Cscript%3E"),
            ("#/deliveries", "Deliveries", "%3Cscript%3E"),
            ("#/ledger", "Ledger", "<img src=x"),
            ("#/people", "People", "<script>@example.com"),
            ("#/accounts", "Accounts", "<img src=x"),
            ("#/service", "Service", "<img src=x"),
            ("#/audit", "Audit log", "<img src=x"),
            ("#/profile", "Profile", "<img src=x"),
            ("#/playground", "Playground", "<img src=x"),
        ];
        for (place, title, words) in pages {
            browser.go(place, title).await;
            browser.see("body", words).await;
            assert_clean(&browser, place).await;
        }
        browser.go(&detail, "Job").await;
        browser.see("code", "<script>window.hit=1</script>").await;
        browser.press("Show request").await;
        browser.see("code", "X-Signature").await;
        assert_clean(&browser, "what was sent").await;

        // Messages quote the request, and the reason of a pause.
        browser.go("#/playground", "Playground").await;
        browser
            .run("document.querySelector('input[value=pro]').click()", vec![])
            .await;
        browser.see("div", "The pro model is paused (<img").await;
        browser.run(crate::playground::STALE, vec![]).await;
        browser.go("#/jobs", "Jobs").await;
        browser.go("#/playground", "Playground").await;
        browser.fill("prompt", "a fox").await;
        browser.press("Generate").await;
        browser.see("p", "The pro model is paused (<img").await;
        assert_clean(&browser, "the 503").await;
        browser.go("#/keys", "API keys").await;
        browser.press("New key").await;
        browser.fill("name", MARKUP).await;
        browser.fill("allowed_ips", "<script>").await;
        browser.press("Create key").await;
        browser.see("span", "Entry 1 must be an address").await;
        assert_clean(&browser, "a fault of the form").await;
        browser.press("Cancel").await;

        browser.press("Sign out").await;
        browser.see("h1", "Sign in").await;
        browser.open(&format!("#{}", text("invitation"))).await;
        browser.client.refresh().await.unwrap();
        browser.see("b", "<img src=x").await;
        assert_clean(&browser, "the invitation").await;
        browser.leave().await;
        drop(service);
    });
}
