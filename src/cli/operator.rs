//! A client of the operator interface (`/admin/v1`) of a running server.

use crate::cli::http_client::{
    Body, HttpClient, NotSent, Response, add_repeat_advice, did_not_arrive,
};
use crate::cli::option_names;
use crate::cli::problem_text::ErrorResponse;
use crate::config::Secret;
use anyhow::{Context as _, bail};
use clap::Args;
use clap::builder::TypedValueParser as _;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use tintype_api::{Account, Page};
use tintype_egress::header::HeaderValue;
use tintype_egress::{Method, StatusCode};
use tintype_storage::domain::ids::AccountId;
use url::form_urlencoded;
use uuid::Uuid;

/// Sources of the token, in order. Part of every message about a missing or wrong token.
pub const TOKEN_SOURCES: &str = "the token is read from --token, the environment variable TINTYPE_ADMIN_TOKEN, token in [admin] of the configuration, or the file admin-token in the data directory (--data-dir)";
const MAX_RESPONSE: usize = 16 * 1024 * 1024;
/// Entries per page: the maximum of the API.
const PAGE_SIZE: usize = 100;
/// Maximum number of pages read of one list.
const MAX_PAGES: usize = 1_000;
/// Accounts listed in a message.
const MAX_LISTED: usize = 10;

pub struct Operator {
    http: HttpClient,
    base: String,
    token: Secret,
    token_source: String,
}

#[derive(Args)]
pub struct PageOptions {
    /// Maximum number of entries to list.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000).map(as_usize))]
    pub limit: usize,
    /// Continue an earlier list: its next_cursor.
    #[arg(long, value_name = "CURSOR")]
    pub cursor: Option<String>,
}

impl Default for PageOptions {
    /// All pages.
    fn default() -> Self {
        Self {
            limit: usize::MAX,
            cursor: None,
        }
    }
}

