//! People of an account: listed for its own, invited, changed and removed by the operator.

use super::guard::{OfAccount, OperatorHere};
use super::tokens;
use crate::http::body;
use crate::http::paging::{Listing, Window};
use crate::http::problem::{Code, Problem};
use crate::http::state::AppState;
use crate::http::wire::fields::Fields;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};
use std::time::Duration;
use tintype_storage::domain::person::{Email, Invitation, Person, PersonId, Role};

/// How long an invitation is good.
const INVITATION: Duration = Duration::from_secs(7 * 86_400);

fn view(state: &AppState, person: &Person) -> Value {
    let open = person.invitation.filter(|it| state.now() < it.expires_at);
    json!({
        "person_id": person.id.to_string(),
        "email": person.email.as_str(),
        "role": person.role.word(),
        "status": match (&person.password, &open) {
            (Some(_), _) => "active",
            (None, Some(_)) => "invited",
            (None, None) => "expired",
        },
        "invitation_expires_at": open.map(|it| it.expires_at.to_string()),
        "created_at": person.created_at.to_string(),
    })
}

/// The one answer that shows the link.
fn invited(state: &AppState, person: &Person, token: &str) -> Value {
    let mut view = view(state, person);
    view["invitation_url"] = json!(format!("{}/panel#/invitation/{token}", state.public_url));
    view
}

fn find(of: &OfAccount, request: &HttpRequest, state: &AppState) -> Result<Person, Problem> {
    let missing = || Problem::new(Code::NotFound, "there is no such person");
    let id: PersonId = of
        .part(request, "person_id")
        .parse()
        .map_err(|_| missing())?;
    state.store.person(of.account.id, id)?.ok_or_else(missing)
}

/// `GET /people`
pub async fn list(
    of: OfAccount,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let window = Window::of(&request)?;
    let page = state
        .store
        .people_of(of.account.id, window.limit, window.after)?;
    Ok(HttpResponse::Ok().json(Listing::new(page, |person| view(&state, &person))))
}

fn role(fields: &mut Fields<'_>) -> Option<Role> {
    let word = fields.required_string("role")?;
    fields.checked(
        "role",
        word.parse::<Role>().map_err(|_| "must be owner or viewer"),
    )
}

/// `POST /people`: invites somebody.
pub async fn invite(
    _: OperatorHere,
    of: OfAccount,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let body = body::read_json(&request, payload, &state).await?;
    let mut fields = Fields::parse(&body).map_err(Problem::validation)?;
    let email = fields.required_string("email");
    let email = email.and_then(|text| fields.checked("email", text.parse::<Email>()));
    let role = role(&mut fields);
    fields
        .finish(&["email", "role"])
        .map_err(Problem::validation)?;
    let (Some(email), Some(role)) = (email, role) else {
        return Err(Problem::field("body", "is incomplete"));
    };
    let _changing = state.panel.changing.lock().await;
    if state.store.person_by_email(&email)?.is_some() {
        let detail = "somebody with this e-mail address has been invited already";
        return Err(Problem::new(Code::Conflict, detail));
    }
    let now = state.now();
    let id = PersonId(state.system.accounts().context().ids.next(now));
    let (token, secret) = tokens::invitation(of.account.id, id);
    let person = Person {
        id,
        account: of.account.id,
        email,
        role,
        password: None,
        invitation: Some(Invitation {
            secret,
            expires_at: now.plus(INVITATION),
        }),
        generation: 0,
        created_at: now,
    };
    state.commit(state.store.put_person(&person)).await?;
    Ok(HttpResponse::Created().json(invited(&state, &person, &token)))
}

/// `POST /people/{person_id}/invitation`: a new link, which also lets somebody choose a password who has forgotten theirs.
pub async fn invite_again(
    _: OperatorHere,
    of: OfAccount,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let _changing = state.panel.changing.lock().await;
    let person = find(&of, &request, &state)?;
    let (token, secret) = tokens::invitation(of.account.id, person.id);
    let person = Person {
        invitation: Some(Invitation {
            secret,
            expires_at: state.now().plus(INVITATION),
        }),
        ..person
    };
    state.commit(state.store.put_person(&person)).await?;
    Ok(HttpResponse::Ok().json(invited(&state, &person, &token)))
}

/// `PATCH /people/{person_id}`
pub async fn change(
    _: OperatorHere,
    of: OfAccount,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let body = body::read_json(&request, payload, &state).await?;
    let mut fields = Fields::parse(&body).map_err(Problem::validation)?;
    let role = role(&mut fields);
    fields.finish(&["role"]).map_err(Problem::validation)?;
    let role = role.ok_or_else(|| Problem::field("role", "is required"))?;
    let _changing = state.panel.changing.lock().await;
    let person = Person {
        role,
        ..find(&of, &request, &state)?
    };
    state.commit(state.store.put_person(&person)).await?;
    Ok(HttpResponse::Ok().json(view(&state, &person)))
}

/// `DELETE /people/{person_id}`: their sessions are over at once.
pub async fn remove(
    _: OperatorHere,
    of: OfAccount,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let _changing = state.panel.changing.lock().await;
    let person = find(&of, &request, &state)?;
    state.commit(state.store.remove_person(&person)).await?;
    Ok(HttpResponse::NoContent().finish())
}
