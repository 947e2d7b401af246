//! The operator's calls on the people of an account.

use super::accounts;
use super::examples::{ACCOUNT, PERSON, last_page};
use crate::http::openapi::{Answer, Operation, Sketch};
use crate::web::paging::Listing;
use crate::web::problem::Code;
use serde_json::{Value, json};
use tintype_api::{Body as _, InviteAgain, InvitePerson, Person, PersonChange};

const ID: &str = "The person's id.";

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

fn invited() -> Value {
    let mut person = example();
    person["status"] = "invited".into();
    person["invitation_expires_at"] = "2026-11-25T11:06:40.001Z".into();
    person["invitation_url"] =
        "https://pictures.example/panel#/invitation/AaH6lSwffDqdXj9rikwtEA".into();
    person
}

/// Of one person.
fn on(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(id, "People", summary)
        .path_id("account_id", accounts::ID)
        .path_id("person_id", ID)
        .refuses([Code::NotFound])
}

/// `GET /accounts/{account_id}/people`
pub fn list(sketch: &mut Sketch<'_>) -> Operation {
    let schema = sketch.schema::<Listing<Person>>();
    let page = last_page(example());
    Operation::new("listPeople", "People", "List an account's people")
        .text("Those who sign in to the panel for this account, oldest first.")
        .path_id("account_id", accounts::ID)
        .window()
        .answer(Answer::json(200, "A page of people.", schema, page))
        .refuses([Code::NotFound])
}

/// `POST /accounts/{account_id}/people`
pub fn invite(sketch: &mut Sketch<'_>) -> Operation {
    let body = json!({"email": "ada@shop.example", "role": "owner"});
    let schema = sketch.schema::<Person>();
    let answer = Answer::json(201, "The person with the link, which is shown this once. Nothing is sent to them: hand it on yourself.", schema, invited())
        .not_stored();
    Operation::new("invitePerson", "People", "Invite a person")
        .text("Makes a link that is good for 7 days and once, with which they choose a password.")
        .path_id("account_id", accounts::ID)
        .body(InvitePerson::schema(&[]), &[("An owner", body)])
        .answer(answer)
        .refuses([Code::NotFound, Code::Conflict])
}

/// `GET /accounts/{account_id}/people/{person_id}`
pub fn show(sketch: &mut Sketch<'_>) -> Operation {
    let schema = sketch.schema::<Person>();
    on("showPerson", "A person").answer(Answer::json(200, "The person.", schema, example()))
}

/// `PATCH /accounts/{account_id}/people/{person_id}`
pub fn change(sketch: &mut Sketch<'_>) -> Operation {
    let schema = sketch.schema::<Person>();
    let body = json!({"role": "viewer"});
    on("changePerson", "Change a person's role")
        .body(
            PersonChange::schema(&[]),
            &[("May only look from now on", body)],
        )
        .answer(Answer::json(
            200,
            "The person as they are now.",
            schema,
            example(),
        ))
}

/// `DELETE /accounts/{account_id}/people/{person_id}`
pub fn remove(_: &mut Sketch<'_>) -> Operation {
    on("removePerson", "Remove a person")
        .text("Their sessions are over at once.")
        .answer(Answer::new(204, "The person is gone."))
}

/// `POST /accounts/{account_id}/people/{person_id}/invitation`
pub fn invite_again(sketch: &mut Sketch<'_>) -> Operation {
    let schema = sketch.schema::<Person>();
    let body = json!({"revoke": true});
    on("invitePersonAgain", "Give somebody a new link")
        .text("With it they choose a password, whether they have one or not. An earlier link is worth nothing from then on.")
        .optional_body(
            InviteAgain::schema(&[]),
            &[("Their password is known to others", body)],
        )
        .answer(
            Answer::json(200, "The person with the link, which is shown this once.", schema, invited())
                .not_stored(),
        )
}

/// `DELETE /accounts/{account_id}/people/{person_id}/sessions`
pub fn sign_out(_: &mut Sketch<'_>) -> Operation {
    on("signPersonOut", "Sign somebody out")
        .text("Wherever they are signed in. They can sign in again; to keep them out, give them a new link with `revoke`, or remove them.")
        .answer(Answer::new(204, "All of their sessions are over."))
}
