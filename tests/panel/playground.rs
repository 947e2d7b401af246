//! The playground: input images, reruns, answers that are lost on the way, and cancellation.

use crate::accessibility::assert_no_barriers;
use crate::browser::Browser;
use crate::calls::calls;
use crate::pages::resize;
use crate::receiver::PIXEL;
use crate::{browse, browse_with, receiver};
use serde_json::{Value, json};
use std::io::Write as _;

/// The path of the job that the stage links to.
async fn job_on_stage(browser: &Browser) -> String {
    let link = browser.find("//p[contains(., 'generated in')]/a").await;
    link.attr("href").await.unwrap().unwrap()
}

#[test]
fn a_job_is_run_again_with_its_input_images_and_options() {
    browse(|service, browser| async move {
        let image = receiver::serving("image/png", PIXEL);
        let mut file = tempfile::Builder::new().suffix(".png").tempfile().unwrap();
        file.write_all(PIXEL).unwrap();
        browser.sign_in_as_operator().await;
        browser.go("#/playground", "Playground").await;
        browser.fill("prompt", "the same in blue").await;
        let chooser = browser.find("//input[@type='file']").await;
        chooser
            .send_keys(file.path().to_str().unwrap())
            .await
            .unwrap();
        browser.find("//ul[@class='inputs']/li[1]").await;
        let address = browser
            .find("//input[@placeholder='https://example.com/fox.png']")
            .await;
        address.send_keys("fox.png\u{e007}").await.unwrap();
        browser.see("span", "Enter the full URL").await;
        address.clear().await.unwrap();
        address
            .send_keys(&format!("{image}\u{e007}"))
            .await
            .unwrap();
        browser.find("//ul[@class='inputs']/li[2]").await;
        browser
            .press_in("//summary[.='Metadata and callback']")
            .await;
        browser.fill("metadata", "[1]").await;
        browser.press("Generate").await;
        browser.see("span", "Enter a JSON object").await;
        browser
            .fill("metadata", "{\"order\": 12345678901234567890123}")
            .await;
        browser.press("Generate").await;
        let job = job_on_stage(&browser).await;

        browser.go(&job, "Job").await;
        browser.see("dd", "1 × 1 (").await;
        browser
            .see("code", "\"order\": 12345678901234567890123")
            .await;
        browser.press("Run again").await;
        browser.see("div", "The 2 input images were deleted").await;
        let taken = "const value = (name) => document.querySelector(`[name=${name}]`).value; return [value('prompt'), value('metadata').match(/\\d+/)[0]];";
        let taken = browser.run(taken, vec![]).await;
        assert_eq!(
            taken,
            json!(["the same in blue", "12345678901234567890123"])
        );
        // Without the images it would be another job at the full price, so one click must not start it.
        browser.press("Generate").await;
        browser.see("span", "Add the images").await;
        browser.press("Continue without").await;
        browser.press("Generate").await;
        let again = job_on_stage(&browser).await;
        assert_ne!(again, job);
        browser.go(&again, "Job").await;
        browser
            .see("code", "\"order\": 12345678901234567890123")
            .await;
        // The same by its URL: a new tab has nothing to remember.
        let id = job.rsplit('/').next().unwrap();
        browser.client.goto("about:blank").await.unwrap();
        browser.open(&format!("#/playground?again={id}")).await;
        browser.see("div", "The 2 input images were deleted").await;
        browser.leave().await;
        drop(service);
    });
}

/// Loses the answers to the calls that `lost` names, after the service has processed them, refuses the next POST with the status
/// `refusal`, and records the requests.
pub const LOSE: &str = "window.sent = []; const real = window.fetch;
    window.fetch = async (url, options) => {
        const isPost = options.method === 'POST';
        if (isPost) sent.push([url, options.headers['Idempotency-Key']]);
        if (isPost && window.refusal) {
            const status = window.refusal;
            window.refusal = null;
            return new Response(JSON.stringify({ detail: `refused with ${status}` }), { status });
        }
        const answer = await real(url, options);
        if (!window.lost?.(url, options.method)) return answer;
        window.lost = null;
        throw new TypeError('lost');
    };";

async fn sent(browser: &Browser) -> Vec<Value> {
    let sent = browser.run("return sent;", vec![]).await;
    sent.as_array().cloned().unwrap_or_default()
}

