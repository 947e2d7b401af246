//! The operator renames, disables and enables accounts.

use crate::browse;
use crate::browser::Browser;
use crate::calls::calls;
use crate::pages::{resize, wait_until_loaded};
use serde_json::json;

#[test]
fn an_account_is_renamed_deactivated_and_activated() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/accounts", "Accounts").await;
        browser.choose("default", "Edit").await;
        browser.see("h2", "Edit account").await;
        browser.fill("name", "studio south").await;
        browser.press_in("//dialog//button[.='Save']").await;
        browser.see("td", "studio south").await;
        // The account is selected, so the frame shows its new name.
        let frame = "//aside//*[@class='whose']/b[.='studio south']";
        browser.find(frame).await;

        browser.choose("studio south", "Deactivate").await;
        browser.see("h2", "Deactivate “studio south”?").await;
        browser.press_in("//dialog//button[.='Deactivate']").await;
        browser.see("td", "inactive").await;
        let wide = "const it = document.querySelector('main table'); return it.scrollWidth <= it.closest('.sheet').clientWidth;";
        assert_eq!(
            browser.run(wide, vec![]).await,
            json!(true),
            "all of a row is to be seen"
        );
        for (page, title) in [("keys", "API keys"), ("overview", "Overview")] {
            browser.go(&format!("#/{page}"), title).await;
            browser.see("div", "This account is deactivated").await;
            let generate =
                "return document.querySelectorAll('main a[href=\"#/playground\"].button').length;";
            browser.comes_to(generate, json!(0)).await;
        }
        browser.go("#/playground", "Playground").await;
        browser.see("div", "You cannot generate images").await;
        browser.press("Activate").await;
        browser.see("button", "Generate").await;
        let deactivated =
            "return document.querySelector('main').innerText.includes('is deactivated');";
        browser.comes_to(deactivated, json!(false)).await;
        // Another operator deactivates it.
        calls(
            &browser,
            "await send('PATCH', base, { active: false }); return {};",
        )
        .await;
        browser.comes_to(deactivated, json!(true)).await;
        browser.go("#/service", "Service").await;
        browser.comes_to(deactivated, json!(false)).await;

        browser.go("#/accounts", "Accounts").await;
        browser.choose("studio south", "Activate").await;
        browser
            .find("//main//table[not(.//*[.='inactive'])]//button[.='Deactivate']")
            .await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn the_operator_limits_an_account_and_its_people_see_the_usage() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/accounts", "Accounts").await;
        browser.choose("default", "Edit").await;
        browser.press_in("//dialog//summary[.='Limits']").await;
        browser.fill("spend_per_day", "-1").await;
        browser.press_in("//dialog//button[.='Save']").await;
        browser.see("span", "Must not be negative.").await;
        browser.fill("spend_per_day", "5").await;
        browser.fill("max_concurrent", "many").await;
        browser.press_in("//dialog//button[.='Save']").await;
        browser
            .see("span", "Enter a whole number from 1 to 1,000,000.")
            .await;
        browser.fill("max_concurrent", "20").await;
        browser.press_in("//dialog//button[.='Save']").await;
        browser.find("//main//table[not(//dialog)]").await;
        browser.go("#/overview", "Overview").await;
        browser.see("h2", "Limits of the account").await;
        browser.see("b", "0.00 of 5.00").await;
        browser.see("b", "0 of 20").await;

        browser.go("#/accounts", "Accounts").await;
        browser.choose("default", "Edit").await;
        browser.fill("spend_per_day", "").await;
        browser.fill("max_concurrent", "").await;
        browser.press_in("//dialog//button[.='Save']").await;
        browser.find("//main//table[not(//dialog)]").await;
        browser.go("#/overview", "Overview").await;
        let limited = "return document.body.textContent.includes('Limits of the account');";
        browser.comes_to(limited, json!(false)).await;
        browser.leave().await;
        drop(service);
    });
}

