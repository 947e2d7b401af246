//! What the operator sees of backends and of the jobs that fail on them.

use crate::calls::calls;
use crate::{browse_alone, browse_with};
use serde_json::json;

#[test]
fn a_backend_is_shown_with_its_observed_health_and_a_failed_job_with_its_cause() {
    let settings = [
        ("TINTYPE__BACKENDS__GONE__KIND", "openai"),
        ("TINTYPE__BACKENDS__GONE__BASE_URL", "http://127.0.0.1:9/v1"),
        ("TINTYPE__BACKENDS__GONE__RETRIES", "0"),
        ("TINTYPE__TIERS__FAST__BACKENDS", "[{ name = \"gone\" }]"),
    ];
    // A node shows the health that it has observed itself.
    browse_alone(&settings, |service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/service", "Service").await;
        let state = |name: &str| format!("//li[.//b[.='{name}']]//span[contains(@class, 'badge')]");
        browser
            .find(&format!("{}[.='unknown']", state("gone")))
            .await;
        browser
            .find(&format!("{}[.='unknown']", state("builtin")))
            .await;
        let made = "return await make(base, { prompt: 'a red fox', aspect_ratio: '1:1' });";
        let job = calls(&browser, made).await;
        browser
            .find(&format!("{}[.='degraded']", state("gone")))
            .await;
        browser.see("li", "1 failure in a row").await;
        browser.see("li", "no connection").await;
        browser
            .see("li", "Last hour: 1 attempt, 1 failed (100 %)")
            .await;
        browser.press_in("//button[@aria-label='Test gone']").await;
        browser
            .find("//ul[@aria-label='Test of gone']/li[contains(., 'Fails:')]")
            .await;
        browser
            .press_in("//button[@aria-label='Test builtin']")
            .await;
        browser
            .find("//ul[@aria-label='Test of builtin']/li[contains(., 'needs no network')]")
            .await;
        browser.find(&format!("{}[.='up']", state("builtin"))).await;
        // The list over all accounts names the job's account.
        browser
            .find("//tr[contains(., 'a red fox')]//button[.='default']")
            .await;
        browser
            .find("//tr[contains(., 'a red fox')]//span[.='The image generator could not be reached.']")
            .await;
        browser.go("#/jobs?status=failed", "Jobs").await;
        browser
            .find("//tr[contains(., 'a red fox')]//span[.='The image generator could not be reached.']")
            .await;
        let page = format!("#/jobs/{}", job["job_id"].as_str().unwrap());
        browser.go(&page, "Job").await;
        browser.see("h2", "Cause").await;
        browser.see("li", "no connection").await;
        browser
            .find("//dd/a[starts-with(., 'panel tt_')]/code")
            .await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn jobs_of_all_accounts_have_thumbnails_and_charges_describe_their_jobs() {
    browse_with(&[], |service, browser| async move {
        browser.sign_in_as_operator().await;
        let made = "return await make(base, { prompt: 'a heron at dawn', aspect_ratio: '1:1' });";
        calls(&browser, made).await;
        browser.go("#/service", "Service").await;
        browser
            .find("//tr[contains(., 'a heron at dawn')]//img")
            .await;
        let loaded = "const it = document.querySelector('tbody img'); return Boolean(it?.complete && it.naturalWidth);";
        browser.comes_to(loaded, json!(true)).await;
        browser.go("#/ledger", "Ledger").await;
        let charge = "//tr[contains(., 'Charge')]";
        browser
            .find(&format!("{charge}//a[.='a heron at dawn']"))
            .await;
        browser
            .find(&format!("{charge}//div[.='fast · 1K · key panel']"))
            .await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn the_operator_is_warned_of_a_disk_that_is_nearly_full() {
    let settings = [("TINTYPE__OPERATOR__DISK_LOW_BYTES", "1152921504606846976")];
    browse_with(&settings, |service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.see("div", "The disk is nearly full: ").await;
        browser.go("#/service", "Service").await;
        browser.see("div", "The disk is nearly full: ").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_backend_is_paused_and_resumed() {
    let settings = [("TINTYPE__BACKENDS__GPU__KIND", "procedural")];
    // A node shows the backends as it has observed them itself.
    browse_alone(&settings, |service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/service", "Service").await;
        browser.press_in("//button[@aria-label='Pause gpu']").await;
        browser.see("h2", "Pause gpu?").await;
        browser.fill("reason", "new driver").await;
        browser.press("Pause").await;
        let of_gpu = "//li[.//b[.='gpu']]";
        browser.find(&format!("{of_gpu}//span[.='paused']")).await;
        browser
            .find(&format!("{of_gpu}//div[.='Paused: new driver']"))
            .await;
        browser
            .press_in("//button[@aria-label='Reason for gpu']")
            .await;
        browser.see("h2", "Why is gpu paused?").await;
        browser.fill("reason", "newer driver").await;
        browser.press("Save").await;
        browser
            .find(&format!("{of_gpu}//div[.='Paused: newer driver']"))
            .await;
        browser.go("#/overview", "Overview").await;
        browser.see("div", "Paused: newer driver").await;
        browser.go("#/service", "Service").await;
        browser.press_in("//button[@aria-label='Resume gpu']").await;
        browser.find("//button[@aria-label='Pause gpu']").await;
        browser.go("#/audit", "Audit log").await;
        browser.see("p", "The operator paused backend gpu.").await;
        browser.see("p", "The operator resumed backend gpu.").await;
        browser.leave().await;
        drop(service);
    });
}
