//! Pages notice that they are out of date: the end of the session, of the stream and of the service, and changes by others.

use crate::browse;
use crate::browser::Browser;
use crate::calls::calls;
use serde_json::json;

/// Ends the session without the page, as another browser's "Sign out everywhere" does.
const END: &str = "const done = arguments[arguments.length - 1];
    fetch('/panel/api/sessions', { method: 'DELETE', headers: { 'X-Tintype-Panel': '1' } }).then((it) => done(it.status));";

#[test]
fn the_end_of_a_session_elsewhere_shows_the_sign_in_page() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        // An open dialog closes with its page.
        browser.go("#/keys", "API keys").await;
        browser.press("New key").await;
        browser.see("h2", "New API key").await;
        let ended = browser.client.execute_async(END, vec![]).await.unwrap();
        assert_eq!(ended, json!(204));
        browser.see("h1", "Sign in").await;
        let open = "return document.querySelectorAll('dialog').length;";
        assert_eq!(browser.run(open, vec![]).await, json!(0));
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_lost_connection_is_shown_and_a_failed_sign_out_is_reported() {
    browse(|mut service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/ledger", "Ledger").await;
        browser.see("b", "Deposit").await;
        let top = "return document.querySelector('main h1').getBoundingClientRect().top;";
        let before = browser.run(top, vec![]).await;
        service.end();
        browser.see("div", "Connection lost").await;
        // A click at this moment hits what the user saw.
        assert_eq!(browser.run(top, vec![]).await, before);
        browser.press("Sign out").await;
        browser.see("div", "You are still signed in").await;
        browser.see("h1", "Ledger").await;
        // The page can load nothing any more, so it cannot be left normally.
        drop(browser);
    });
}

/// Records the streams that the page opens from now on.
const NOTE: &str = "window.streams = []; const Real = window.EventSource;
    window.EventSource = class extends Real { constructor(url) { super(url); streams.push(url); } };";

async fn stream_of(browser: &Browser, page: &str, title: &str) -> String {
    browser.run("streams.length = 0", vec![]).await;
    browser.go(page, title).await;
    let opened = "const done = arguments[arguments.length - 1];
        const look = () => (streams.length ? done(streams.at(-1)) : setTimeout(look, 20)); look();";
    let url = browser.client.execute_async(opened, vec![]).await.unwrap();
    url.as_str().unwrap().to_owned()
}

#[test]
fn pages_of_the_operator_get_events_of_all_accounts_and_pages_of_an_account_only_its_events() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.run(NOTE, vec![]).await;
        for (page, title) in [
            ("#/service", "Service"),
            ("#/accounts", "Accounts"),
            ("#/audit", "Audit log"),
        ] {
            let url = stream_of(&browser, page, title).await;
            assert_eq!(url, "/panel/api/events", "{page}");
        }
        let url = stream_of(&browser, "#/ledger", "Ledger").await;
        assert!(url.starts_with("/panel/api/accounts/"), "{url}");
        browser.go("#/accounts", "Accounts").await;
        let deposit = "await send('POST', base + '/deposits', { amount: '7' }); return {};";
        browser.see("td", "100.00").await;
        calls(&browser, deposit).await;
        browser.see("td", "107.00").await;
        browser.leave().await;
        drop(service);
    });
}

/// Answers the next stream with 404, as a proxy does whose service is down.
const REFUSE: &str = "let opened = 0; const Real = window.EventSource;
    window.EventSource = class extends Real { constructor(url) { super(opened++ ? url : '/panel/api/nothing'); } };";

#[test]
fn a_stream_that_was_refused_is_opened_again() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.run(REFUSE, vec![]).await;
        browser.go("#/ledger", "Ledger").await;
        let deposit = "await send('POST', base + '/deposits', { amount: '7', reference: 'unheard of' }); return {};";
        calls(&browser, deposit).await;
        browser.see("div", "unheard of").await;
        browser.leave().await;
        drop(service);
    });
}

/// Pages get no events from now on: they keep what they loaded.
const DEAFEN: &str = "window.EventSource = class { addEventListener() {} close() {} };";

#[test]
fn a_switch_changed_on_an_outdated_page_changes_no_other_switch() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.run(DEAFEN, vec![]).await;
        browser.go("#/service", "Service").await;
        calls(
            &browser,
            "await send('PUT', '/pause', { tiers: { fast: true } }); return {};",
        )
        .await;
        browser.press_in("//label[contains(., 'Pause pro')]").await;
        browser.see("h2", "Pause pro?").await;
        browser.press("Pause").await;
        browser.see("div", "no reason given").await;
        let pause = calls(&browser, "return await send('GET', '/pause');").await;
        assert_eq!(pause["tiers"]["fast"], json!(true), "{pause}");
        assert_eq!(pause["tiers"]["pro"], json!(true), "{pause}");
        browser.leave().await;
        drop(service);
    });
}