/// Opens an account with this balance as the operator, and selects it.
async fn open_account(browser: &Browser, name: &str, balance: &str) {
    let script = format!(
        "return await send('POST', '/accounts', {{ name: '{name}', balance: '{balance}' }});"
    );
    calls(browser, &script).await;
    browser.go("#/accounts", "Accounts").await;
    browser.press(name).await;
    browser.see("h1", "Overview").await;
}

#[test]
fn missing_funds_are_reported_at_the_button_and_on_the_overview() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        open_account(&browser, "poor", "0.05").await;
        browser.go("#/playground", "Playground").await;
        let seen = "const it = [...document.querySelectorAll('form .notice.bad')].find((it) => it.checkVisibility());
            if (!it) return 'no error';
            const box = it.getBoundingClientRect();
            return it.contains(document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2)) ? it.textContent : 'out of sight';";
        let short = "The available balance of 0.05 USD does not cover the price of 0.134 USD; add funds to the account.";
        for (width, height) in [(1280, 800), (390, 844)] {
            resize(&browser, width, height, "light").await;
            browser
                .run("document.querySelector('[value=pro]').click()", vec![])
                .await;
            browser.fill("prompt", "a fox").await;
            browser.run("scrollTo(0, 0);", vec![]).await;
            browser.press("Generate").await;
            browser.comes_to(seen, json!(short)).await;
            browser.go("#/overview", "Overview").await;
            browser.go("#/playground", "Playground").await;
        }
        resize(&browser, 1280, 800, "light").await;

        browser.go("#/people", "People").await;
        browser.press("Invite").await;
        browser.fill("email", "ada@example.com").await;
        let invitation = browser.create_invitation().await;
        // The operator adds funds; others are told whom to ask.
        browser.go("#/overview", "Overview").await;
        browser.see("div", "enough for fewer than 10 images").await;
        browser.press("Add funds").await;
        browser.fill("amount", "1").await;
        browser.press_in("//dialog//button[.='Add funds']").await;
        browser.see("div", "1.05 USD is enough for fewer").await;
        browser.follow_invitation(&invitation).await;
        browser.fill("password", "a few words to keep").await;
        browser.press("Set password").await;
        browser.see("div", "Ask the operator to add funds").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn funds_whose_answer_is_lost_before_the_session_ends_are_added_once() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/accounts", "Accounts").await;
        browser.run(crate::playground::LOSE, vec![]).await;
        let add = "//dialog//button[.='Add funds']";
        browser.press("Add funds").await;
        browser.fill("amount", "7").await;
        browser
            .run("window.lost = (url, method) => method === 'POST';", vec![])
            .await;
        browser.press_in(add).await;
        browser.see("div", "The request may have arrived").await;
        // The session ends without the page.
        let end = "return fetch('/panel/api/session', { method: 'DELETE', headers: { 'X-Tintype-Panel': '1' } }).then(() => null);";
        browser.run(end, vec![]).await;
        browser.press_in(add).await;
        browser.see("div", "Your session has ended").await;
        browser.fill("token", crate::service::TOKEN).await;
        browser.press("Sign in").await;
        browser.see("td", "107.00").await;
        browser.press("Add funds").await;
        browser.fill("amount", "7").await;
        browser.press_in(add).await;
        browser.see("div", "The balance is 107.00 USD").await;
        let keys = "const keys = sent.filter(([url]) => url.endsWith('/deposits')).map(([, key]) => key); return [keys.length, new Set(keys).size];";
        assert_eq!(browser.run(keys, vec![]).await, json!([3, 1]));
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_long_name_does_not_hide_the_actions_of_a_row() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        let name =
            "Northwind Traders International Catalogue Department (Europe, Middle East and Africa)";
        let script = format!("return await send('POST', '/accounts', {{ name: '{name}' }});");
        calls(&browser, &script).await;
        let wide = "const it = document.querySelector('main table'); return it.scrollWidth <= it.closest('.sheet').clientWidth;";
        for (width, height) in [(1280, 800), (390, 844)] {
            resize(&browser, width, height, "light").await;
            browser.go("#/overview", "Overview").await;
            browser.go("#/accounts", "Accounts").await;
            wait_until_loaded(&browser).await;
            assert_eq!(browser.run(wide, vec![]).await, json!(true), "{width}");
        }
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn names_that_are_not_unique_are_warned_of_and_told_apart() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/accounts", "Accounts").await;
        let ids = "return [...document.querySelectorAll('main tbody td.lead code')].length;";
        assert_eq!(browser.run(ids, vec![]).await, json!(0));
        browser.press("New account").await;
        browser.fill("name", "Default").await;
        browser.press("Open account").await;
        browser
            .see("span", "has this name. Choose another name")
            .await;
        browser.fill("name", "default").await;
        browser.press("Open account").await;
        browser
            .see("span", "has this name. Choose another name")
            .await;
        let count = "return document.querySelectorAll('main tbody tr').length;";
        browser.comes_to(count, json!(1)).await;
        browser.press("Open account").await;
        browser.comes_to(count, json!(2)).await;
        browser.comes_to(ids, json!(2)).await;
        browser.go("#/audit", "Audit log").await;
        let options = "return [...document.querySelectorAll('select[name=account_id] option')].filter((it) => /^default …[0-9a-f]{8}$/.test(it.textContent)).length;";
        browser.comes_to(options, json!(2)).await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_new_account_can_be_opened_at_once() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/accounts", "Accounts").await;
        browser.press("New account").await;
        browser.fill("name", "studio north").await;
        browser.press("Open account").await;
        browser.see("div", "“studio north” was opened.").await;
        browser.press("Open account").await;
        browser.see("h1", "Overview").await;
        browser
            .find("//aside//*[@class='whose']/b[.='studio north']")
            .await;
        browser
            .comes_to(
                "return document.title;",
                json!("Overview · studio north · Tintype"),
            )
            .await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn the_operator_finds_jobs_and_keys_of_any_account_by_their_ids() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        let found = calls(
            &browser,
            "const job = await make(base, { prompt: 'a lost fox', aspect_ratio: '1:1' });
             const key = await send('POST', base + '/keys', { name: 'of default' });
             await send('POST', '/accounts', { name: 'studio north' });
             return { job: job.job_id, key: key.key_id };",
        )
        .await;
        let id = |name: &str| found[name].as_str().unwrap().to_owned();
        let open_other = async || {
            browser.go("#/accounts", "Accounts").await;
            browser.press("studio north").await;
            browser.see("h1", "Overview").await;
        };
        let owner = "//aside//*[@class='whose']/b[.='default']";
        open_other().await;
        // The link to an account is no page to return to.
        browser.run("history.back();", vec![]).await;
        browser.see("h1", "Accounts").await;
        browser.go("#/jobs", "Jobs").await;
        browser
            .fill("prompt", &format!("{}\u{e007}", id("job")))
            .await;
        browser.see("p", "a lost fox").await;
        browser.find(owner).await;
        browser
            .see("div", "This belongs to default. That account is now open.")
            .await;
        let short = &id("job")[28..];
        let title = json!(format!("Job …{short} · default · Tintype"));
        browser.comes_to("return document.title;", title).await;
        open_other().await;
        browser
            .go(&format!("#/keys/{}", id("key")), "of default")
            .await;
        browser.find(owner).await;
        let title = json!("of default · default · Tintype");
        browser.comes_to("return document.title;", title).await;
        browser
            .go("#/jobs/01a1fa95-0000-7000-8000-000000000000", "Not found")
            .await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn accounts_are_searched_sorted_and_marked_when_their_balance_is_low() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        calls(
            &browser,
            "for (let at = 1; at <= 120; at += 1) await send('POST', '/accounts', { name: `customer ${at}`, balance: String(at) });
             return await send('POST', '/accounts', { name: 'the rich one', balance: '5000' });",
        )
        .await;
        browser.go("#/accounts", "Accounts").await;
        let rows = "return [...document.querySelectorAll('main tbody tr')].map((it) => it.cells[0].innerText.trim())";
        browser
            .comes_to(&format!("{rows}.length"), json!(100))
            .await;
        browser.fill("search", "RICH\u{e007}").await;
        browser.comes_to(rows, json!(["the rich one"])).await;
        browser.see("td", "5,000.00 USD").await;
        browser.fill("search", "nothing like it\u{e007}").await;
        browser.see("b", "No accounts match the filters").await;
        browser.press("Clear filters").await;
        browser
            .comes_to(&format!("{rows}.length"), json!(100))
            .await;
        let sort =
            "const it = document.querySelector('main select[name=sort]'); it.value = arguments[0];
            it.dispatchEvent(new Event('change', { bubbles: true }));";
        browser.run(sort, vec![json!("highest_balance")]).await;
        let first = "return document.querySelector('main tbody tr').cells[0].innerText.trim();";
        browser.comes_to(first, json!("the rich one")).await;
        browser.run(sort, vec![json!("lowest_balance")]).await;
        let low = "return document.querySelector('main tbody tr .badge')?.innerText ?? '';";
        browser.comes_to(low, json!("low balance")).await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_name_is_visible_beside_its_badges_and_a_balance_of_many_digits() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        calls(
            &browser,
            "for (const balance of ['0.123456', '1234567.123456']) await send('POST', '/accounts', { name: 'Northwind Traders', balance });
             const { data } = await send('GET', '/accounts?search=Northwind');
             for (const it of data) await send('PATCH', '/accounts/' + it.account_id, { active: false, low_balance: '2000000' });
             return {};",
        )
        .await;
        for (width, height) in [(1280, 800), (390, 844)] {
            resize(&browser, width, height, "light").await;
            browser.go("#/overview", "Overview").await;
            browser.go("#/accounts?search=Northwind", "Accounts").await;
            browser.find("//main//tbody[count(tr)=2]").await;
            let names = "return [...document.querySelectorAll('main td.lead b')].every((it) => it.clientWidth > 100 && it.scrollWidth <= it.clientWidth);";
            browser.comes_to(names, json!(true)).await;
            browser.comes_to(crate::layout::IN_CELLS, json!(true)).await;
        }
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn an_outdated_edit_dialog_overwrites_only_what_the_operator_changes() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/accounts", "Accounts").await;
        browser.choose("default", "Edit").await;
        browser.see("h2", "Edit account").await;
        let elsewhere = "await send('PATCH', base, { low_balance: '3', limits: { spend_per_day: '5', rate_limit: { per_second: 5, burst: 9 } } }); return {};";
        calls(&browser, elsewhere).await;
        browser.press_in("//dialog//summary[.='Limits']").await;
        browser.fill("max_concurrent", "20").await;
        browser.press_in("//dialog//button[.='Save']").await;
        browser.find("//main//table[not(//dialog)]").await;
        let account = calls(&browser, "return (await send('GET', '/accounts')).data[0];").await;
        assert_eq!(account["name"], "default");
        assert_eq!(account["low_balance"], "3.00");
        assert_eq!(account["limits"]["spend_per_day"], "5.00");
        assert_eq!(account["limits"]["rate_limit"]["per_second"], 5);
        assert_eq!(account["limits"]["max_concurrent"], 20);
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_correction_is_reported_as_a_deduction() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/accounts", "Accounts").await;
        browser.press("Add funds to default").await;
        browser.fill("amount", "-5").await;
        browser.press_in("//dialog//button[.='Add funds']").await;
        browser
            .see("div", "5.00 USD deducted. The balance is 95.00 USD.")
            .await;
        browser.leave().await;
        drop(service);
    });
}
