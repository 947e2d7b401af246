//! The operator's queue page.

use crate::accessibility::assert_no_barriers;
use crate::calls::calls;
use crate::pages::resize;
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
        let second = "Cancel the job at position 2 of fast";
        for answer in ["Keep job", "Cancel job"] {
            browser.see("h2", "3 jobs waiting").await;
            browser.press(second).await;
            browser.see("p", "“waits second” of default.").await;
            browser.press(answer).await;
        }
        browser.see("h2", "2 jobs waiting").await;
        // The next job is now in the place of the canceled one.
        let focused = "return document.activeElement.getAttribute('aria-label');";
        browser.comes_to(focused, json!(second)).await;
        let second = "return document.body.textContent.includes('waits second');";
        assert_eq!(browser.run(second, vec![]).await, json!(false));
        browser.press("Cancel all 2").await;
        browser.see("h2", "Cancel 2 queued jobs?").await;
        browser.press("Cancel 2 jobs").await;
        browser.see("b", "No jobs waiting").await;
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

#[test]
fn a_pause_is_shown_where_jobs_wait() {
    let slow = receiver::slow_back_end();
    let settings = slow.each_ref().map(|(name, value)| (*name, value.as_str()));
    browse_with(&settings, |service, browser| async move {
        browser.sign_in_as_operator().await;
        let script = "await make(base, { prompt: 'runs', aspect_ratio: '1:1' });
            const { job_id: job } = await make(base, { prompt: 'waits', aspect_ratio: '1:1' });
            await send('PATCH', '/pause', { tiers: { fast: true }, reasons: { fast: 'new weights' } });
            return { job };";
        let made = calls(&browser, script).await;
        browser.go("#/queue", "Queue").await;
        let card = "//div[contains(@class, 'figure') and contains(., '1 running')]";
        browser
            .find(&format!(
                "{card}[.//span[.='paused'] and .//div[.='new weights']]"
            ))
            .await;
        let switches = "const [aside, list] = ['main .aside', 'main .sheet'].map((it) => document.querySelector(it).getBoundingClientRect());
            return [aside.bottom <= list.top, aside.left >= list.right];";
        for (width, expected) in [(1360, [true, false]), (1700, [false, true])] {
            resize(&browser, width, 900, "light").await;
            browser.comes_to(switches, json!(expected)).await;
        }
        let job = made["job"].as_str().unwrap();
        browser.go(&format!("#/jobs/{job}"), "Job").await;
        let paused = "The fast model is paused (new weights). The job waits until it is resumed.";
        browser.see("div", paused).await;
        let resume = "await send('PATCH', '/pause', { tiers: { fast: false } }); return {};";
        calls(&browser, resume).await;
        browser.see("div", "The image appears here").await;
        browser.leave().await;
        drop(service);
    });
}
