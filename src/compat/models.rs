//! The list of models with all their ids, in the formats of both APIs.

use super::auth;
use super::dialect::Dialect;
use super::refusal::{Kind, Refusal};
use crate::application::services::AccountService;
use crate::compat::state::CompatState;
use crate::config::{TierConfig, Tiers};
use crate::web::auth::rate_headers;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};
use tintype_storage::domain::tier::Tier;

const DEFAULT_PAGE: usize = 50;
const MAX_PAGE: usize = 1_000;

/// The tier of a model id, which is the name of the tier or a configured id.
pub fn tier_of(tiers: &Tiers, model: &str) -> Option<Tier> {
    let model = model.strip_prefix("models/").unwrap_or(model);
    let model_ids = tiers.iter();
    let (name, _) = model_ids
        .iter()
        .find(|(name, tier)| *name == model || tier.compat_models.iter().any(|id| id == model))?;
    name.parse().ok()
}

/// The refusal of an unknown model, in Google's wording.
pub fn unknown(model: &str, version: &str, method: &str) -> Refusal {
    let model = model.strip_prefix("models/").unwrap_or(model);
    let message = format!(
        "models/{model} is not found for API version {version}, or is not supported for {method}. \
         Call ListModels to see the list of available models and their supported methods. The operator can \
         give one of them this name (`compat_models`)."
    );
    Refusal::new(Kind::UnknownModel, message)
}

/// The refusal of an unknown model, for an OpenAI SDK.
pub fn unknown_to_openai(model: &str) -> Refusal {
    let message = format!(
        "the model `{model}` does not exist; GET /v1/models lists the models, and the operator can give one of them this name (`compat_models`)"
    );
    Refusal {
        field: Some("model".into()),
        ..Refusal::new(Kind::UnknownModel, message)
    }
}

pub async fn list(
    request: HttpRequest,
    path: web::Path<String>,
    state: web::Data<CompatState>,
) -> HttpResponse {
    let dialect = dialect(&request, &path);
    let outcome = authenticate(&request, &state.accounts)
        .await
        .and_then(|()| match dialect {
            Dialect::Gemini => gemini_page(&request, &state.settings.config.tiers),
            Dialect::OpenAi => Ok(openai_list(&state.settings.config.tiers)),
        });
    respond(outcome, dialect)
}

pub async fn show(
    request: HttpRequest,
    path: web::Path<(String, String)>,
    state: web::Data<CompatState>,
) -> HttpResponse {
    let (version, model) = path.into_inner();
    let dialect = dialect(&request, &version);
    let outcome = authenticate(&request, &state.accounts)
        .await
        .and_then(|()| {
            let id = model.strip_prefix("models/").unwrap_or(&model);
            let tier = tier_of(&state.settings.config.tiers, id);
            let tier = tier.ok_or_else(|| match dialect {
                Dialect::Gemini => unknown(id, &version, "GetModel"),
                Dialect::OpenAi => unknown_to_openai(id),
            })?;
            Ok(match dialect {
                Dialect::Gemini => gemini_entry(id, tier),
                Dialect::OpenAi => openai_entry(id),
            })
        });
    respond(outcome, dialect)
}

async fn authenticate(request: &HttpRequest, accounts: &AccountService) -> Result<(), Refusal> {
    auth::authenticate(request, accounts).await?;
    Ok(rate_headers::states_of(request).admit()?)
}

/// Both APIs have this path under `/v1`. OpenAI's clients send the key as a bearer token, and Google's do not.
pub fn dialect(request: &HttpRequest, version: &str) -> Dialect {
    if version == "v1" && auth::has_only_bearer_key(request) {
        Dialect::OpenAi
    } else {
        Dialect::Gemini
    }
}

fn respond(outcome: Result<Value, Refusal>, dialect: Dialect) -> HttpResponse {
    match outcome {
        Ok(body) => HttpResponse::Ok().json(body),
        Err(refusal) => dialect.response(&refusal),
    }
}

/// Every id with its tier. The name of the tier comes first.
fn model_ids(tiers: &Tiers) -> Vec<(&str, Tier)> {
    let ids = |(name, config): (&'static str, _)| {
        let config: &TierConfig = config;
        let tier = name.parse::<Tier>().ok();
        let aliases = config.compat_models.iter().map(String::as_str);
        std::iter::once(name)
            .chain(aliases.filter(move |id| *id != name))
            .filter_map(move |id| Some((id, tier?)))
            .collect::<Vec<_>>()
    };
    tiers.iter().into_iter().flat_map(ids).collect()
}

/// The token of the next page is the number of entries before it.
fn gemini_page(request: &HttpRequest, tiers: &Tiers) -> Result<Value, Refusal> {
    let parameter = |camel: &str, snake: &str| {
        url::form_urlencoded::parse(request.query_string().as_bytes())
            .find(|(name, _)| name == camel || name == snake)
            .map(|(_, value)| value.into_owned())
            .filter(|value| !value.is_empty())
    };
    let size = match parameter("pageSize", "page_size") {
        None => DEFAULT_PAGE,
        Some(text) => match text.parse::<usize>() {
            Ok(0) => DEFAULT_PAGE,
            Ok(size) => size.min(MAX_PAGE),
            Err(_) => return Err(Refusal::field("pageSize", "must be a whole number")),
        },
    };
    let model_ids = model_ids(tiers);
    let first = match parameter("pageToken", "page_token") {
        None => 0,
        Some(token) => token
            .parse()
            .ok()
            .filter(|first| *first < model_ids.len())
            .ok_or_else(|| Refusal::field("pageToken", "is not a page token of this list"))?,
    };
    let entries = model_ids.iter().skip(first).take(size);
    let entries: Vec<Value> = entries.map(|(id, tier)| gemini_entry(id, *tier)).collect();
    let next = first + entries.len();
    let mut body = json!({ "models": entries });
    if next < model_ids.len() {
        body["nextPageToken"] = next.to_string().into();
    }
    Ok(body)
}

fn gemini_entry(id: &str, tier: Tier) -> Value {
    let description = match tier {
        Tier::Fast => "Images at 1K, fast and cheap",
        Tier::Quality => "Images up to 4K, in every aspect ratio",
        Tier::Pro => "The best images, up to 4K, in every aspect ratio",
    };
    json!({
        "name": format!("models/{id}"),
        "version": "1",
        "displayName": format!("{id} ({tier})"),
        "description": description,
        "inputTokenLimit": 32_768,
        "outputTokenLimit": 32_768,
        "supportedGenerationMethods": ["generateContent", "streamGenerateContent", "countTokens"],
    })
}

fn openai_list(tiers: &Tiers) -> Value {
    let entries: Vec<Value> = model_ids(tiers)
        .iter()
        .map(|(id, _)| openai_entry(id))
        .collect();
    json!({"object": "list", "data": entries})
}

fn openai_entry(id: &str) -> Value {
    json!({"id": id, "object": "model", "created": 0, "owned_by": "tintype"})
}
