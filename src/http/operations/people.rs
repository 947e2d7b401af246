//! The operator's calls on the people of an account.

use super::accounts;
use super::examples::{ACCOUNT, PERSON, last_page};
use crate::api::kinds::words;
use crate::api::person::{AGAIN, CHANGE, FIELDS, PersonView};
use crate::http::openapi::bodies::object;
use crate::http::openapi::{Answer, Operation, Sketch};
use crate::web::paging::Listing;
use crate::web::problem::Code;
use serde_json::{Value, json};
use tintype_storage::domain::person::MAX_EMAIL_CHARS;

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

fn field(name: &str) -> Value {
    match name {
        "email" => json!({
            "type": "string",
            "minLength": 3,
            "maxLength": MAX_EMAIL_CHARS,
            "description": "What they sign in with. Nobody else of the whole service has it.",
        }),
        "role" => {
            let mut schema = words(["owner", "viewer"]);
            schema["description"] =
                "An owner may change what an account can change; a viewer looks.".into();
            schema
        }
        "revoke" => json!({
            "type": ["boolean", "null"],
            "default": false,
            "description": "Whether the password that they have and all of their sessions end at once. Otherwise both are good until the link is taken up.",
        }),
        _ => Value::Null,
    }
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
    let schema = sketch.schema::<Listing<PersonView>>();
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
    let schema = sketch.schema::<PersonView>();
    let answer = Answer::json(201, "The person with the link, which is shown this once. Nothing is sent to them: hand it on yourself.", schema, invited())
        .not_stored();
    Operation::new("invitePerson", "People", "Invite a person")
        .text("Makes a link that is good for 7 days and once, with which they choose a password.")
        .path_id("account_id", accounts::ID)
        .body(object(FIELDS, FIELDS, field), &[("An owner", body)])
        .answer(answer)
        .refuses([Code::NotFound, Code::Conflict])
}

/// `GET /accounts/{account_id}/people/{person_id}`
pub fn show(sketch: &mut Sketch<'_>) -> Operation {
    let schema = sketch.schema::<PersonView>();
    on("showPerson", "A person").answer(Answer::json(200, "The person.", schema, example()))
}

/// `PATCH /accounts/{account_id}/people/{person_id}`
pub fn change(sketch: &mut Sketch<'_>) -> Operation {
    let schema = sketch.schema::<PersonView>();
    let body = json!({"role": "viewer"});
    on("changePerson", "Change a person's role")
        .body(
            object(CHANGE, CHANGE, field),
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
    let schema = sketch.schema::<PersonView>();
    let body = json!({"revoke": true});
    on("invitePersonAgain", "Give somebody a new link")
        .text("With it they choose a password, whether they have one or not. An earlier link is worth nothing from then on.")
        .optional_body(
            object(AGAIN, &[], field),
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
