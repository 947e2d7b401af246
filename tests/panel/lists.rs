//! Lists longer than a page: which pages load, in which order, and what is shown. The tests write the service's answers, so
//! that each test decides when they arrive.

use crate::browse;
use crate::browser::Browser;
use serde_json::json;

/// Puts a list on the page. Its calls wait in `calls` until `answer(call, rows, cursor)`.
const LIST: &str = "
const done = arguments[arguments.length - 1];
const build = async () => {
    const { listing, empty } = await import('/panel/assets/lists.js');
    const { refresher } = await import('/panel/assets/refresh.js');
    window.calls = [];
    window.question = 'a';
    window.fetch = (url, { signal }) => new Promise((resolve, reject) => {
        const call = { url, resolve, reject, open: true };
        signal.addEventListener('abort', () => { call.open = false; reject(new DOMException('aborted', 'AbortError')); });
        calls.push(call);
    });
    window.answer = (call, rows, cursor) => { call.open = false; call.resolve(new Response(JSON.stringify({ data: rows, next_cursor: cursor ?? null }))); };
    window.refuse = (call, detail) => { call.open = false; call.resolve(new Response(JSON.stringify({ detail }), { status: 422 })); };
    const stop = new AbortController();
    const { node, reloader } = refresher(stop.signal);
    window.list = listing({
        path: () => `/things?question=${question}`, context: { signal: stop.signal, reloader }, size: 2, none: empty('Nothing here', ''),
        show: (rows) => { const shown = document.createElement('ol'); for (const row of rows) { const it = document.createElement('li'); it.textContent = row; shown.append(it); } return shown; },
    });
    document.getElementById('app').replaceChildren(node, list.node);
    window.rows = () => [...list.node.querySelectorAll('li')].map((it) => it.textContent).join(' ');
};
build().then(() => done(null), (error) => done(String(error)));";

async fn build(browser: &Browser) {
    browser.open("").await;
    browser.see("h1", "Sign in").await;
    let failed = browser.client.execute_async(LIST, vec![]).await.unwrap();
    assert_eq!(failed, json!(null));
}

/// Runs a script in the page. It can wait for calls (`asked`) and for a condition (`until`), and press buttons.
async fn steps(browser: &Browser, script: &str) -> serde_json::Value {
    let script = format!(
        "const done = arguments[arguments.length - 1];
         const tick = () => new Promise((wake) => setTimeout(wake, 0));
         const asked = async (count) => {{ while (calls.length < count) await tick(); return calls[count - 1]; }};
         const until = async (holds) => {{ let found; while (!(found = holds())) await tick(); return found; }};
         const button = (words) => [...document.querySelectorAll('button')].find((it) => it.textContent === words && it.ariaDisabled !== 'true');
         const press = async (words) => (await until(() => button(words))).click();
         const run = async () => {{ {script} }};
         run().then(done, (error) => done('failed: ' + error));"
    );
    browser.client.execute_async(&script, vec![]).await.unwrap()
}

#[test]
fn results_of_older_pages_remain_after_a_refresh() {
    browse(|service, browser| async move {
        build(&browser).await;
        let found = steps(
            &browser,
            "list.begin();
             answer(await asked(1), [], '0199c2');
             answer(await asked(2), [], '0199c1');
             answer(await asked(3), ['found'], '0199c0');
             const before = await until(rows);
             // What is known to be empty is not read again.
             const again = list.load();
             answer(await asked(4), [], '0199c2');
             answer(await asked(5), ['found'], '0199c0');
             await again;
             // Newer rows have pushed it to the next page.
             const pushed = list.load();
             answer(await asked(6), [], '0199c2');
             answer(await asked(7), [], '0199c0');
             answer(await asked(8), ['found'], null);
             await pushed;
             return [before, rows(), calls.map((it) => new URL(it.url, location).searchParams.get('cursor'))];",
        )
        .await;
        let cursors = json!([
            null, "0199c2", "0199c1", null, "0199c1", null, "0199c1", "0199c0"
        ]);
        assert_eq!(found, json!(["found", "found", cursors]));
        drop(service);
    });
}

