//! Whatever comes from outside is text on every page, however much it looks like markup.

use crate::{browse, receiver};
use serde_json::json;

const MARKUP: &str = "<img src=x onerror=\"window.hit=1\"><script>window.hit=1</script>";

/// Fills an account with markup through the panel's own calls, with the browser's own session; returns the job's id.
const FILL: &str = "
const [markup, hook, done] = arguments;
const fill = async () => {
    const headers = { 'X-Tintype-Panel': '1', 'Content-Type': 'application/json' };
    const send = async (path, body) => {
    const answer = await fetch('/panel/api' + path, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(path + ': ' + await answer.text());
    return answer.json();
    };
    const opened = await send('/accounts', { name: markup, balance: '10' });
    const base = '/accounts/' + opened.account_id;
    await send(base + '/keys', { name: markup });
    await send(base + '/deposits', { amount: '1', reference: markup });
    await send(base + '/webhooks', { url: hook + '?x=%3Cscript%3E' });
    await send(base + '/people', { email: '<script>@example.com', role: 'owner' });
    const form = new FormData();
    const metadata = { [markup]: markup };
    form.append('request', JSON.stringify({ prompt: markup, aspect_ratio: '1:1', metadata }));
    const made = await fetch('/panel/api' + base + '/generations/fast', { method: 'POST', headers: { 'X-Tintype-Panel': '1' }, body: form });
    const job = (await made.json()).job_id;
    sessionStorage.setItem('tintype-account', JSON.stringify({ id: opened.account_id, name: markup }));
    return job;
};
fill().then(done, (error) => done('failed: ' + error));";

#[test]
fn markup_from_outside_stays_text_on_every_page() {
    browse(|service, browser| async move {
        let hook = receiver::answering("500 Oops", MARKUP);
        browser.sign_in_as_operator().await;
        let arguments = vec![json!(MARKUP), json!(hook)];
        let job = browser.client.execute_async(FILL, arguments).await.unwrap();
        let job = job.as_str().unwrap().to_owned();
        assert!(!job.starts_with("failed"), "{job}");
        browser.client.refresh().await.unwrap();
        let detail = format!("#/jobs/{job}");
        let pages = [
            ("#/overview", "Overview", "<img src=x"),
            ("#/jobs", "Jobs", "<img src=x"),
            (detail.as_str(), "Job", "HTTP 500"),
            ("#/keys", "API keys", "<img src=x"),
            ("#/webhooks", "Webhooks", "%3Cscript%3E"),
            ("#/deliveries", "Deliveries", "%3Cscript%3E"),
            ("#/ledger", "Ledger", "<img src=x"),
            ("#/people", "People", "<script>@example.com"),
            ("#/accounts", "Accounts", "<img src=x"),
            ("#/playground", "Playground", "<img src=x"),
        ];
        for (place, title, words) in pages {
            browser.go(place, title).await;
            browser.see("body", words).await;
            let clean = "return window.hit === undefined && !document.querySelector('img[src=x], #app script, [onerror]');";
            assert_eq!(browser.run(clean, vec![]).await, json!(true), "{place}");
        }
        browser.go(&detail, "Job").await;
        browser.see("code", "<script>window.hit=1</script>").await;
        browser.leave().await;
        drop(service);
    });
}
