//! The usage page, and the first steps on the overview.

use crate::calls::calls;
use crate::{browse, browse_alone, receiver};
use serde_json::json;

#[test]
fn usage_is_shown_by_key_and_model_and_downloaded() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        let made = "return await make(base, { prompt: 'a fox', aspect_ratio: '1:1' });";
        calls(&browser, made).await;
        browser.go("#/usage", "Usage").await;
        browser
            .find("//tr[contains(., 'panel')]//td[.='0.039 USD']")
            .await;
        browser
            .find("//tr[contains(., 'fast · 1K')]//td[.='0.039 USD']")
            .await;
        let label = "return document.querySelector('svg.chart').getAttribute('aria-label');";
        let said = "Spend per day by model over 30 days, about 0.04 USD in all";
        browser.comes_to(label, json!(said)).await;
        let file = "const done = arguments[0]; fetch(document.querySelector('a[download]').href).then((it) => it.text()).then((it) => done(it.split('\\r\\n')[0]));";
        let head = browser.client.execute_async(file, vec![]).await.unwrap();
        let expected = "day,key_id,key_name,model,resolution,done,failed,spent,currency";
        assert_eq!(head, json!(expected));
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn usage_of_chosen_days_is_shown_and_downloaded() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser
            .go("#/usage?from=2026-02-01&to=2026-02-28", "Usage")
            .await;
        browser.see("span", "in 28 days").await;
        let set = async |name: &str, value: &str| {
            let script = "const it = document.querySelector(`main input[name=${arguments[0]}]`); it.value = arguments[1];
                it.dispatchEvent(new Event('change', { bubbles: true }));";
            browser.run(script, vec![json!(name), json!(value)]).await;
        };
        set("to", "2026-01-31").await;
        browser
            .see("span", "Must not be before the first day.")
            .await;
        set("to", "2027-02-02").await;
        browser
            .see("span", "The range may have at most 366 days.")
            .await;
        set("to", "2026-02-02").await;
        browser.see("span", "in 2 days").await;
        let links = "return [location.hash, document.querySelector('a[download]').getAttribute('href').replace(/.*[/]/, '')];";
        let range = "from=2026-02-01&to=2026-02-02";
        let expected = json!([format!("#/usage?{range}"), format!("usage.csv?{range}")]);
        browser.comes_to(links, expected).await;
        browser.press("14 days").await;
        browser.see("span", "in 14 days").await;
        let empty =
            "return [...document.querySelectorAll('main input[type=date]')].map((it) => it.value);";
        browser.comes_to(empty, json!(["", ""])).await;
        browser
            .comes_to("return location.hash;", json!("#/usage"))
            .await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn the_operator_sees_the_usage_of_all_accounts_and_the_total_of_a_day() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        let made = "return await make(base, { prompt: 'a fox', aspect_ratio: '1:1' });";
        calls(&browser, made).await;
        browser.go("#/all-usage", "Usage of all accounts").await;
        browser
            .find("//tr[contains(., 'default')]//td[.='0.039 USD']")
            .await;
        let hover = "document.querySelector('svg.chart > g:last-child').dispatchEvent(new PointerEvent('pointerenter'));
            return document.querySelector('.values').textContent.replace(/^[^:]*/, '');";
        browser.comes_to(hover, json!(": fast 0.039 USD")).await;
        let file = "return document.querySelector('a[download]').getAttribute('href');";
        let expected = json!("/panel/api/usage.csv?days=30");
        assert_eq!(browser.run(file, vec![]).await, expected);
        browser.press("default").await;
        browser.see("h1", "Usage").await;
        browser.see("h2", "By key").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn first_steps_are_ticked_off_and_can_be_hidden() {
    // Nodes do not back up their own records, so their list has no such step.
    browse_alone(&[], |service, browser| async move {
        let hook = receiver::answering("200 OK", "{}");
        browser.sign_in_as_operator().await;
        browser.see("h2", "First steps").await;
        browser.see("span", "1 of 6 done").await;
        browser
            .find("//li[contains(., 'Connect a model') and not(@class)]")
            .await;
        let script = format!(
            "await send('POST', base + '/webhooks', {{ url: '{hook}' }});
             return await make(base, {{ prompt: 'a fox', aspect_ratio: '1:1' }});"
        );
        calls(&browser, &script).await;
        browser.see("span", "3 of 6 done").await;
        browser
            .find("//li[@class='done' and contains(., 'Generate an image')]")
            .await;
        browser
            .find("//li[@class='done' and contains(., 'Add a webhook')]")
            .await;
        browser
            .find("//li[not(@class)]//a[@href='#/people' and contains(., 'People')]")
            .await;
        browser
            .find("//li[not(@class) and contains(., 'tintype backup backups')]")
            .await;
        // The newest jobs all failed.
        let fail = "window.fetch = ((real) => async (url, options) => {
                const answer = await real(url, options);
                if (!url.endsWith('/jobs?limit=12')) return answer;
                return new Response(JSON.stringify({ data: [], next_cursor: null }));
            })(window.fetch);";
        browser.run(fail, vec![]).await;
        browser.go("#/ledger", "Ledger").await;
        browser.go("#/overview", "Overview").await;
        browser.see("b", "No images yet").await;
        browser
            .find("//li[@class='done' and contains(., 'Generate an image')]")
            .await;
        browser.press("Hide").await;
        let gone = "return document.body.textContent.includes('First steps');";
        browser.comes_to(gone, json!(false)).await;
        browser.client.refresh().await.unwrap();
        browser.see("h1", "Overview").await;
        browser.see("h2", "Latest").await;
        assert_eq!(browser.run(gone, vec![]).await, json!(false));
        browser.leave().await;
        drop(service);
    });
}
