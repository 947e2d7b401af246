//! The batch page: check a file, correct it, submit it once, follow it, cancel it, rerun it and download its results.

use crate::browser::{Browser, PATIENCE};
use crate::calls::calls;
use crate::{browse, browse_with, receiver};
use base64::Engine as _;
use serde_json::json;
use std::io::{Cursor, Read as _, Write as _};
use std::time::Instant;
use tempfile::NamedTempFile;

fn file(suffix: &str, text: &str) -> NamedTempFile {
    let mut file = tempfile::Builder::new().suffix(suffix).tempfile().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

async fn choose(browser: &Browser, file: &NamedTempFile) {
    let chooser = browser.find("//main//input[@type='file']").await;
    let path = file.path();
    chooser.send_keys(path.to_str().unwrap()).await.unwrap();
    // The file is deleted at the end of the statement, so the page must have read it by then.
    let name = path.file_name().unwrap().to_str().unwrap();
    browser.see("b", name).await;
}

pub async fn choose_faulty(browser: &Browser) {
    let table = "model,prompt,aspect_ratio\nfast,a fox,1:1\nfast,,1:7\ngreat,an owl,1:1\n";
    choose(browser, &file(".csv", table)).await;
    browser.see("div", "Nothing was submitted").await;
}

/// Downloads the file behind a link with this text.
async fn download(browser: &Browser, words: &str) -> Vec<u8> {
    let link = browser.find(&format!("//a[.='{words}']")).await;
    let path = link.attr("href").await.unwrap().unwrap();
    let script = "const [path, done] = arguments;
        fetch(path).then((it) => it.blob()).then((it) => { const reader = new FileReader(); reader.onload = () => done(reader.result.split(',')[1] ?? ''); reader.readAsDataURL(it); });";
    let text = browser
        .client
        .execute_async(script, vec![json!(path)])
        .await;
    let text = text.unwrap();
    let bytes = base64::engine::general_purpose::STANDARD.decode(text.as_str().unwrap());
    bytes.unwrap()
}

/// The number of batches of the account.
async fn count(browser: &Browser) -> usize {
    let found = calls(
        browser,
        "return (await send('GET', base + '/batches')).data;",
    )
    .await;
    found.as_array().unwrap().len()
}

#[test]
fn decisions_12_the_panel_accepts_a_table_and_downloads_its_images() {
    browse(|service, browser| async move {
        let hook = receiver::answering("200 OK", "thanks");
        browser.sign_in_as_operator().await;
        browser.go("#/webhooks", "Webhooks").await;
        browser.fill("url", &hook).await;
        browser.press("Register").await;
        browser.press("Done").await;

        browser.go("#/batches", "Batches").await;
        browser.see("b", "No batches yet").await;
        let table = file(
            ".csv",
            "custom_id,model,prompt,aspect_ratio,metadata.sku\nfox,fast,\"a fox, red\",1:1,7\na/b,fast,an owl,1:1,\n",
        );
        choose(&browser, &table).await;
        browser.see("span", "0.078 USD").await;
        assert_eq!(count(&browser).await, 0, "it was only checked");
        browser.press("Submit 2 requests").await;
        browser.see("h1", "Batch").await;
        // The page updates without a reload.
        browser.see("h1", "ended").await;
        browser.see("span", "2 done of 2").await;
        browser.see("b", "HTTP 200").await;
        browser.see("span", "an owl").await;
        // In the order of the file.
        let listed = "return [...document.querySelectorAll('main tbody .prompt')].map((it) => it.textContent);";
        browser.comes_to(listed, json!(["fox", "a/b"])).await;

        let zip = download(&browser, "Download images").await;
        let mut zip = zip::ZipArchive::new(Cursor::new(zip)).unwrap();
        let mut names: Vec<String> = zip
            .file_names()
            .map(|it| it.unwrap().into_owned())
            .collect();
        names.sort();
        assert_eq!(names, ["a_b.png", "fox.png"]);
        let mut image = Vec::new();
        let mut fox = zip.by_name("fox.png").unwrap();
        fox.read_to_end(&mut image).unwrap();
        assert!(image.starts_with(b"\x89PNG"));
        let results = download(&browser, "Download results").await;
        let results = String::from_utf8(results).unwrap();
        let ids: Vec<String> = results
            .lines()
            .map(|line| {
                serde_json::from_str::<serde_json::Value>(line).unwrap()["custom_id"].to_string()
            })
            .collect();
        assert_eq!(ids, ["\"fox\"", "\"a/b\""]);

        browser
            .press_in("//a[contains(@class, 'prompt') and .='fox']")
            .await;
        browser.see("h1", "Job").await;
        browser.see("dd", "as fox").await;
        browser.see("p", "Jobs of a batch send no webhook.").await;
        browser.see("b", "HTTP 200").await;
        browser.see("code", "\"sku\": \"7\"").await;
        browser.go("#/audit?action=batch", "Audit log").await;
        browser.see("p", "submitted the batch").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn the_faults_of_a_file_are_listed_with_their_lines_and_the_file_stays_selected() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/batches", "Batches").await;
        choose_faulty(&browser).await;
        let places = "return [...document.querySelectorAll('.faults tbody tr')].map((it) => [...it.cells].map((cell) => cell.innerText).join(': '));";
        let found = browser.run(places, vec![]).await;
        let found: Vec<&str> = found
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it.as_str().unwrap())
            .collect();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(
            found[0].starts_with("line 3, request 2, prompt: Is missing."),
            "{found:?}"
        );
        assert!(
            found[1].starts_with("line 3, request 2, aspect_ratio: Is not supported by"),
            "{found:?}"
        );
        assert!(
            found[2].starts_with("line 4, request 3, model: Must be one of"),
            "{found:?}"
        );
        // The chosen file survives a visit to another page.
        browser.go("#/jobs", "Jobs").await;
        browser.go("#/batches", "Batches").await;
        browser.see("div", "Nothing was submitted").await;
        // A file that is not a table.
        choose(&browser, &file(".csv", "model,prompt\nfast\n\"\n")).await;
        browser.see("td", "line 2").await;
        browser.see("td", "1 cells, and the first row 2").await;
        browser
            .see("td", "cell begins with a quote that is never closed")
            .await;
        let named = "{\"custom_id\": \"a\", \"model\": \"fast\", \"prompt\": \"a fox\", \"aspect_ratio\": \"1:1\"}\n";
        choose(&browser, &file(".jsonl", &named.repeat(2))).await;
        browser.see("td", "line 2, request 2, custom_id").await;
        browser
            .see("td", "Is also that of request 1 (line 1)")
            .await;
        choose(
            &browser,
            &file(
                ".jsonl",
                "{\"model\": \"fast\", \"prompt\": \"a fox\", \"aspect_ratio\": \"1:1\"}\n",
            ),
        )
        .await;
        browser.see("button", "Submit 1 request").await;
        browser.press("Remove file").await;
        browser.see("b", "Choose a file").await;
        assert_eq!(count(&browser).await, 0);
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_batch_whose_answer_is_lost_is_submitted_once() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/batches", "Batches").await;
        let body = "{\"requests\": [{\"model\": \"fast\", \"prompt\": \"a fox\", \"aspect_ratio\": \"1:1\"}], \"metadata\": {\"catalogue\": \"autumn\"}}";
        choose(&browser, &file(".json", body)).await;
        browser.see("button", "Submit 1 request").await;
        let lose = "const real = window.fetch; window.sent = [];
            window.fetch = async (url, options) => {
                const answer = await real(url, options);
                if (options?.method !== 'POST' || url.includes('dry_run')) return answer;
                sent.push(options.headers['Idempotency-Key']);
                if (sent.length > 1) return answer;
                throw new TypeError('lost');
            };";
        browser.run(lose, vec![]).await;
        browser.press("Submit 1 request").await;
        browser.see("div", "The request may have arrived").await;
        // One submission also after another page, and after a double click.
        browser.go("#/jobs", "Jobs").await;
        browser.go("#/batches", "Batches").await;
        browser.see("button", "Submit 1 request").await;
        browser
            .run(
                "const it = document.querySelector('main .button.main'); it.click(); it.click();",
                vec![],
            )
            .await;
        browser.see("h1", "Batch").await;
        browser.see("code", "\"catalogue\": \"autumn\"").await;
        let sent = browser
            .run("return [sent.length, new Set(sent).size];", vec![])
            .await;
        assert_eq!(sent, json!([2, 1]));
        assert_eq!(count(&browser).await, 1);
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn failed_requests_are_listed_with_their_reasons_and_run_again() {
    browse(|service, browser| async move {
        let no_image = receiver::serving("text/plain", b"words");
        browser.sign_in_as_operator().await;
        browser.go("#/batches", "Batches").await;
        let lines = format!(
            "{{\"model\": \"fast\", \"prompt\": \"a fox\", \"aspect_ratio\": \"1:1\"}}\n\
             {{\"model\": \"quality\", \"resolution\": \"2K\", \"prompt\": \"the same in blue\", \"aspect_ratio\": \"auto\", \"input_images_urls\": [\"{no_image}\"], \"metadata\": {{\"order\": 4711}}}}\n"
        );
        choose(&browser, &file(".jsonl", &lines)).await;
        browser.press("Submit 2 requests").await;
        browser.see("h1", "ended").await;
        browser.see("span", "1 done, 1 failed of 2").await;
        browser
            .see("dd", "0.039 USD charged of 0.14, the rest was released")
            .await;
        browser.see("td", "not charged").await;
        browser.press("Show why 1 failed").await;
        browser
            .find("//main//tbody[count(tr)=1]//span[.='the same in blue']")
            .await;
        browser
            .find("//main//tbody[count(tr)=1]//span[contains(., 'input_images_urls[0]')]")
            .await;
        // The back button returns to the same rows.
        let first = browser.run("return location.hash;", vec![]).await;
        assert!(
            first.as_str().unwrap().ends_with("?status=failed"),
            "{first}"
        );
        let failed = download(&browser, "Download failed requests").await;
        let failed: serde_json::Value = serde_json::from_slice(&failed).unwrap();
        assert_eq!(
            failed,
            json!({
                "custom_id": "1", "model": "quality", "prompt": "the same in blue", "aspect_ratio": "auto", "resolution": "2K",
                "input_images_urls": [no_image], "metadata": {"order": 4711},
            })
        );
        browser.press("Retry failed requests").await;
        browser.see("h1", "Batches").await;
        browser.see("b", "failed-requests-of-").await;
        browser.press("Submit 1 request").await;
        browser.see("span", "1 failed of 1").await;
        assert_eq!(count(&browser).await, 2);
        browser.run("history.back();", vec![]).await;
        browser.see("h1", "Batches").await;
        browser.see("b", "Choose a file").await;
        browser.run("history.back();", vec![]).await;
        let chosen = "return document.querySelector('[name=status]')?.value ?? '';";
        browser.comes_to(chosen, json!("failed")).await;
        browser.find("//main//tbody[count(tr)=1]").await;
        // The job alone is run again with the images that it had.
        browser.press("1").await;
        browser.see("h1", "Job").await;
        browser.see("dd", &no_image).await;
        browser.press("Run again").await;
        browser.see("h1", "Playground").await;
        browser
            .find(&format!(
                "//ul[@class='inputs']/li[contains(., '{no_image}')]"
            ))
            .await;
        browser.go("#/batches", "Batches").await;
        browser
            .find("//td[contains(., '0.039 USD') and contains(., 'of 0.14')]")
            .await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_batch_is_canceled_after_a_question() {
    let slow = receiver::slow_back_end();
    let settings = slow.each_ref().map(|(name, value)| (*name, value.as_str()));
    browse_with(&settings, |service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/batches", "Batches").await;
        let line = "{\"model\": \"fast\", \"prompt\": \"a fox\", \"aspect_ratio\": \"1:1\"}\n";
        choose(&browser, &file(".jsonl", &line.repeat(3))).await;
        browser.press("Submit 3 requests").await;
        browser.see("span", "1 running, 2 queued of 3").await;
        browser
            .see("dd", "0.117 USD at most, 0.00 USD charged so far")
            .await;
        browser.press("Cancel").await;
        browser.see("p", "2 queued requests are canceled").await;
        browser.press("Keep batch").await;
        browser.see("span", "1 running, 2 queued of 3").await;
        browser.press("Cancel").await;
        browser.press("Cancel batch").await;
        browser.see("span", "2 failed, 1 running of 3").await;
        browser.see("h1", "canceling").await;
        browser.go("#/batches", "Batches").await;
        browser.see("td", "canceling").await;
        // Nothing of this one has started, so it ends at once.
        choose(&browser, &file(".jsonl", &line.repeat(2))).await;
        browser.press("Submit 2 requests").await;
        browser.see("span", "2 queued of 2").await;
        browser.press("Cancel").await;
        browser.press("Cancel batch").await;
        browser.see("h1", "canceled").await;
        browser.see("span", "2 canceled or failed of 2").await;
        browser
            .find("//main//tbody[count(tr)=2]/tr[1][.//span[.='a fox']]//span[.='canceled']")
            .await;
        browser.find("//a[.='Retry remaining requests']").await;
        browser.go("#/batches", "Batches").await;
        browser.find("//main//tbody/tr[1]/td[.='canceled']").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn canceled_requests_of_the_openai_api_run_again_without_their_file_format() {
    let slow = receiver::slow_back_end();
    let settings = slow.each_ref().map(|(name, value)| (*name, value.as_str()));
    browse_with(&settings, |service, browser| async move {
        browser.sign_in_as_operator().await;
        let submit = "
            const key = await send('POST', base + '/keys', { name: 'nightly' });
            const headers = { Authorization: 'Bearer ' + key.api_key };
            const body = { model: 'fast', prompt: 'a fox', output_format: 'jpeg' };
            const line = (custom_id) => JSON.stringify({ custom_id, method: 'POST', url: '/v1/images/generations', body });
            const form = new FormData();
            form.append('purpose', 'batch');
            form.append('file', new Blob([['a', 'b', 'c'].map(line).join('\\n')]), 'batch.jsonl');
            const file = await (await fetch('/v1/files', { method: 'POST', headers, body: form })).json();
            const batch = { input_file_id: file.id, endpoint: '/v1/images/generations', completion_window: '24h' };
            const call = { method: 'POST', headers: { ...headers, 'Content-Type': 'application/json' }, body: JSON.stringify(batch) };
            return (await (await fetch('/v1/batches', call)).json()).id.replace('batch_', '');";
        let batch = calls(&browser, submit).await;
        let page = format!("#/batches/{}", batch.as_str().unwrap());
        browser.go(&page, "Batch").await;
        browser.see("span", "1 running, 2 queued of 3").await;
        browser.press("Cancel").await;
        browser.press("Cancel batch").await;
        browser.see("span", "2 failed, 1 running of 3").await;
        browser.press("c").await;
        browser.see("h1", "Job").await;
        browser.see("h1", "canceled").await;
        browser.go(&page, "Batch").await;
        browser.press("Retry failed requests").await;
        browser
            .see("div", "2 failed requests asked for a file format")
            .await;
        browser.press("Submit 2 requests").await;
        browser.see("span", "2 queued of 2").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn deleted_images_are_named_in_the_archive() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/batches", "Batches").await;
        let line = "{\"model\": \"fast\", \"prompt\": \"a fox\", \"aspect_ratio\": \"1:1\"}\n";
        choose(&browser, &file(".jsonl", &line.repeat(2))).await;
        browser.press("Submit 2 requests").await;
        browser.see("span", "2 done of 2").await;
        let job = "return (await send('GET', base + '/jobs?limit=1')).data[0].job_id;";
        let job = calls(&browser, job).await;
        service.remove_image(job.as_str().unwrap()).await;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let zip = download(&browser, "Download images").await;
            let zip = zip::ZipArchive::new(Cursor::new(zip)).unwrap();
            let mut names: Vec<String> = zip
                .file_names()
                .map(|it| it.unwrap().into_owned())
                .collect();
            names.sort();
            if names == ["0.png", "missing.txt"] {
                break;
            }
            assert!(Instant::now() < deadline, "{names:?}");
        }
        browser.leave().await;
        drop(service);
    });
}
