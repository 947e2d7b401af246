//! Accounts, as the operator keeps them: under another name, switched off, and on again.

use crate::browse;
use serde_json::json;

#[test]
fn an_account_is_renamed_and_switched_off_and_on() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/accounts", "Accounts").await;
        browser.press("Edit").await;
        browser.see("h2", "Edit account").await;
        browser.fill("name", "studio south").await;
        browser.press_in("//dialog//button[.='Save']").await;
        browser.see("td", "studio south").await;
        // It is the one that is looked at: the frame has its new name.
        let frame = "//aside//*[@class='whose']/b[.='studio south']";
        browser.find(frame).await;

        browser.press("Deactivate").await;
        browser.see("h2", "Deactivate “studio south”?").await;
        browser.press_in("//dialog//button[.='Deactivate']").await;
        browser.see("td", "inactive").await;
        let wide = "const it = document.querySelector('main table'); return it.scrollWidth <= it.closest('.sheet').clientWidth;";
        assert_eq!(
            browser.run(wide, vec![]).await,
            json!(true),
            "all of a row is to be seen"
        );
        browser.go("#/overview", "Overview").await;
        browser.see("div", "This account is deactivated").await;

        browser.go("#/accounts", "Accounts").await;
        browser.press("Activate").await;
        browser
            .find("//main//table[not(.//*[.='inactive'])]//button[.='Deactivate']")
            .await;
        browser.leave().await;
        drop(service);
    });
}