/// Lists of keys never get an answer from now on.
const STALL: &str = "const real = window.fetch; window.fetch = (url, options) => (options.method === 'GET' && url.includes('/keys?')
    ? new Promise((_, reject) => options.signal.addEventListener('abort', () => reject(new DOMException('gone', 'AbortError'))))
    : real(url, options));";

#[test]
fn leaving_the_page_does_not_report_a_completed_change_as_failed() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/keys", "API keys").await;
        browser.run(STALL, vec![]).await;
        browser.choose("first", "Deactivate").await;
        browser.press_in("//dialog//button[.='Deactivate']").await;
        browser.see("div", "Deactivated").await;
        browser.go("#/ledger", "Ledger").await;
        let bad =
            "return [...document.querySelectorAll('.toast.bad')].map((it) => it.textContent);";
        assert_eq!(browser.run(bad, vec![]).await, json!([]));
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn relative_times_and_the_queue_stay_current_without_an_event() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/accounts", "Accounts").await;
        browser.see("td", "default").await;
        // The same element changes: a list that is loaded again has new elements.
        let ticks = "const time = document.querySelector('td time');
            if (time !== window.shown) [window.shown, window.before] = [time, time.textContent];
            return time.textContent !== before;";
        browser.comes_to(ticks, json!(true)).await;

        let count = "window.loads = 0; const real = window.fetch;
            window.fetch = (path, ...rest) => { if (String(path).startsWith('/panel/api/queue')) loads += 1; return real(path, ...rest); };";
        browser.run(count, vec![]).await;
        browser.go("#/queue", "Queue").await;
        browser.see("b", "No jobs waiting").await;
        browser.comes_to("return loads >= 3;", json!(true)).await;
        browser.leave().await;
        drop(service);
    });
}

/// Counts the events that the page gets, and the lists that it loads.
const COUNT: &str = "window.events = 0; window.loads = 0;
    const Real = window.EventSource;
    window.EventSource = class extends Real {
        constructor(url) { super(url); for (const name of ['ready', 'changed']) this.addEventListener(name, () => { events += 1; }); }
    };
    const real = window.fetch;
    window.fetch = (path, ...rest) => { if (String(path).includes('/transactions?')) loads += 1; return real(path, ...rest); };";

#[test]
fn a_page_is_not_redrawn_while_the_user_selects_text_or_presses_a_button() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.run(COUNT, vec![]).await;
        browser.go("#/ledger", "Ledger").await;
        browser.see("b", "Deposit").await;
        // The page and the stream have each caused a load, and none is under way.
        browser
            .comes_to(
                "return events > 0 && loads > 1 && !document.querySelector('[aria-busy]');",
                json!(true),
            )
            .await;
        let press = "document.querySelector('main').dispatchEvent(new PointerEvent(arguments[0], { bubbles: true, button: 0, isPrimary: true }));";
        let select = "getSelection().selectAllChildren(document.querySelector('main h1'));";
        let deselect = "getSelection().removeAllRanges();";
        for (amount, begin, end, event) in [
            ("7", select, deselect, ""),
            ("8", press, press, "pointerdown"),
        ] {
            browser.run(begin, vec![json!(event)]).await;
            browser
                .run("window.events = 0; window.loads = 0;", vec![])
                .await;
            let deposit = format!(
                "await send('POST', base + '/deposits', {{ amount: '{amount}', reference: 'number {amount}' }}); return {{}};"
            );
            calls(&browser, &deposit).await;
            browser.comes_to("return events > 0;", json!(true)).await;
            assert_eq!(
                browser.run("return loads;", vec![]).await,
                json!(0),
                "{amount}"
            );
            browser.run(end, vec![json!("pointerup")]).await;
            browser.see("div", &format!("number {amount}")).await;
        }
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_code_block_stays_scrolled_when_the_page_is_redrawn() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        let job = calls(
            &browser,
            "return await make(base, { prompt: 'a fox', aspect_ratio: '1:1', metadata: { order: 'a long text '.repeat(40) } });",
        )
        .await;
        let path = format!("#/jobs/{}", job["job_id"].as_str().unwrap());
        browser.go(&path, "Job").await;
        browser.see("h2", "Metadata").await;
        browser
            .run(
                "window.before = document.querySelector('main pre'); before.scrollLeft = 40;",
                vec![],
            )
            .await;
        let deposit = "await send('POST', base + '/deposits', { amount: '7' }); return {};";
        calls(&browser, deposit).await;
        let position = "const it = document.querySelector('main pre'); return it === before ? null : it.scrollLeft;";
        browser.comes_to(position, json!(40)).await;
        browser.leave().await;
        drop(service);
    });
}