#[test]
fn a_lost_response_is_not_reported_as_a_rejection() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/playground", "Playground").await;
        browser.run(LOSE, vec![]).await;
        browser.fill("prompt", "a fox").await;
        // The first lookup after the acceptance fails: the job continues and is charged.
        browser
            .run(
                "window.lost = (url, method) => method === 'GET' && url.includes('/jobs/');",
                vec![],
            )
            .await;
        browser.press("Generate").await;
        browser.see("p", "generated in").await;
        let wrong = "return !document.querySelector('form .notice.bad').hidden;";
        assert_eq!(browser.run(wrong, vec![]).await, json!(false));
        // The acceptance itself is lost.
        browser
            .run("window.lost = (url, method) => method === 'POST';", vec![])
            .await;
        browser.press("Generate").await;
        browser.see("p", "The request may have arrived").await;
        // The previous image is still on the stage.
        browser.see("p", "generated in").await;
        browser.press("Generate").await;
        browser.comes_to("return sent.length;", json!(3)).await;
        browser.see("p", "generated in").await;
        let sent = sent(&browser).await;
        let names: Vec<&str> = sent.iter().map(|it| it[1].as_str().unwrap()).collect();
        assert_eq!(names.len(), 3, "{sent:?}");
        assert_ne!(names[0], names[1]);
        assert_eq!(
            names[1], names[2],
            "a name for each press that was answered"
        );
        // Two of three clicks were the same request: the second one got the job of the first.
        browser.go("#/jobs", "Jobs").await;
        browser.find("//main//tbody[count(tr)=2]").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_repeat_after_a_refusal_and_another_page_gets_the_job_of_the_lost_response() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/playground", "Playground").await;
        browser.run(LOSE, vec![]).await;
        browser.fill("prompt", "a fox").await;
        browser
            .run("window.lost = (url, method) => method === 'POST';", vec![])
            .await;
        browser.press("Generate").await;
        browser.see("p", "The request may have arrived").await;
        browser.run("window.refusal = 429;", vec![]).await;
        browser.press("Generate").await;
        browser.see("div", "Refused with 429").await;
        browser.go("#/jobs", "Jobs").await;
        browser.go("#/playground", "Playground").await;
        browser.press("Generate").await;
        browser.see("p", "generated in").await;
        // Without a lost response, the same form is another job.
        browser.press("Generate").await;
        browser.comes_to("return sent.length;", json!(4)).await;
        browser.see("p", "generated in").await;
        let keys = "return [new Set(sent.slice(0, 3).map(([, key]) => key)).size, sent[2][1] === sent[3][1]];";
        assert_eq!(browser.run(keys, vec![]).await, json!([1, false]));
        browser.go("#/jobs", "Jobs").await;
        browser.find("//main//tbody[count(tr)=2]").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_job_that_waits_is_called_off() {
    let slow = receiver::slow_back_end();
    let settings = slow.each_ref().map(|(name, value)| (*name, value.as_str()));
    browse_with(&settings, |service, browser| async move {
        browser.sign_in_as_operator().await;
        for stage in ["Generating…", "Queued"] {
            browser.go("#/overview", "Overview").await;
            browser.go("#/playground", "Playground").await;
            browser.fill("prompt", stage).await;
            browser.press("Generate").await;
            browser.see("b", stage).await;
        }
        browser.press("Open job").await;
        browser.see("h1", "queued").await;
        browser.run("Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text; } } });", vec![]).await;
        browser.press("Copy the job id").await;
        browser.see("div", "Copied").await;
        let copied = "return location.hash === `#/jobs/${window.copied}`;";
        assert_eq!(browser.run(copied, vec![]).await, json!(true));
        browser.press("Cancel").await;
        browser
            .see(
                "p",
                "The reserved 0.039 USD is released, and the webhook is called.",
            )
            .await;
        browser.press("Cancel job").await;
        browser.see("h1", "canceled").await;
        browser.see("div", "released, nothing charged").await;
        // A cancellation is no failure.
        let alarm = "return document.querySelectorAll('main .notice.bad').length;";
        assert_eq!(browser.run(alarm, vec![]).await, json!(0));
        browser.go("#/jobs?status=queued", "Jobs").await;
        browser.see("b", "No jobs").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn the_preview_is_shown_while_the_backend_generates_the_image() {
    let webui = receiver::half_drawing_back_end();
    let settings = webui
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    browse_with(&settings, |service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/playground", "Playground").await;
        browser.fill("prompt", "half a fox").await;
        browser.press("Generate").await;
        browser.see("b", "Generating…").await;
        let drawn = "const it = document.querySelector('img.preview'); return Boolean(it?.checkVisibility() && it.naturalWidth);";
        browser.comes_to(drawn, json!(true)).await;
        assert_no_barriers(&browser, "Playground").await;
        browser.press("Open job").await;
        browser.see("h1", "processing").await;
        browser.comes_to(drawn, json!(true)).await;
        browser.leave().await;
        drop(service);
    });
}

/// Answers to lookups say that the job has failed, and the service has no money for a second job.
const FAIL: &str = "const real = window.fetch;
    window.fetch = async (url, options) => {
        const answer = (status, body) => new Response(JSON.stringify(body), { status });
        if (options?.method === 'POST' && window.rejects) return answer(402, { detail: 'the balance does not cover it' });
        if (options?.method !== 'GET' || !/jobs\\/[^?]+$/.test(url)) return real(url, options);
        return answer(200, { ...await (await real(url, options)).json(), status: 'failed', error: 'the backend refused', finished_at: new Date() });
    };";

#[test]
fn a_rejection_replaces_the_failure_of_the_job_before_and_is_announced() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/playground", "Playground").await;
        browser.run(FAIL, vec![]).await;
        browser.fill("prompt", "a fox").await;
        browser.press("Generate").await;
        browser.see("div", "The backend refused.").await;
        browser.run("window.rejects = true;", vec![]).await;
        browser.press("Generate").await;
        browser.see("p", "The balance does not cover it.").await;
        browser.see("b", "No image yet").await;
        let spoken = "return document.querySelector('main .sr[role=status]').textContent;";
        browser.comes_to(spoken, json!("Not accepted.")).await;
        // The old failure does not return with the page either.
        browser.go("#/jobs", "Jobs").await;
        browser.go("#/playground", "Playground").await;
        browser.see("b", "No image yet").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn the_error_of_an_input_image_is_not_behind_the_price() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        for (width, height) in [(1440, 900), (1280, 700), (390, 844)] {
            resize(&browser, width, height, "light").await;
            browser.go("#/overview", "Overview").await;
            browser.go("#/playground", "Playground").await;
            let address = browser
                .find("//input[@aria-label='URL of an input image']")
                .await;
            address.send_keys("fox.png\u{e007}").await.unwrap();
            let seen = "const it = [...document.querySelectorAll('.bench .fault')].find((it) => it.textContent.startsWith('Enter the full URL'));
                if (!it) return 'no error';
                const box = it.getBoundingClientRect();
                return it.contains(document.elementFromPoint(box.left + 5, box.bottom - 3));";
            browser.comes_to(seen, json!(true)).await;
        }
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_pause_that_begins_or_ends_elsewhere_is_shown() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/playground", "Playground").await;
        browser.fill("prompt", "a fox").await;
        let paused =
            "return document.querySelector('main').innerText.includes('The fast model is paused');";
        for is_paused in [true, false] {
            let script = format!(
                "await send('PATCH', '/pause', {{ tiers: {{ fast: {is_paused} }} }}); return {{}};"
            );
            calls(&browser, &script).await;
            browser.comes_to(paused, json!(is_paused)).await;
        }
        let prompt = "return document.querySelector('[name=prompt]').value;";
        browser.comes_to(prompt, json!("a fox")).await;
        browser.leave().await;
        drop(service);
    });
}