#[test]
fn a_search_without_a_match_reads_on_says_how_far_and_can_be_stopped() {
    browse(|service, browser| async move {
        build(&browser).await;
        let found = steps(
            &browser,
            "const said = () => list.node.textContent;
             const at = (minutes) => (Date.UTC(2026, 10, 3, 12, minutes)).toString(16).padStart(12, '0') + '0'.repeat(20);
             const scan = (call, rows, cursor) => call.resolve(new Response(JSON.stringify({ data: rows, next_cursor: cursor, scanned: 2000 })));
             list.begin();
             scan(await asked(1), [], at(30));
             await until(() => said().startsWith('Searched 2,000 jobs, back to Nov 3, 2026'));
             scan(await asked(2), [], at(20));
             const third = await asked(3);
             const counted = said().startsWith('Searched 4,000 jobs');
             await press('Stop');
             scan(third, [], at(10));
             await until(() => button('Search older jobs'));
             const stopped = said().includes('Searched 6,000 jobs') && said().includes('No match yet.');
             // A reload keeps the place.
             const again = list.load();
             scan(await asked(4), [], at(30));
             await again;
             const kept = [calls.length, Boolean(button('Search older jobs'))];
             await press('Search older jobs');
             const last = await asked(5);
             const from = new URL(last.url, location).searchParams.get('cursor') === at(10);
             scan(last, ['found'], null);
             return [counted, stopped, kept, from, await until(rows), Boolean(button('Show more'))];",
        )
        .await;
        assert_eq!(found, json!([true, true, [4, true], true, "found", false]));
        drop(service);
    });
}

#[test]
fn the_response_to_an_outdated_query_is_not_shown() {
    browse(|service, browser| async move {
        build(&browser).await;
        let found = steps(
            &browser,
            "list.begin();
             answer(await asked(1), ['a1']); await until(rows);
             question = 'b'; const second = list.restart();
             const late = await asked(2);
             question = 'c'; const third = list.restart();
             answer(await asked(3), ['c1']);
             await third;
             const was_open = late.open;
             answer(late, ['b1']); await second;
             return [rows(), was_open, calls.length];",
        )
        .await;
        assert_eq!(found, json!(["c1", false, 3]));
        drop(service);
    });
}

#[test]
fn loading_more_twice_repeats_no_row_and_a_refresh_removes_none() {
    browse(|service, browser| async move {
        build(&browser).await;
        let found = steps(
            &browser,
            "list.begin();
             answer(await asked(1), ['1', '2'], 'p2');
             const pressed = await until(() => button('Show more'));
             pressed.click(); pressed.click(); document.querySelector('.more button').click();
             const more = await asked(2);
             const hint = list.load();
             const waited = calls.length;
             answer(more, ['3', '4'], 'p3');
             answer(await asked(3), ['1', '2'], 'p2');
             answer(await asked(4), ['3', '4'], 'p3');
             await hint;
             return [waited, rows(), calls.map((it) => new URL(it.url, location).searchParams.get('cursor'))];",
        )
        .await;
        assert_eq!(found, json!([2, "1 2 3 4", [null, "p2", null, "p2"]]));
        drop(service);
    });
}

#[test]
fn a_failed_refresh_is_reported_and_can_be_retried() {
    browse(|service, browser| async move {
        build(&browser).await;
        let found = steps(
            &browser,
            "const said = () => document.getElementById('app').innerText;
             list.begin();
             answer(await asked(1), ['1', '2'], 'p2'); await until(rows);
             const hint = list.load();
             (await asked(2)).reject(new TypeError('no network')); await hint;
             const stale = [rows(), said().includes(\"Couldn't refresh: The service did not respond\")];
             await press('Try again');
             answer(await asked(3), ['1', '2'], 'p2'); await until(() => !said().includes(\"Couldn't\"));
             const fresh = [rows(), said().includes(\"Couldn't\")];
             await press('Show more');
             (await asked(4)).reject(new TypeError('no network')); await until(() => said().includes(\"Couldn't\"));
             const further = [rows(), said().includes(\"Couldn't load more\")];
             // Rows of the old question must not appear as its answer.
             question = 'b'; const other = list.restart();
             refuse(await asked(5), 'at most 10 members can be asked for'); await other;
             const refused = [rows(), said().includes('At most 10 members')];
             await press('Try again');
             answer(await asked(6), ['b1']); await until(rows);
             return [stale, fresh, further, refused, rows()];",
        )
        .await;
        let wanted = json!([
            ["1 2", true],
            ["1 2", false],
            ["1 2", true],
            ["", true],
            "b1"
        ]);
        assert_eq!(found, wanted);
        drop(service);
    });
}
