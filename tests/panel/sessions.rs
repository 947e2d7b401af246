//! Sessions that end, and rights that change, while a page is open.

use crate::browse;
use crate::browser::Browser;
use serde_json::json;

/// Ends the session without the page.
const END: &str = "fetch('/panel/api/session', { method: 'DELETE', headers: { 'X-Tintype-Panel': '1' } }).then(() => { location.hash = '#/jobs'; });";

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
