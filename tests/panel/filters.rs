//! Filtered lists: by state, key, metadata and kind; more keys than one page holds; and the ledger as a file.

use crate::browse;
use crate::browser::Browser;
use crate::calls::calls;
use serde_json::json;

/// Chooses an option of a select.
async fn choose(browser: &Browser, name: &str, value: &str) {
    let script = "const it = document.querySelector(`main select[name=${arguments[0]}]`); it.value = arguments[1];
        it.dispatchEvent(new Event('change', { bubbles: true })); return it.value;";
    let chosen = browser.run(script, vec![json!(name), json!(value)]).await;
    assert_eq!(chosen, json!(value));
}

/// Waits until a list shows exactly this many rows.
async fn rows(browser: &Browser, count: usize) {
    let path =
        format!("//main//div[@class='sheet' and not(@aria-busy) and count(.//tbody/tr)={count}]");
    browser.find(&path).await;
}

#[test]
fn jobs_are_filtered_by_metadata_and_by_a_deleted_key() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        let filled = calls(
            &browser,
            "const key = await send('POST', base + '/keys', { name: 'shop' });
             for (const order of [4711, 4712]) {
                 const headers = { Authorization: 'Bearer ' + key.api_key, 'Content-Type': 'application/json' };
                 const body = JSON.stringify({ prompt: `order ${order}`, aspect_ratio: '1:1', metadata: { order } });
                 const answer = await fetch('/api/v1/nb/text-generations', { method: 'POST', headers, body });
                 if (answer.status !== 202) throw new Error(await answer.text());
             }
             await send('DELETE', base + '/keys/' + key.key_id);
             return { key: key.key_id };",
        )
        .await;
        browser.go("#/jobs", "Jobs").await;
        rows(&browser, 2).await;
        browser.fill("metadata", "nonsense\u{e007}").await;
        browser.see("span", "Enter a name and a value").await;
        browser.fill("metadata", "order=4711\u{e007}").await;
        rows(&browser, 1).await;
        browser.see("a", "order 4711").await;
        browser.press("Remove order=4711").await;
        rows(&browser, 2).await;
        choose(&browser, "tier", "pro").await;
        browser.see("b", "No jobs").await;
        let key = filled["key"].as_str().unwrap();
        browser.go(&format!("#/jobs?key={key}"), "Jobs").await;
        rows(&browser, 2).await;
        let chosen =
            "return document.querySelector('select[name=key]').selectedOptions[0].textContent;";
        let chosen = browser.run(chosen, vec![]).await;
        assert!(chosen.as_str().unwrap().ends_with("(deleted)"), "{chosen}");
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn more_keys_than_a_page_has_are_shown_chosen_from_and_rotated() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        let made = calls(
            &browser,
            "let first; for (let at = 1; at <= 97; at += 1) { const key = await send('POST', base + '/keys', { name: `key ${at}` }); first ??= key; }
             return { id: first.key_id, text: first.api_key };",
        )
        .await;
        browser.go("#/jobs", "Jobs").await;
        let there = "return [...document.querySelectorAll('select[name=key] option')].filter((it) => it.textContent === arguments[0]).length;";
        for name in ["key 1", "key 97"] {
            let found = browser.run(there, vec![json!(name)]).await;
            assert_eq!(found, json!(1), "{name}");
        }
        browser.go("#/keys", "API keys").await;
        rows(&browser, 50).await;
        browser.press("Show more").await;
        rows(&browser, 98).await;
        // A change of a row far down the list keeps the scroll position and the focus.
        let press =
            "const row = [...document.querySelectorAll('tbody tr')].at(-1); row.dataset.old = '1';
            const it = row.querySelector('[popovertarget]'); it.focus(); it.click();
            return [row.dataset.key, it.ariaLabel];";
        let pressed = browser.run(press, vec![]).await;
        let row = pressed[1].as_str().unwrap();
        browser
            .press_in("//tbody/tr[last()]//button[.='Deactivate']")
            .await;
        browser.press_in("//dialog//button[.='Deactivate']").await;
        browser
            .find("//tbody[not(tr[@data-old])]/tr[last()][contains(., 'inactive')]")
            .await;
        rows(&browser, 98).await;
        let stands = "const it = document.activeElement; return [it.closest('tr')?.dataset.key, it.ariaLabel];";
        let expected = json!([pressed[0], row]);
        browser.comes_to(stands, expected).await;

        let id = made["id"].as_str().unwrap();
        browser.go(&format!("#/keys/{id}"), "key 1").await;
        browser.press("Rotate").await;
        browser.see("h2", "Rotate").await;
        browser.press("Rotate key").await;
        browser.see("h2", "Your new key").await;
        let titles = "return [...document.querySelectorAll('dialog')].map((it) => document.getElementById(it.getAttribute('aria-labelledby')).textContent);";
        let titles = browser.run(titles, vec![]).await;
        assert_eq!(titles, json!(["Your new key"]));
        let text = browser.find("//dialog//div[@class='secret']/code").await;
        let text = text.text().await.unwrap();
        assert!(text.starts_with("tt_"), "{text}");
        assert_ne!(Some(text.as_str()), made["text"].as_str());
        // While a dialog is open, messages appear in it, because everything else is inert.
        browser.press_in("//dialog//button[.='Copy']").await;
        browser.find("//dialog/div[@role='status']/div").await;
        browser.press("Done").await;
        browser.see("div", "The old key works until").await;
        let back = "return document.activeElement.textContent;";
        browser.comes_to(back, json!("Rotate")).await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn the_ledger_is_filtered_and_its_file_contains_the_shown_entries() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        calls(
            &browser,
            "for (let at = 1; at <= 60; at += 1) await send('POST', base + '/deposits', { amount: '1', reference: `invoice ${at}` });
             await send('POST', base + '/deposits', { amount: '-2', reference: 'a slip' });
             return {};",
        )
        .await;
        browser.go("#/ledger", "Ledger").await;
        rows(&browser, 50).await;
        browser.press("Show more").await;
        browser.see("div", "invoice 1").await;
        choose(&browser, "kind", "adjustment").await;
        rows(&browser, 1).await;
        browser.see("div", "a slip").await;
        let file = "const done = arguments[arguments.length - 1], link = [...document.querySelectorAll('a')].find((it) => it.textContent === 'Download CSV');
            fetch(link.href).then(async (it) => done([link.hasAttribute('download'), it.headers.get('content-type'), await it.text()]));";
        let file = browser.client.execute_async(file, vec![]).await.unwrap();
        assert_eq!(file[0], json!(true));
        assert_eq!(file[1], json!("text/csv; charset=utf-8"));
        let lines: Vec<&str> = file[2].as_str().unwrap().lines().collect();
        assert!(lines[0].starts_with("created_at,kind,amount"), "{lines:?}");
        assert!(lines[1].contains("a slip"), "{lines:?}");
        assert_eq!(lines.len(), 2, "{lines:?}");
        // The days are those of the usage page, in every time zone.
        let days = "const set = (name, value) => { const it = document.querySelector(`main input[name=${name}]`); it.value = value;
                it.dispatchEvent(new Event('change', { bubbles: true })); };
            set('from', '2026-11-01'); set('to', '2026-11-30');
            return [...new URLSearchParams(location.hash.split('?')[1]).values()].slice(1);";
        let moments = ["2026-11-01T00:00:00.000Z", "2026-11-30T23:59:59.999Z"];
        assert_eq!(browser.run(days, vec![]).await, json!(moments));
        browser.see("label", "From (UTC)").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn filters_that_match_nothing_are_cleared_and_reversed_days_are_an_error() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        for (page, title, filter, things) in [
            ("jobs", "Jobs", "tier=pro", "jobs"),
            ("gallery", "Gallery", "favourite=true", "images"),
            ("deliveries", "Deliveries", "status=failed", "deliveries"),
            ("ledger", "Ledger", "kind=adjustment", "entries"),
            ("audit", "Audit log", "action=batch", "entries"),
        ] {
            browser.go(&format!("#/{page}?{filter}"), title).await;
            browser
                .see("b", &format!("No {things} match the filters"))
                .await;
            browser.press("Clear filters").await;
            browser
                .comes_to("return location.hash;", json!(format!("#/{page}")))
                .await;
            browser
                .find("//main//div[@class='sheet' and not(.//a[.='Clear filters'])]")
                .await;
        }
        browser.go("#/jobs", "Jobs").await;
        let day = "const it = document.querySelector(`main input[name=${arguments[0]}]`); it.value = arguments[1];
            it.dispatchEvent(new Event('change', { bubbles: true }));";
        let set = async |name: &str, value: &str| {
            let arguments = vec![json!(name), json!(value)];
            browser.run(day, arguments).await;
        };
        set("created_after", "2026-11-03").await;
        set("created_before", "2026-11-02").await;
        browser
            .see("span", "Must not be before the first day.")
            .await;
        let asked = "return location.hash.includes('created_after') && !location.hash.includes('created_before');";
        assert_eq!(browser.run(asked, vec![]).await, json!(true));
        // The other field mends it, and both apply.
        set("created_after", "2026-11-01").await;
        let faults = "return [...document.querySelectorAll('main .fault')].filter((it) => !it.hidden).length;";
        browser.comes_to(faults, json!(0)).await;
        let both = "const search = new URLSearchParams(location.hash.split('?')[1]);
            return search.get('created_after') < search.get('created_before');";
        browser.comes_to(both, json!(true)).await;
        browser
            .go("#/jobs/01a21445-96af-7295-81ae-2106b2cd8eab", "Not found")
            .await;
        browser.see("div", "There is no such job").await;
        browser.press("All jobs").await;
        browser.find("//h1[.='Jobs']").await;
        browser.leave().await;
        drop(service);
    });
}
