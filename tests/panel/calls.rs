//! Calls of the panel API as pages make them, to set up tests that are not about those pages.

use crate::browser::Browser;
use serde_json::Value;

/// Scripts that call the panel API in the browser's session.
const CALLS: &str = "
    const headers = { 'X-Tintype-Panel': '1', 'Content-Type': 'application/json' };
    const send = async (method, path, body) => {
        const answer = await fetch('/panel/api' + path, { method, headers, body: JSON.stringify(body) });
        if (!answer.ok) throw new Error(path + ': ' + await answer.text());
        return answer.status === 204 ? null : answer.json();
    };
    const make = async (base, request) => {
        const form = new FormData();
        form.append('request', JSON.stringify(request));
        const answer = await fetch('/panel/api' + base + '/generations/fast', { method: 'POST', headers: { 'X-Tintype-Panel': '1' }, body: form });
        if (!answer.ok) throw new Error(await answer.text());
        return answer.json();
    };";

/// Runs a script in the page. It may use `send(method, path, body)`, `make(base, request)`, and `base`, the account's path.
pub async fn calls(browser: &Browser, script: &str) -> Value {
    let script = format!(
        "const done = arguments[arguments.length - 1]; {CALLS}
         const run = async () => {{ const base = '/accounts/' + (await send('GET', '/session')).account_id; {script} }};
         run().then(done, (error) => done({{ failed: String(error) }}));"
    );
    let found = browser.client.execute_async(&script, vec![]).await.unwrap();
    assert_eq!(found.get("failed"), None, "{found}");
    found
}
