//! Forms report faults in the words of the people who fill them in.

use crate::browse;
use serde_json::json;
use std::fs;

#[test]
fn forms_explain_invalid_fields() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/playground", "Playground").await;
        browser.press("Generate").await;
        browser.see("span", "Fill in this field.").await;
        browser.go("#/keys", "API keys").await;
        browser.press("New key").await;
        browser.fill("name", "website").await;
        browser.fill("spend_limit", "five").await;
        browser.press("Create key").await;
        browser
            .find("//span[.='Must be an amount such as \"12.50\".']")
            .await;
        for model in ["fast", "quality", "pro"] {
            browser
                .press_in(&format!("//dialog//input[@value='{model}']"))
                .await;
        }
        browser.press("Create key").await;
        browser.see("span", "Choose at least one model.").await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn the_code_of_an_uploaded_file_names_no_address_that_seems_real() {
    browse(|service, browser| async move {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("my fox.png");
        fs::write(&file, crate::receiver::PIXEL).unwrap();
        browser.sign_in_as_operator().await;
        browser.go("#/playground", "Playground").await;
        let chooser = browser.find("//input[@type='file']").await;
        chooser.send_keys(file.to_str().unwrap()).await.unwrap();
        browser.see("code", "URL_OF_my fox.png").await;
        let text =
            "return document.querySelector('[role=tabpanel]').textContent.includes('example.com');";
        assert_eq!(browser.run(text, vec![]).await, json!(false));
        browser.leave().await;
        drop(service);
    });
}
