//! Sessions that end, and rights that change, while a page is open.

use crate::browse;
use crate::browser::Browser;
use serde_json::json;

/// Ends the session without the page.
const END: &str = "fetch('/panel/api/session', { method: 'DELETE', headers: { 'X-Tintype-Panel': '1' } }).then(() => { location.hash = '#/jobs'; });";

/// Ends the session as another browser's "Sign out everywhere" does.
const END_ELSEWHERE: &str =
    "fetch('/panel/api/sessions', { method: 'DELETE', headers: { 'X-Tintype-Panel': '1' } });";

/// Invites a person to the account that is open, and signs in as this person.
async fn enter_as(browser: &Browser, email: &str) {
    browser.go("#/people", "People").await;
    browser.press("Invite").await;
    browser.fill("email", email).await;
    let invitation = browser.create_invitation().await;
    browser.follow_invitation(&invitation).await;
    browser.fill("password", "a few words to keep").await;
    browser.press("Set password").await;
    browser.see("h1", "Overview").await;
}

#[test]
fn another_visitor_does_not_see_the_drafts_of_a_session_that_ended() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        enter_as(&browser, "ada@example.com").await;
        browser.go("#/playground", "Playground").await;
        browser.fill("prompt", "a secret plan").await;
        let typed = "return document.querySelector('[name=prompt]').value;";
        // The same person gets the draft back.
        browser.run(END, vec![]).await;
        browser.see("div", "Your session has ended").await;
        browser.fill("email", "ada@example.com").await;
        browser.fill("password", "a few words to keep").await;
        browser.press("Sign in").await;
        browser.see("h1", "Jobs").await;
        browser.go("#/playground", "Playground").await;
        browser.comes_to(typed, json!("a secret plan")).await;
        // The operator opens the same account in the same tab.
        browser.run(END, vec![]).await;
        browser.see("div", "Your session has ended").await;
        browser.press("Sign in as the operator").await;
        browser.fill("token", crate::service::TOKEN).await;
        browser.press("Sign in").await;
        browser.see("h1", "Jobs").await;
        browser.go("#/playground", "Playground").await;
        browser.comes_to(typed, json!("")).await;
        let stored = "return JSON.stringify({ ...sessionStorage }).includes('a secret plan');";
        assert_eq!(browser.run(stored, vec![]).await, json!(false));
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_dialog_and_the_open_account_outlive_a_session_of_the_operator() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/accounts", "Accounts").await;
        browser.press("New account").await;
        browser.fill("name", "studio north").await;
        browser.press("Open account").await;
        browser.press("Open account").await;
        let owner = "//aside//*[@class='whose']/b[.='studio north']";
        browser.find(owner).await;
        browser.go("#/keys", "API keys").await;
        browser.press("New key").await;
        browser.fill("name", "night build").await;
        browser.fill("allowed_ips", "192.0.2.7").await;
        browser
            .press_in("//dialog//label[input[@value='pro']]")
            .await;
        browser.run(END_ELSEWHERE, vec![]).await;
        // The operator's form is first, although it would not be once the account has people.
        browser.see("div", "Your session has ended").await;
        let sight = "return document.body.innerText.includes('studio north');";
        browser.comes_to(sight, json!(false)).await;
        browser.fill("token", crate::service::TOKEN).await;
        browser.press("Sign in").await;
        browser.see("h1", "API keys").await;
        browser.find(owner).await;
        browser.press("New key").await;
        let typed = "const of = (name) => document.querySelector(`dialog [name=${name}]`);
            return [document.querySelector('dialog .notice.info').checkVisibility(), of('name').value, of('allowed_ips').value, [...document.querySelectorAll('dialog [name=models]:checked')].map((it) => it.value)];";
        let expected = json!([true, "night build", "192.0.2.7", ["fast", "quality"]]);
        browser.comes_to(typed, expected).await;
        browser.press("Create key").await;
        browser.see("h2", "Your new key").await;
        browser.press("Done").await;
        // It is offered once.
        browser.press("New key").await;
        let empty = json!([false, "", "", ["fast", "quality", "pro"]]);
        browser.comes_to(typed, empty).await;
        browser.press("Cancel").await;
        // A dialog sends only what was changed, also after it was filled in again.
        browser.press("Change").await;
        browser.fill("name", "day build").await;
        browser.run(END_ELSEWHERE, vec![]).await;
        browser.see("div", "Your session has ended").await;
        browser.fill("token", crate::service::TOKEN).await;
        browser.press("Sign in").await;
        browser.see("td", "night build").await;
        browser.press("Change").await;
        let name = "return document.querySelector('dialog [name=name]').value;";
        browser.comes_to(name, json!("day build")).await;
        browser.press("Save").await;
        browser.see("td", "day build").await;
        browser.see("div", "Saved").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn another_visitor_does_not_get_what_was_typed_into_a_dialog() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        enter_as(&browser, "ada@example.com").await;
        browser.go("#/keys", "API keys").await;
        browser.press("New key").await;
        browser.fill("name", "a secret plan").await;
        browser.run(END_ELSEWHERE, vec![]).await;
        browser.see("div", "Your session has ended").await;
        browser.press("Sign in as the operator").await;
        browser.fill("token", crate::service::TOKEN).await;
        browser.press("Sign in").await;
        browser.see("h1", "API keys").await;
        browser.press("New key").await;
        browser.see("h2", "New API key").await;
        let typed = "return document.querySelector('dialog [name=name]').value;";
        browser.comes_to(typed, json!("")).await;
        browser.leave().await;
        drop(service);
    });
}

