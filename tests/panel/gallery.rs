//! The gallery with mouse and keyboard: large images, zoom, side by side, and the actions on an image.

use crate::browse;
use crate::browser::Browser;
use crate::calls::calls;
use crate::keyboard_and_phone::{ESCAPE, press_keys};
use serde_json::json;

const RIGHT: &str = "\u{e014}";
const LEFT: &str = "\u{e012}";

/// Generates three images and opens the gallery.
pub async fn fill_gallery(browser: &Browser) {
    calls(
        browser,
        "for (const prompt of ['a fox', 'an owl', 'a heron']) {
             const { job_id: id } = await make(base, { prompt, aspect_ratio: '1:1' });
             while ((await send('GET', base + '/jobs/' + id)).status !== 'done') await new Promise((wake) => setTimeout(wake, 20));
         }
         return null;",
    )
    .await;
    browser.go("#/gallery", "Gallery").await;
    browser.find("//ul[@class='wall'][count(li)=3]").await;
}

/// The prompt of the open image.
const OPEN: &str = "return document.querySelector('.lightbox .words')?.textContent ?? '';";

#[test]
fn images_open_large_and_are_browsed_with_the_arrow_keys() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        fill_gallery(&browser).await;
        // Lists load thumbnails and no full image.
        let small = "return [...document.querySelectorAll('.wall img')].every((it) => it.src.endsWith('?width=512'));";
        assert_eq!(browser.run(small, vec![]).await, json!(true));
        browser.press("Show: an owl").await;
        browser.comes_to(OPEN, json!("an owl")).await;
        press_keys(&browser, RIGHT).await;
        browser.comes_to(OPEN, json!("a fox")).await;
        press_keys(&browser, RIGHT).await;
        browser.comes_to(OPEN, json!("a fox")).await;
        press_keys(&browser, &format!("{LEFT}{LEFT}")).await;
        browser.comes_to(OPEN, json!("a heron")).await;
        let image = "return new URL(document.querySelector('.lightbox .view img').src).search;";
        assert_eq!(browser.run(image, vec![]).await, json!("?width=2048"));
        // Full size, from the original image.
        press_keys(&browser, "z").await;
        browser.comes_to(image, json!("")).await;
        let width =
            "return document.querySelector('.lightbox .view img').getBoundingClientRect().width;";
        browser.comes_to(width, json!(1024)).await;
        press_keys(&browser, "z").await;
        browser.comes_to(image, json!("?width=2048")).await;
        press_keys(&browser, ESCAPE).await;
        browser
            .comes_to(
                "return document.querySelectorAll('dialog').length;",
                json!(0),
            )
            .await;
        let stands = "return document.activeElement.ariaLabel;";
        browser.comes_to(stands, json!("Show: an owl")).await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_deleted_image_is_told_from_one_that_cannot_be_loaded() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        fill_gallery(&browser).await;
        let fox = "return [...document.querySelectorAll('.wall img')].at(-1).src.match(/jobs\\/([^/]+)/)[1];";
        let fox = browser.run(fox, vec![]).await;
        service.remove_image(fox.as_str().unwrap()).await;
        browser.press("Show: a fox").await;
        browser.see("span", "It was deleted.").await;
        press_keys(&browser, ESCAPE).await;
        // As if the connection broke.
        let broken = "const fetched = window.fetch;
            window.fetch = (url, ...rest) => (String(url).includes('/picture') ? Promise.reject(new TypeError()) : fetched(url, ...rest));
            return null;";
        browser.run(broken, vec![]).await;
        browser.press("Show: a fox").await;
        browser.see("span", "It could not be loaded.").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_star_marks_an_image_as_a_favourite_in_every_view() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        fill_gallery(&browser).await;
        let star = "//button[@aria-label='Favourite: an owl']";
        browser
            .press_in(&format!("{star}[@aria-pressed='false']"))
            .await;
        browser.find(&format!("{star}[@aria-pressed='true']")).await;
        // The large view and the job page show the mark and can change it.
        browser.press("Show: a fox").await;
        let large = "//dialog//button[@aria-label='Favourite: a fox']";
        browser.press_in(large).await;
        browser
            .find(&format!("{large}[@aria-pressed='true']"))
            .await;
        browser.press("Details").await;
        browser.see("span", "kept: a favourite").await;
        browser
            .press_in("//button[@aria-label='Favourite: a fox'][@aria-pressed='true']")
            .await;
        browser.see("span", "kept until").await;
        // The URL holds the filter.
        browser.go("#/gallery", "Gallery").await;
        browser
            .press_in("//select[@name='favourite']/option[.='Favourites']")
            .await;
        browser.find("//ul[@class='wall'][count(li)=1]").await;
        browser.client.refresh().await.unwrap();
        browser.find("//ul[@class='wall'][count(li)=1]").await;
        // An image that is no longer a favourite leaves the list.
        browser
            .press_in(&format!("{star}[@aria-pressed='true']"))
            .await;
        browser.see("b", "No images").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn an_image_is_deleted_on_the_page_of_its_job() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        fill_gallery(&browser).await;
        browser.press("Show: a fox").await;
        browser.press("Details").await;
        let arrived = "return document.querySelector('button.stage img')?.complete === true;";
        browser.comes_to(arrived, json!(true)).await;
        // The page has room for an image that has not arrived, so that the buttons below it stay in their place.
        let heights = "const image = document.querySelector('button.stage img');
            const other = image.cloneNode();
            other.src = image.src + '&other';
            const heights = [image.height];
            image.replaceWith(other);
            return [...heights, other.height, other.complete];";
        let heights = browser.run(heights, vec![]).await;
        assert_eq!(heights[2], false, "{heights}");
        assert_eq!(heights[0], heights[1], "{heights}");
        assert!(heights[0].as_u64() > Some(100), "{heights}");
        browser.press("Delete image…").await;
        browser.press_in("//dialog//button[.='Delete']").await;
        browser.see("b", "The image was deleted").await;
        browser.see("p", "a fox").await;
        browser.go("#/audit", "Audit log").await;
        browser.see("p", "deleted the image of the job").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn a_job_is_refunded_on_its_page() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        fill_gallery(&browser).await;
        browser.press("Show: a fox").await;
        browser.press("Details").await;
        browser.press("Refund…").await;
        let amount = "return document.querySelector('dialog input[name=amount]').value;";
        assert_eq!(browser.run(amount, vec![]).await, json!("0.039"));
        browser.fill("amount", "0.04").await;
        let send = "//dialog//button[.='Refund']";
        browser.press_in(send).await;
        browser.see("div", "0.039 is left to refund").await;
        browser.fill("amount", "0.009").await;
        browser.press_in(send).await;
        browser.see("dd", "0.009 USD").await;
        browser.press("Refund…").await;
        let amount = browser.run(amount, vec![]).await;
        assert_eq!(amount, json!("0.03"));
        browser.press_in(send).await;
        browser.see("dd", "0.039 USD").await;
        let button = "return [...document.querySelectorAll('button')].some((it) => it.textContent === 'Refund…');";
        browser.comes_to(button, json!(false)).await;
        browser.go("#/ledger", "Ledger").await;
        browser.see("b", "Refund").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn two_images_are_compared() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        fill_gallery(&browser).await;
        for prompt in ["a fox", "an owl"] {
            browser
                .press_in(&format!("//label[input[@aria-label='Compare: {prompt}']]"))
                .await;
        }
        browser
            .press_in("//label[input[@aria-label='Compare: a heron']]")
            .await;
        browser.see("div", "You can compare two images").await;
        browser.press("Compare").await;
        let shown =
            "return [...document.querySelectorAll('.pair .words')].map((it) => it.textContent);";
        browser.comes_to(shown, json!(["a fox", "an owl"])).await;
        press_keys(&browser, ESCAPE).await;
        browser.press("Clear").await;
        let chosen = "return document.querySelectorAll('[name=compare]:checked').length;";
        browser.comes_to(chosen, json!(0)).await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn an_image_is_copied_from_used_again_and_run_again() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        fill_gallery(&browser).await;
        browser.press("Show: a fox").await;
        browser.run("Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text; } } });", vec![]).await;
        browser.press("Copy prompt").await;
        browser
            .comes_to("return window.copied ?? '';", json!("a fox"))
            .await;
        let download = browser.find("//dialog//a[.='Download']").await;
        let address = download.attr("href").await.unwrap().unwrap();
        assert!(address.ends_with("/picture"), "{address}");
        browser.press("Use as input").await;
        browser.see("h1", "Playground").await;
        browser.find("//ul[@class='inputs']/li[1]").await;
        browser.go("#/gallery", "Gallery").await;
        browser.press("Show: an owl").await;
        browser.press("Run again").await;
        browser.see("h1", "Playground").await;
        browser
            .comes_to(
                "return document.querySelector('[name=prompt]')?.value ?? '';",
                json!("an owl"),
            )
            .await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn images_are_found_by_words_of_the_prompt_and_by_the_id_of_the_job() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        fill_gallery(&browser).await;
        let tiles = "return document.querySelectorAll('.wall li').length;";
        browser.fill("prompt", "FOX a\u{e007}").await;
        browser.comes_to(tiles, json!(1)).await;
        browser.press("Show: a fox").await;
        browser.press("Details").await;
        browser.see("h1", "Job").await;
        browser.run("history.back();", vec![]).await;
        browser.see("h1", "Gallery").await;
        browser.comes_to(tiles, json!(1)).await;
        browser.fill("prompt", "zebra\u{e007}").await;
        browser.see("b", "No images").await;
        let job = "return (await send('GET', base + '/jobs?limit=1&prompt=owl')).data[0].job_id;";
        let job = calls(&browser, job).await;
        browser.go("#/jobs", "Jobs").await;
        browser
            .fill("prompt", &format!("{}\u{e007}", job.as_str().unwrap()))
            .await;
        browser.see("h1", "done").await;
        browser.see("p", "an owl").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn variants_are_generated_in_one_step_once_each() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/playground", "Playground").await;
        browser
            .press("A red fox in the snow at dusk, soft light")
            .await;
        browser
            .comes_to(
                "return document.querySelector('[name=prompt]').value;",
                json!("A red fox in the snow at dusk, soft light"),
            )
            .await;
        browser
            .comes_to(
                "return document.querySelectorAll('.examples button').length;",
                json!(0),
            )
            .await;
        browser
            .press_in("//label[input[@name='variants' and @value='3']]")
            .await;
        browser.see("span", "0.117 USD").await;
        // The answer to one of them is lost.
        let lose = "const real = window.fetch; window.sent = [];
            window.fetch = async (url, options) => {
                const answer = await real(url, options);
                if (options?.method !== 'POST') return answer;
                sent.push(options.headers['Idempotency-Key']);
                if (sent.length !== 2) return answer;
                throw new TypeError('lost');
            };";
        browser.run(lose, vec![]).await;
        browser.press("Generate").await;
        browser.see("p", "2 of 3 images were accepted").await;
        browser.press("Generate").await;
        browser
            .find("//div[@class='several'][count(button)=3]")
            .await;
        let sent = browser
            .run("return [sent.length, new Set(sent).size];", vec![])
            .await;
        assert_eq!(sent, json!([4, 3]), "only the lost one is sent again");
        browser.go("#/jobs", "Jobs").await;
        browser.find("//main//tbody[count(tr)=3]").await;
        // The stage and the strip are back, and images open large.
        browser.go("#/playground", "Playground").await;
        browser.press("Show image 2").await;
        browser.see("span", "A red fox in the snow").await;
        press_keys(&browser, ESCAPE).await;
        browser.find("//ul[@class='strip'][count(li)=3]").await;
        browser.leave().await;
        drop(service);
    });
}