fn as_usize(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Operator {
    /// `base` is the URL without `/admin/v1`. Messages name `token_source` instead of the token.
    pub fn new(base: &str, token: Secret, token_source: &str) -> anyhow::Result<Self> {
        if HeaderValue::from_str(token.expose()).is_err() {
            bail!(
                "the operator token from {token_source} contains characters that are not allowed in an HTTP header"
            );
        }
        Ok(Self {
            http: HttpClient::new(MAX_RESPONSE)?,
            base: base.to_owned(),
            token,
            token_source: token_source.to_owned(),
        })
    }

    pub fn base(&self) -> &str {
        &self.base
    }

    /// `GET` a path below `/admin/v1`.
    pub async fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.send(Method::GET, path, None, None).await
    }

    pub async fn post(&self, path: &str, body: Option<Value>) -> anyhow::Result<Value> {
        self.send(Method::POST, path, body, None).await
    }

    /// `POST` with an `Idempotency-Key`: `key`, or a random one. The error contains the key if the server may have executed the
    /// request.
    pub async fn post_idempotent(
        &self,
        path: &str,
        body: Value,
        key: Option<&str>,
    ) -> anyhow::Result<Value> {
        let key = key.map_or_else(|| Uuid::new_v4().to_string(), str::to_owned);
        self.send(Method::POST, path, Some(body), Some(&key)).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> anyhow::Result<Value> {
        self.send(Method::PATCH, path, Some(body), None).await
    }

    pub async fn put(&self, path: &str) -> anyhow::Result<Value> {
        self.send(Method::PUT, path, None, None).await
    }

    pub async fn delete(&self, path: &str) -> anyhow::Result<Value> {
        self.send(Method::DELETE, path, None, None).await
    }

    /// Reads as many pages as `page.limit` needs.
    ///
    /// # Errors
    /// A call fails, or a list that is wanted whole is longer than a command reads.
    pub async fn list(
        &self,
        path: &str,
        filters: &[(&str, String)],
        page: PageOptions,
    ) -> anyhow::Result<Page<Value>> {
        let mut found: Vec<Value> = Vec::new();
        let mut cursor = page.cursor;
        for _ in 0..MAX_PAGES {
            let size = page.limit.saturating_sub(found.len()).min(PAGE_SIZE);
            if size == 0 {
                break;
            }
            let mut query = filters.to_vec();
            query.push(("limit", size.to_string()));
            query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
            let text = form_urlencoded::Serializer::new(String::new())
                .extend_pairs(&query)
                .finish();
            let response = self.get(&format!("{path}?{text}")).await;
            // The errors of a list name its parameters.
            let response = response
                .map_err(|error| name_options(error, &json!(BTreeMap::from_iter(query))))?;
            let next: Page<Value> = read(response)?;
            found.extend(next.data);
            cursor = next.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        if page.limit == usize::MAX && cursor.is_some() {
            bail!(
                "the list is longer than a command reads ({MAX_PAGES} pages); read it with GET {}/admin/v1{path}",
                self.base
            );
        }
        Ok(Page {
            data: found,
            next_cursor: cursor,
        })
    }

    pub async fn list_all(&self, path: &str) -> anyhow::Result<Page<Value>> {
        self.list(path, &[], PageOptions::default()).await
    }

    /// The entries of [`list_all`](Self::list_all).
    ///
    /// # Errors
    /// Those of [`list_all`](Self::list_all), or this version cannot read an entry.
    pub async fn all<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<Vec<T>> {
        read_all(self.list_all(path).await?.data)
    }

    /// The account that the option --account names, by id or name. Without the option, the only active account, or the only account.
    pub async fn account(&self, id_or_name: Option<&str>) -> anyhow::Result<Account> {
        self.find_account(id_or_name, "with --account ID_OR_NAME")
            .await
    }

    /// As [`Operator::account`], for a command that takes the account as its argument.
    pub async fn account_argument(&self, id_or_name: Option<&str>) -> anyhow::Result<Account> {
        self.find_account(id_or_name, "by id or name").await
    }

    /// `how` tells how to choose one of several accounts.
    async fn find_account(&self, id_or_name: Option<&str>, how: &str) -> anyhow::Result<Account> {
        if let Some(id) = id_or_name.and_then(|text| text.parse::<AccountId>().ok()) {
            return read(self.get(&format!("/accounts/{id}")).await?);
        }
        let mut found = match id_or_name {
            Some(name) => self.accounts_named(name).await?,
            None => default_accounts(&self.some_accounts().await?),
        };
        match (found.data.len(), id_or_name) {
            (1, _) => Ok(found.data.swap_remove(0)),
            (0, None) => {
                bail!("the server has no account; create one with `tintype account add NAME`")
            }
            (0, Some(name)) => {
                let all = self.first_accounts(&[]).await?;
                bail!("there is no account `{name}`; accounts: {}", names(&all))
            }
            (_, None) => bail!(
                "there are several accounts; choose one {how}, or deactivate the unused ones with `tintype account deactivate`: {}",
                names(&found)
            ),
            (_, Some(name)) => bail!(
                "several accounts are named `{name}`; choose one by id: {}",
                names(&found)
            ),
        }
    }

    /// The first page of the accounts with exactly this name.
    pub async fn accounts_named(&self, name: &str) -> anyhow::Result<Page<Account>> {
        self.first_accounts(&[("name", name.to_owned())]).await
    }

    async fn first_accounts(&self, filters: &[(&str, String)]) -> anyhow::Result<Page<Account>> {
        let page = PageOptions {
            limit: PAGE_SIZE,
            cursor: None,
        };
        let Page { data, next_cursor } = self.list("/accounts", filters, page).await?;
        let data = read_all(data)?;
        Ok(Page { data, next_cursor })
    }

    /// The first page of the accounts, or all if the page does not tell which one is the default.
    async fn some_accounts(&self) -> anyhow::Result<Page<Account>> {
        let first = self.first_accounts(&[]).await?;
        if first.next_cursor.is_none() || first.data.iter().filter(is_active).count() > 1 {
            return Ok(first);
        }
        Ok(Page {
            data: self.all("/accounts").await?,
            next_cursor: None,
        })
    }

    /// A path below [`Operator::account`].
    pub async fn account_path(
        &self,
        id_or_name: Option<&str>,
        below: &str,
    ) -> anyhow::Result<String> {
        let account = self.account(id_or_name).await?;
        Ok(format!("/accounts/{}{below}", &*account.account_id))
    }

    /// The id of [`Operator::account`]. `None` without `id_or_name`.
    pub async fn account_id(&self, id_or_name: Option<&str>) -> anyhow::Result<Option<String>> {
        match id_or_name {
            Some(_) => Ok(Some(self.account(id_or_name).await?.account_id.into())),
            None => Ok(None),
        }
    }

    /// At most `limit` accounts, oldest first.
    pub async fn accounts(&self, limit: usize) -> anyhow::Result<Vec<Account>> {
        let page = PageOptions {
            limit,
            ..PageOptions::default()
        };
        read_all(self.list("/accounts", &[], page).await?.data)
    }

    /// `GET` a path and pass each chunk of the response to `each`.
    pub async fn stream(
        &self,
        path: &str,
        each: impl FnMut(&[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let url = format!("{}/admin/v1{path}", self.base);
        let streamed = self
            .http
            .stream(&url, Some(self.token.expose()), each)
            .await;
        match streamed.map_err(|error| self.no_response(error))? {
            Some(response) => self.check_token(&response).and(check_status(&response)),
            None => Ok(()),
        }
    }

    fn no_response(&self, error: anyhow::Error) -> anyhow::Error {
        if error.is::<NotSent>() {
            return error;
        }
        let advice = match did_not_arrive(&error) {
            true => "; start the server with `tintype serve`, or give its URL with --server",
            false => "",
        };
        anyhow::anyhow!("no response from {}: {error}{advice}", self.base)
    }

    fn check_token(&self, response: &Response) -> anyhow::Result<()> {
        if response.status == StatusCode::UNAUTHORIZED {
            bail!(
                "{} rejects the operator token from {}; {TOKEN_SOURCES}",
                self.base,
                self.token_source
            );
        }
        Ok(())
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        idempotency_key: Option<&str>,
    ) -> anyhow::Result<Value> {
        let url = format!("{}/admin/v1{path}", self.base);
        let token = Some(self.token.expose());
        let advise = |error| match idempotency_key {
            Some(key) => add_repeat_advice(error, key),
            None => error,
        };
        let request = body.unwrap_or_default();
        let body = (!request.is_null()).then(|| Body::json(&request));
        let response = self
            .http
            .send(method, &url, token, body, idempotency_key)
            .await
            .map_err(|error| self.no_response(advise(error)))?;
        self.check_token(&response)?;
        check_status(&response).map_err(|error| name_options(advise(error), &request))?;
        let bytes = response.body;
        if bytes.is_empty() {
            return Ok(json!(null));
        }
        let value = serde_json::from_slice(&bytes).with_context(|| {
            format!(
                "the response of {} is not from Tintype; check --server",
                self.base
            )
        });
        value.map_err(advise)
    }
}

fn check_status(response: &Response) -> anyhow::Result<()> {
    if !response.status.is_success() {
        bail!(ErrorResponse::new(response.status, &response.body));
    }
    Ok(())
}

/// Replaces the fields of the request in an error response by the options that set them.
fn name_options(error: anyhow::Error, request: &Value) -> anyhow::Error {
    match error.downcast_ref::<ErrorResponse>() {
        Some(response) if request.is_object() => {
            let describe =
                |field: &str, message: &str| option_names::describe(request, field, message);
            anyhow::anyhow!(response.text(&describe))
        }
        _ => error,
    }
}

pub fn only_set<const N: usize>(
    fields: [(&'static str, Option<String>); N],
) -> Vec<(&'static str, String)> {
    let is_set = |(name, value): (&'static str, Option<String>)| Some((name, value?));
    fields.into_iter().filter_map(is_set).collect()
}

/// A request body of the fields that are set.
pub fn body<const N: usize>(fields: [(&str, Option<Value>); N]) -> Map<String, Value> {
    let is_set = |(name, value): (&str, Option<Value>)| Some((name.to_owned(), value?));
    fields.into_iter().filter_map(is_set).collect()
}

pub fn read<T: DeserializeOwned>(value: Value) -> anyhow::Result<T> {
    serde_json::from_value(value).context(
        "this version of tintype cannot read the response; use the same version as the server",
    )
}

pub fn read_all<T: DeserializeOwned>(values: Vec<Value>) -> anyhow::Result<Vec<T>> {
    values.into_iter().map(read).collect()
}

fn is_active(account: &&Account) -> bool {
    account.active.unwrap_or(true)
}

/// The active accounts, or all accounts if none is active.
fn default_accounts(all: &Page<Account>) -> Page<Account> {
    let active: Vec<Account> = all.data.iter().filter(is_active).cloned().collect();
    Page {
        data: match active.is_empty() {
            true => all.data.clone(),
            false => active,
        },
        next_cursor: all.next_cursor.clone(),
    }
}

fn names(accounts: &Page<Account>) -> String {
    let shown: Vec<String> = accounts
        .data
        .iter()
        .take(MAX_LISTED)
        .map(|it| format!("{} ({})", it.name, &*it.account_id))
        .collect();
    let shown = shown.join(", ");
    match accounts.data.len().saturating_sub(MAX_LISTED) {
        _ if accounts.next_cursor.is_some() => format!("{shown} and more"),
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_active_account_is_the_default() {
        let account = |name: &str, active: bool| -> Account {
            let mut json = json!({
                "account_id": name, "name": name, "balance": "0.00", "reserved": "0.00", "available": "0.00", "created_at": "t",
            });
            if !active {
                json["active"] = false.into();
            }
            read(json).unwrap()
        };
        let found = |all: &[Account]| -> Vec<String> {
            let found = default_accounts(&page(all, None));
            found.data.into_iter().map(|it| it.name).collect()
        };
        let all = [account("a", true), account("b", false), account("c", true)];
        assert_eq!(found(&all), ["a", "c"]);
        assert_eq!(found(&all[..2]), ["a"]);
        assert_eq!(found(&all[1..2]), ["b"]);
        assert_eq!(found(&[]), [""; 0]);
    }

    fn page(accounts: &[Account], next: Option<&str>) -> Page<Account> {
        Page {
            data: accounts.to_vec(),
            next_cursor: next.map(str::to_owned),
        }
    }

    #[test]
    fn a_message_lists_ten_accounts_and_counts_the_rest() {
        let account = |at: usize| {
            let json = json!({
                "account_id": format!("id{at}"), "name": format!("name{at}"), "balance": "0.00",
                "reserved": "0.00", "available": "0.00", "created_at": "t",
            });
            read(json).unwrap()
        };
        let all: Vec<Account> = (0..12).map(account).collect();
        assert_eq!(names(&page(&all[..2], None)), "name0 (id0), name1 (id1)");
        assert!(names(&page(&all, None)).ends_with("name9 (id9) and 2 more"));
        assert!(names(&page(&all, Some("x"))).ends_with("name9 (id9) and more"));
    }

    #[test]
    fn a_token_that_no_header_can_carry_is_named_by_its_source_only() {
        let error = Operator::new("http://x", Secret::new("a\nb"), "--token").err();
        let error = error.unwrap().to_string();
        assert!(
            error.contains("--token") && !error.contains('\n'),
            "{error}"
        );
    }
}
