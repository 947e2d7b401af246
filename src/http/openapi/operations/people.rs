//! Describes the operator's calls on the people of an account.

use super::examples::{ACCOUNT, PERSON, last_page};
use crate::http::openapi::{DocumentBuilder, Operation, ResponseDoc};
use crate::web::problem::Code;
use serde_json::{Value, json};
use tintype_api::{Body as _, InviteAgain, InvitePerson, Person, PersonChange};

fn example() -> Value {
    json!({
        "person_id": PERSON,
        "account_id": ACCOUNT,
        "email": "ada@shop.example",
        "role": "owner",
        "status": "active",
        "invitation_expires_at": null,
        "created_at": "2026-11-18T11:06:40.001Z",
    })
}

fn invited_person() -> Value {
    let mut person = example();
    person["status"] = "invited".into();
    person["invitation_expires_at"] = "2026-11-25T11:06:40.001Z".into();
    person["invitation_url"] =
        "https://pictures.example/panel#/invitation/AaH6lSwffDqdXj9rikwtEA".into();
    person
}

pub fn list(builder: &mut DocumentBuilder<'_>) -> Operation {
    let page = last_page(example());
    Operation::new("listPeople", "People", "List an account's people")
        .text("People who sign in to the panel for this account, oldest first.")
        .window()
        .response(builder.page::<Person>("A page of people.", page))
}

pub fn invite(builder: &mut DocumentBuilder<'_>) -> Operation {
    let body = json!({"email": "ada@shop.example", "role": "owner"});
    let response = builder.response::<Person>(201, "The person with the link, which is shown only here. The service sends no email: send the link yourself.", invited_person());
    Operation::new("invitePerson", "People", "Invite a person")
        .text("Creates a link for one use within 7 days, with which they choose a password.")
        .body(InvitePerson::schema(&[]), &[("An owner", body)])
        .response(response)
        .refuses([Code::Conflict])
}

pub fn show(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("showPerson", "People", "Get a person").response(builder.response::<Person>(
        200,
        "The person.",
        example(),
    ))
}

pub fn change(builder: &mut DocumentBuilder<'_>) -> Operation {
    let body = json!({"role": "viewer"});
    Operation::new("changePerson", "People", "Change a person's role")
        .body(PersonChange::schema(&[]), &[("Restrict to viewing", body)])
        .response(builder.response::<Person>(200, "The changed person.", example()))
}

pub fn remove(_: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("removePerson", "People", "Remove a person")
        .text("Also ends their sessions at once.")
        .response(ResponseDoc::new(204, "The person is removed."))
}

pub fn invite_again(builder: &mut DocumentBuilder<'_>) -> Operation {
    let body = json!({"revoke": true});
    Operation::new("invitePersonAgain", "People", "Issue a new link")
        .text("The person chooses a password with it, whether they already have one or not. Earlier links stop working.")
        .optional_body(
            InviteAgain::schema(&[]),
            &[("Revoke a leaked password", body)],
        )
        .response(
            builder.response::<Person>(200, "The person with the link, which is shown only here.", invited_person()),
        )
}

pub fn sign_out(_: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("signPersonOut", "People", "Sign a person out")
        .text("Ends all their sessions. They can sign in again; to keep them out, issue a new link with `revoke`, or remove them.")
        .response(ResponseDoc::new(204, "All their sessions have ended."))
}
