//! The operator renames, disables and enables accounts.

use crate::browse;
use serde_json::json;

#[test]
fn an_account_is_renamed_and_switched_off_and_on() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/accounts", "Accounts").await;
        browser.choose("default", "Edit").await;
        browser.see("h2", "Edit account").await;
        browser.fill("name", "studio south").await;
        browser.press_in("//dialog//button[.='Save']").await;
        browser.see("td", "studio south").await;
        // The account is selected, so the frame shows its new name.
        let frame = "//aside//*[@class='whose']/b[.='studio south']";
        browser.find(frame).await;

        browser.choose("studio south", "Deactivate").await;
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
        browser.choose("studio south", "Activate").await;
        browser
            .find("//main//table[not(.//*[.='inactive'])]//button[.='Deactivate']")
            .await;
        browser.leave().await;
        drop(service);
    });
}

#[test]
fn the_operator_limits_an_account_and_its_people_see_what_is_used() {
    browse(|service, browser| async move {
        browser.sign_in_as_operator().await;
        browser.go("#/accounts", "Accounts").await;
        browser.choose("default", "Edit").await;
        browser.press_in("//dialog//summary[.='Limits']").await;
        browser.fill("spend_per_day", "-1").await;
        browser.press_in("//dialog//button[.='Save']").await;
        browser.see("span", "Must not be negative.").await;
        browser.fill("spend_per_day", "5").await;
        browser.fill("max_concurrent", "many").await;
        browser.press_in("//dialog//button[.='Save']").await;
        browser
            .see("span", "Enter a whole number from 1 to 1,000,000.")
            .await;
        browser.fill("max_concurrent", "20").await;
        browser.press_in("//dialog//button[.='Save']").await;
        browser.find("//main//table[not(//dialog)]").await;
        browser.go("#/overview", "Overview").await;
        browser.see("h2", "Limits of the account").await;
        browser.see("b", "0.00 of 5.00").await;
        browser.see("b", "0 of 20").await;

        browser.go("#/accounts", "Accounts").await;
        browser.choose("default", "Edit").await;
        browser.fill("spend_per_day", "").await;
        browser.fill("max_concurrent", "").await;
        browser.press_in("//dialog//button[.='Save']").await;
        browser.find("//main//table[not(//dialog)]").await;
        browser.go("#/overview", "Overview").await;
        let limited = "return document.body.textContent.includes('Limits of the account');";
        browser.comes_to(limited, json!(false)).await;
        browser.leave().await;
        drop(service);
    });
}
