//! From an empty directory to a delivered image, in the browser alone.

use crate::{browse, receiver};
use serde_json::json;
use std::time::Instant;

#[test]
fn an_invited_person_generates_an_image_that_is_charged_and_delivered() {
    browse(|service, browser| async move {
        let began = Instant::now();
        let hook = receiver::answering("200 OK", "thanks");
        browser.sign_in_as_operator().await;

        browser.go("#/people", "People").await;
        browser.press("Invite").await;
        browser.fill("email", "ada@example.com").await;
        let invitation = browser.create_invitation().await;
        browser.follow_invitation(&invitation).await;
        browser.fill("password", "short").await;
        browser.press("Set password").await;
        browser.see("span", "Has 5 characters").await;
        browser.fill("password", "a few words to keep").await;
        browser.press("Set password").await;
        browser.see("h1", "Overview").await;

        browser.go("#/keys", "API keys").await;
        browser.press("New key").await;
        browser.fill("name", "website").await;
        browser.fill("spend_limit", "5").await;
        browser.press("Create key").await;
        let key = browser.find("//dialog//div[@class='secret']/code").await;
        assert!(key.text().await.unwrap().starts_with("tt_"));
        browser.press("Done").await;
        browser.see("td", "website").await;

        browser.go("#/webhooks", "Webhooks").await;
        browser.fill("url", &hook).await;
        browser.press("Register").await;
        let secret = browser.find("//dialog//div[@class='secret']/code").await;
        assert!(secret.text().await.unwrap().starts_with("whsec_"));
        browser.press("Done").await;
        browser.see("span", &hook).await;

        browser.go("#/playground", "Playground").await;
        browser.fill("prompt", "a lighthouse in a storm").await;
        browser.press("Generate").await;
        browser.see("p", "generated in").await;
        let shown = "const it = document.querySelector('.stage img'); return it && it.complete ? it.naturalWidth : 0;";
        let mut width = json!(0);
        while width == json!(0) {
            width = browser.run(shown, vec![]).await;
        }
        assert_eq!(width, json!(1024));

        browser.go("#/jobs", "Jobs").await;
        browser.press("a lighthouse in a storm").await;
        browser.see("b", "Done").await;
        browser.see("b", "HTTP 200").await;
        browser.see("code", "thanks").await;
        // For information: the test does not judge the speed of the machine.
        println!(
            "to a delivered image in {:.1} s",
            began.elapsed().as_secs_f32()
        );

        browser.go("#/ledger", "Ledger").await;
        browser.see("b", "Charge").await;
        browser.press("Sign out").await;
        browser.see("h1", "Sign in").await;
        browser.fill("email", "ada@example.com").await;
        browser.fill("password", "a few words to keep").await;
        browser.press("Sign in").await;
        browser.see("h1", "Overview").await;

        // The audit log keeps the entries of a removed person.
        browser.press("Sign out").await;
        browser.see("h1", "Sign in").await;
        browser.sign_in_as_operator().await;
        browser.go("#/people", "People").await;
        browser.choose("ada@example.com", "Remove").await;
        browser.press_in("//dialog//button[.='Remove']").await;
        browser.see("b", "No people yet").await;
        browser.go("#/audit", "Audit log").await;
        browser.see("p", "accepted the invitation").await;
        let nameless = "return [...document.querySelectorAll('td b')].filter((it) => ['', 'person'].includes(it.textContent)).length;";
        assert_eq!(browser.run(nameless, vec![]).await, json!(0));
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_paused_model_is_refused() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/service", "Service").await;
        browser.press_in("//label[contains(., 'Pause fast')]").await;
        browser.see("h2", "Pause fast?").await;
        browser.fill("reason", "new weights until 14:00").await;
        browser.press("Pause").await;
        browser.see("div", "paused: new weights until 14:00").await;
        browser.go("#/playground", "Playground").await;
        browser.see("span", "fast (paused)").await;
        browser
            .run(
                "document.querySelector('input[value=fast]').click()",
                vec![],
            )
            .await;
        browser
            .see("div", "The fast model is paused (new weights until 14:00)")
            .await;
        browser.fill("prompt", "a fox").await;
        browser.press("Generate").await;
        browser
            .see("span", "Choose a model that is not paused.")
            .await;
        browser.go("#/overview", "Overview").await;
        browser
            .see("div", "Paused: fast (new weights until 14:00)")
            .await;
        browser.go("#/service", "Service").await;
        browser.press_in("//label[contains(., 'Pause fast')]").await;
        browser.see("div", "Resumed").await;
        browser.go("#/audit", "Audit log").await;
        browser.see("p", "The operator paused fast.").await;
        browser.see("p", "The operator resumed fast.").await;
        browser.leave().await;
        drop(service);
    });
}
