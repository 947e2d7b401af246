//! The operator's queue page.

use crate::accessibility::assert_no_barriers;
use crate::calls::calls;
use crate::{browse_with, receiver};
use serde_json::json;

#[test]
fn queued_jobs_are_listed_and_canceled_by_their_position() {
    let slow = receiver::slow_back_end();
    let settings = slow.each_ref().map(|(name, value)| (*name, value.as_str()));
    browse_with(&settings, |service, browser| async move {
        browser.sign_in_as_operator().await;
        let script = "for (const prompt of ['runs', 'waits first', 'waits second', 'waits third']) await make(base, { prompt, aspect_ratio: '1:1' });
            return {};";
        calls(&browser, script).await;
        browser.go("#/queue?tier=fast", "Queue").await;
        browser.see("h2", "3 jobs waiting").await;
        browser
            .find("//tbody/tr[1][contains(., 'waits first') and contains(., 'default')]")
            .await;
        assert_no_barriers(&browser, "Queue").await;
        browser.press("Cancel the job at position 2 of fast").await;
        browser.see("h2", "2 jobs waiting").await;
        let second = "return document.body.textContent.includes('waits second');";
        assert_eq!(browser.run(second, vec![]).await, json!(false));
        browser.press("Cancel all 2").await;
        browser.see("h2", "Cancel 2 queued jobs?").await;
        browser.press("Cancel 2 jobs").await;
        browser.see("b", "No jobs wait").await;
        browser.see("h2", "0 jobs waiting").await;
        // A cancellation is no failure.
        let badges = "return [...document.querySelectorAll('main .badge')].map((it) => it.textContent).filter((it) => it === 'canceled').length;";
        for (page, title) in [
            ("overview", "Overview"),
            ("jobs", "Jobs"),
            ("service", "Service"),
        ] {
            browser.go(&format!("#/{page}"), title).await;
            browser.comes_to(badges, json!(3)).await;
        }
        browser.leave().await;
        drop(service);
    });
}
