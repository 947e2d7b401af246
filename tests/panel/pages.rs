//! All pages of the panel, and an account that has content for each of them.

use crate::browser::Browser;
use serde_json::json;

/// The pages in the menu, with their titles.
pub const PAGES: &[(&str, &str)] = &[
    ("overview", "Overview"),
    ("playground", "Playground"),
    ("gallery", "Gallery"),
    ("jobs", "Jobs"),
    ("batches", "Batches"),
    ("keys", "API keys"),
    ("webhooks", "Webhooks"),
    ("deliveries", "Deliveries"),
    ("usage", "Usage"),
    ("ledger", "Ledger"),
    ("people", "People"),
    ("accounts", "Accounts"),
    ("service", "Service"),
    ("nodes", "Nodes"),
    ("queue", "Queue"),
    ("all-usage", "Usage of all accounts"),
    ("audit", "Audit log"),
    ("profile", "Profile"),
];

/// The URLs of single pages: a job, a batch, a key, and an invitation.
pub struct Places {
    pub job: String,
    pub batch: String,
    pub key: String,
    pub invitation: String,
}

/// A batch of two images and a request that fails; the script waits for its end, and returns its id.
pub const BATCH: &str = "
const batch = async (send, base) => {
    const lines = ['fox', 'owl', 'heron'].map((name) => JSON.stringify({ custom_id: name, model: 'fast', prompt: `a ${name} at dusk`, aspect_ratio: '1:1',
        ...(name === 'owl' ? { input_images_urls: ['http://127.0.0.1:9/owl.png'] } : {}) }));
    const sent = await fetch('/panel/api' + base + '/batches', { method: 'POST', headers: { 'X-Tintype-Panel': '1', 'Content-Type': 'application/x-ndjson' }, body: lines.join('\\n') });
    const { batch_id: batch } = await sent.json();
    while ((await send('GET', base + '/batches/' + batch)).status !== 'ended') await new Promise((wake) => setTimeout(wake, 50));
    return batch;
};";

/// Fills the account of the first start over the panel API in the browser's session. Does not create webhooks and images,
/// which take longer and are created through the pages.
const FILL: &str = "
const fill = async () => {
    const headers = { 'X-Tintype-Panel': '1', 'Content-Type': 'application/json' };
    const send = async (method, path, body) => {
        const answer = await fetch('/panel/api' + path, { method, headers, body: JSON.stringify(body) });
        if (!answer.ok) throw new Error(path + ': ' + await answer.text());
        return answer.status === 204 ? null : answer.json();
    };
    const { account_id: account } = await send('GET', '/session');
    const base = '/accounts/' + account;
    const key = await send('POST', base + '/keys', { name: 'website', models: ['fast', 'quality'], spend_limit: '25', spend_limit_daily: '2.50',
        spend_limit_monthly: '20', rate_limit: { per_second: 5, burst: 10 }, allowed_ips: ['192.0.2.0/24', '2001:db8::/32'] });
    await send('PATCH', base + '/keys/' + key.key_id, { name: 'the website' });
    await send('POST', base + '/keys/' + key.key_id + '/rotate', { overlap_hours: 24 });
    await send('POST', base + '/deposits', { amount: '25', reference: 'invoice 17' });
    const person = await send('POST', base + '/people', { email: 'ada@example.com', role: 'owner' });
    await send('POST', '/accounts', { name: 'studio north', balance: '12.5' });
    await send('PUT', '/pause', { project: false, tiers: { pro: true }, reasons: { pro: 'new weights until 14:00' } });
    return { batch: await batch(send, base), key: key.key_id, invitation: person.invitation_url.split('#')[1] };
};
fill().then(done, (error) => done({ failed: String(error) }));";

/// Fills the account, and generates a job in the playground.
pub async fn fill_account(browser: &Browser, hook: &str, prompts: &[&str]) -> Places {
    browser.go("#/webhooks", "Webhooks").await;
    browser.fill("url", hook).await;
    browser.press("Register").await;
    browser.press("Done").await;
    for prompt in prompts {
        browser.go("#/overview", "Overview").await;
        browser.go("#/playground", "Playground").await;
        browser.fill("prompt", prompt).await;
        browser.press("Generate").await;
        browser.see("p", "generated in").await;
    }
    let link = browser.find("//p[contains(., 'generated in')]/a").await;
    let job = link.attr("href").await.expect("an answer");
    let job = job.expect("an address");
    let script = format!("const done = arguments[arguments.length - 1]; {BATCH} {FILL}");
    let filled = browser.client.execute_async(&script, vec![]).await;
    let filled = filled.expect("calls that succeed");
    assert_eq!(filled.get("failed"), None, "{filled}");
    let text = |name: &str| filled[name].as_str().unwrap_or_default().to_owned();
    Places {
        job,
        batch: format!("#/batches/{}", text("batch")),
        key: format!("#/keys/{}", text("key")),
        invitation: format!("#{}", text("invitation")),
    }
}

/// Waits until the page has loaded everything, images included; returns its width.
pub async fn wait_until_loaded(browser: &Browser) -> u64 {
    let loaded = "const done = arguments[arguments.length - 1];
        const look = () => document.body.innerText.includes('Loading…') ? setTimeout(look, 20)
            : Promise.all([...document.images].map((it) => it.decode().catch(() => null))
                .concat(document.getAnimations().filter((it) => it.effect.getComputedTiming().endTime !== Infinity).map((it) => it.finished.catch(() => null))))
                .then(() => done(document.documentElement.scrollWidth));
        look();";
    let wide = browser.client.execute_async(loaded, vec![]).await;
    wide.expect("a width").as_u64().expect("a number")
}

/// Shows the page on a screen of this size in this theme.
pub async fn resize(browser: &Browser, width: u64, height: u64, theme: &str) {
    let screen =
        json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
    browser
        .tools("Emulation.setDeviceMetricsOverride", screen)
        .await;
    let colours = json!({"features": [{"name": "prefers-color-scheme", "value": theme}]});
    browser.tools("Emulation.setEmulatedMedia", colours).await;
}

/// Width, height and name of the screens.
pub const SCREENS: [(u64, u64, &str); 3] = [
    (1360, 900, "wide"),
    (390, 844, "narrow"),
    (1920, 1080, "large"),
];
