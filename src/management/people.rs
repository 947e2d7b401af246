//! Invites, changes, signs out and removes the people of an account, who sign in to the panel.

use crate::api::requests::{read, read_optional};
use crate::api::responses;
use crate::application::core::Core;
use crate::application::people;
use crate::application::settings::Settings;
use crate::web::auth::access::{OfAccount, OfPerson, OperatorOnly, WithBody};
use crate::web::body;
use crate::web::problem::HttpResult;
use crate::web::queries::paging::{self, to_page};
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use tintype_api::{InviteAgain, InvitePerson, PersonChange};
use tintype_storage::store::tables::PEOPLE;

pub async fn list(
    of: OfAccount,
    request: HttpRequest,
    core: Data<Core>,
    settings: Data<Settings>,
) -> HttpResult {
    let window = paging::window(&request)?;
    let page = PEOPLE.page(&core.store, &of.account.id, window.limit, window.after);
    let page = page.await?;
    let view = |person| responses::person(&core, &settings, &person, None);
    Ok(HttpResponse::Ok().json(to_page(page, view)))
}

pub async fn show(
    OfPerson { person, .. }: OfPerson,
    core: Data<Core>,
    settings: Data<Settings>,
) -> HttpResult {
    Ok(HttpResponse::Ok().json(responses::person(&core, &settings, &person, None)))
}

pub async fn invite(
    WithBody(of, body): WithBody<OfAccount>,
    core: Data<Core>,
    settings: Data<Settings>,
) -> HttpResult {
    let InvitePerson { email, role } = read(&body)?;
    let invited = people::invite(&core, &of.caller, of.account.id, email, role).await?;
    let view = responses::person(&core, &settings, &invited.person, Some(&invited.token));
    Ok(HttpResponse::Created().json(view))
}

/// Issues a new link with which a person chooses a password. `revoke` also
/// invalidates their password and sessions at once.
pub async fn invite_again(
    OfPerson { caller, person }: OfPerson,
    request: HttpRequest,
    payload: Payload,
    core: Data<Core>,
    settings: Data<Settings>,
) -> HttpResult {
    let body = body::read_optional_json(&request, payload, &settings).await?;
    let again: InviteAgain = read_optional(body.as_deref())?;
    let (account, id) = (person.account, person.id);
    let revoke = again.revoke.unwrap_or(false);
    let invited = people::invite_again(&core, &caller, account, id, revoke).await?;
    let view = responses::person(&core, &settings, &invited.person, Some(&invited.token));
    Ok(HttpResponse::Ok().json(view))
}

pub async fn change(
    WithBody(OperatorOnly { caller, named: of }, body): WithBody<OperatorOnly<OfPerson>>,
    core: Data<Core>,
    settings: Data<Settings>,
) -> HttpResult {
    let PersonChange { role } = read(&body)?;
    let (account, id) = (of.person.account, of.person.id);
    let person = people::change_role(&core, &caller, account, id, role).await?;
    Ok(HttpResponse::Ok().json(responses::person(&core, &settings, &person, None)))
}

/// Also ends their sessions at once.
pub async fn remove(OfPerson { caller, person }: OfPerson, core: Data<Core>) -> HttpResult {
    people::remove(&core, &caller, person.account, person.id).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Ends all sessions of a person, who can sign in again.
pub async fn sign_out(
    OperatorOnly {
        caller,
        named: OfPerson { person, .. },
    }: OperatorOnly<OfPerson>,
    core: Data<Core>,
) -> HttpResult {
    people::sign_out(&core, &caller, person.account, person.id).await?;
    Ok(HttpResponse::NoContent().finish())
}