/// Answers calls for the models as if none were paused.
pub const STALE: &str = "const before = window.fetch;
    window.fetch = async (url, options) => {
        const answer = await before(url, options);
        if (!url.endsWith('/models')) return answer;
        const models = await answer.json();
        for (const it of models.data) it.paused = false;
        return new Response(JSON.stringify(models));
    };";

#[test]
fn a_paused_model_is_explained_to_people() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        let pause = "await send('PATCH', '/pause', { tiers: { pro: true }, reasons: { pro: 'new weights' } }); return {};";
        calls(&browser, pause).await;
        browser.run(LOSE, vec![]).await;
        let choose = "for (const it of ['fast', 'pro']) document.querySelector(`input[value=${it}]`).click();";
        for (width, height) in [(1440, 900), (390, 844)] {
            resize(&browser, width, height, "light").await;
            browser.go("#/overview", "Overview").await;
            browser.go("#/playground", "Playground").await;
            browser.run(choose, vec![]).await;
            let words = "The pro model is paused (new weights). Choose another model";
            browser.see("div", words).await;
            // The price is not in front of it.
            let seen = "const box = document.querySelector('.bench .notice.warn').getBoundingClientRect();
                return box.bottom < document.querySelector('.bench .actions').getBoundingClientRect().top;";
            browser.comes_to(seen, json!(true)).await;
        }
        browser.fill("prompt", "a fox").await;
        browser.press("Generate").await;
        browser
            .see("span", "Choose a model that is not paused.")
            .await;
        assert!(sent(&browser).await.is_empty());
        // The pause has begun, and the page does not know it.
        browser.run(STALE, vec![]).await;
        browser.go("#/overview", "Overview").await;
        browser.go("#/playground", "Playground").await;
        browser.press("Generate").await;
        let refused =
            "The pro model is paused (new weights); try again later. Your prompt is kept.";
        browser.see("p", refused).await;
        browser.leave().await;
        drop(service);
    });
}