/// Changes a record over the operator API.
const OPERATE: &str = "const [path, body, token, done] = arguments;
    fetch('/panel/api/session').then((it) => it.json()).then(({ account_id: account, person_id: person }) =>
        fetch(`/admin/v1/accounts/${account}${path.replace('PERSON', person)}`, { method: 'PATCH', body: JSON.stringify(body),
            headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' } })).then((it) => done(it.status));";

async fn operate(browser: &Browser, path: &str, body: serde_json::Value) {
    let arguments = vec![json!(path), body, json!(crate::service::TOKEN)];
    let status = browser.client.execute_async(OPERATE, arguments).await;
    assert_eq!(status.unwrap(), json!(200));
}

#[test]
fn rights_that_change_hide_the_controls_of_an_open_page() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        enter_as(&browser, "ada@example.com").await;
        browser.go("#/keys", "API keys").await;
        let button = "//main//button[.='New key']";
        let offered = "return [...document.querySelectorAll('main button')].some((it) => it.textContent === 'New key');";
        browser.find(button).await;
        operate(&browser, "", json!({"active": false})).await;
        browser.comes_to(offered, json!(false)).await;
        let off = "This account is deactivated.";
        for (page, title) in [
            ("keys", "API keys"),
            ("jobs", "Jobs"),
            ("overview", "Overview"),
        ] {
            browser.go(&format!("#/{page}"), title).await;
            browser.see("main", off).await;
            let notices = "return [...document.querySelectorAll('main .notice')].filter((it) => it.textContent.includes('is deactivated')).length;";
            browser.comes_to(notices, json!(1)).await;
        }
        let generate = "return document.querySelectorAll('main a[href=\"#/playground\"]').length;";
        browser.comes_to(generate, json!(0)).await;
        browser.go("#/playground", "Playground").await;
        browser.see("main", "You cannot generate images").await;
        browser.go("#/keys", "API keys").await;
        operate(&browser, "", json!({"active": true})).await;
        browser.find(button).await;

        // Without the event stream, the rejected change shows it.
        let silence = "window.EventSource = class { addEventListener() {} close() {} };";
        browser.run(silence, vec![]).await;
        browser.go("#/jobs", "Jobs").await;
        browser.go("#/keys", "API keys").await;
        browser.find(button).await;
        operate(&browser, "/people/PERSON", json!({"role": "viewer"})).await;
        browser.press("New key").await;
        browser.fill("name", "too late").await;
        browser.press("Create key").await;
        browser.see("div", "Your permissions have changed.").await;
        browser.comes_to(offered, json!(false)).await;
        // A closed dialog is removed in its event.
        let dialogs = "return document.querySelectorAll('dialog').length;";
        browser.comes_to(dialogs, json!(0)).await;
        browser.leave().await;
        drop(service);
    });
}
