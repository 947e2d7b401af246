//! A client of the operator interface (`/admin/v1`) of a running server.

use super::http_client::{Body, HttpClient, Response, did_not_arrive};
use super::refusal::refusal;
use crate::config::Secret;
use anyhow::{Context as _, bail};
use clap::Args;
use clap::builder::TypedValueParser as _;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tintype_api::{Account, Listing};
use tintype_egress::header::HeaderValue;
use tintype_egress::{Method, StatusCode};
use tintype_storage::domain::ids::AccountId;
use url::form_urlencoded;
use uuid::Uuid;

/// Sources of the token, in order; part of every message about it.
pub const TOKEN_PLACES: &str = "the token is read from --token, the environment variable TINTYPE_ADMIN_TOKEN, [admin] token of the configuration, or the file admin-token of the data directory (--data-dir)";
const MAX_ANSWER: usize = 16 * 1024 * 1024;
/// Entries per page, the maximum of the interface.
const PAGE: usize = 100;
/// Most pages read of one list.
const MAX_PAGES: usize = 1_000;
/// Accounts listed in a message.
const NAMED: usize = 10;

/// A server with the operator's token.
pub struct Operator {
    http: HttpClient,
    base: String,
    token: Secret,
    token_from: String,
}

/// A page of a list.
#[derive(Args)]
pub struct PageOptions {
    /// Most entries to list.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000).map(as_usize))]
    pub limit: usize,
    /// Continue after an earlier list: its next_cursor.
    #[arg(long, value_name = "CURSOR")]
    pub cursor: Option<String>,
}

impl Default for PageOptions {
    /// The whole list.
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

/// The server did not answer.
#[derive(Debug, thiserror::Error)]
enum NoAnswer {
    #[error(
        "no answer from {base}: {error}; start a server with `tintype serve`, or name another one with --server"
    )]
    DidNotArrive { base: String, error: String },
    /// The server may have carried out the call.
    #[error("no answer from {base}: {error}")]
    MayHaveArrived { base: String, error: String },
}

impl Operator {
    /// A client of the server at `base`, without `/admin/v1`. `token_from` names the source of the token in messages.
    pub fn new(base: &str, token: Secret, token_from: &str) -> anyhow::Result<Self> {
        if HeaderValue::from_str(token.expose()).is_err() {
            bail!(
                "the operator token from {token_from} has characters that an HTTP header cannot carry"
            );
        }
        Ok(Self {
            http: HttpClient::new()?,
            base: base.to_owned(),
            token,
            token_from: token_from.to_owned(),
        })
    }

    /// Where the server is.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// `GET` of a path below `/admin/v1`.
    pub async fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.call(Method::GET, path, None).await
    }

    /// `POST` with a JSON body, or with none.
    pub async fn post(&self, path: &str, body: Option<Value>) -> anyhow::Result<Value> {
        self.call(Method::POST, path, body).await
    }

    /// `POST` with an `Idempotency-Key`. Without `name` the key is random, and the error for a lost answer names it: the server may
    /// have carried out the call.
    pub async fn post_once(
        &self,
        path: &str,
        body: Value,
        name: Option<&str>,
    ) -> anyhow::Result<Value> {
        let name = name.map_or_else(|| Uuid::new_v4().to_string(), str::to_owned);
        let outcome = self.send(Method::POST, path, Some(body), Some(&name)).await;
        outcome.map_err(|error| match error.downcast_ref() {
            Some(NoAnswer::MayHaveArrived { .. }) => anyhow::anyhow!(
                "{error}; the server may have carried out the call: repeat it with --idempotency-key {name}, and it is carried out once"
            ),
            Some(NoAnswer::DidNotArrive { .. }) | None => error,
        })
    }

    /// `PATCH` with a JSON body.
    pub async fn patch(&self, path: &str, body: Value) -> anyhow::Result<Value> {
        self.call(Method::PATCH, path, Some(body)).await
    }

    /// `DELETE`
    pub async fn delete(&self, path: &str) -> anyhow::Result<Value> {
        self.call(Method::DELETE, path, None).await
    }

    /// A part of a list, from as many pages as needed.
    pub async fn list(
        &self,
        path: &str,
        filters: &[(&str, String)],
        page: PageOptions,
    ) -> anyhow::Result<Listing<Value>> {
        let mut found: Vec<Value> = Vec::new();
        let mut cursor = page.cursor;
        for _ in 0..MAX_PAGES {
            let size = page.limit.saturating_sub(found.len()).min(PAGE);
            if size == 0 {
                break;
            }
            let mut query = filters.to_vec();
            query.push(("limit", size.to_string()));
            query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
            let query = form_urlencoded::Serializer::new(String::new())
                .extend_pairs(query)
                .finish();
            let page: Listing<Value> = read(self.get(&format!("{path}?{query}")).await?)?;
            found.extend(page.data);
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        Ok(Listing {
            data: found,
            next_cursor: cursor,
        })
    }

    /// A whole list.
    pub async fn whole(&self, path: &str) -> anyhow::Result<Listing<Value>> {
        self.list(path, &[], PageOptions::default()).await
    }

    /// The account with this id or name; without one, the only account.
    pub async fn account(&self, wanted: Option<&str>) -> anyhow::Result<Account> {
        if let Some(id) = wanted.and_then(|text| text.parse::<AccountId>().ok()) {
            return read(self.get(&format!("/accounts/{id}")).await?);
        }
        let all: Vec<Account> = read_all(self.whole("/accounts").await?.data)?;
        let mut fitting: Vec<Account> = all
            .iter()
            .filter(|it| wanted.is_none_or(|name| it.name == name))
            .cloned()
            .collect();
        match (fitting.len(), wanted) {
            (1, _) => Ok(fitting.swap_remove(0)),
            (0, None) => {
                bail!("the server has no account; open one with `tintype account add NAME`")
            }
            (0, Some(name)) => bail!(
                "there is no account `{name}`; the accounts are {}",
                names(&all)
            ),
            (_, None) => bail!(
                "there are several accounts; choose one by id or name (--account where the command takes it): {}",
                names(&all)
            ),
            (_, Some(name)) => bail!(
                "several accounts are named `{name}`; choose one by its id: {}",
                names(&fitting)
            ),
        }
    }

    /// The path below the account with this id or name; without one, the only account.
    pub async fn account_path(&self, wanted: Option<&str>, below: &str) -> anyhow::Result<String> {
        let account = self.account(wanted).await?;
        Ok(format!("/accounts/{}{below}", &*account.account_id))
    }

    /// The id of the account with this id or name, if one is named.
    pub async fn account_id(&self, wanted: Option<&str>) -> anyhow::Result<Option<String>> {
        match wanted {
            Some(wanted) => Ok(Some(self.account(Some(wanted)).await?.account_id.into())),
            None => Ok(None),
        }
    }

    /// The oldest accounts, `limit` at the most.
    pub async fn accounts(&self, limit: usize) -> anyhow::Result<Vec<Account>> {
        let page = PageOptions {
            limit,
            ..PageOptions::default()
        };
        read_all(self.list("/accounts", &[], page).await?.data)
    }

    /// `GET` of a path whose answer is passed on in chunks.
    pub async fn stream(
        &self,
        path: &str,
        each: impl FnMut(&[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let url = format!("{}/admin/v1{path}", self.base);
        let streamed = self.http.stream(&url, self.token.expose(), each).await;
        match streamed.map_err(|error| self.no_answer(&error))? {
            Some(refusal) => self.refuse(&refusal),
            None => Ok(()),
        }
    }

    fn no_answer(&self, error: &anyhow::Error) -> NoAnswer {
        let (base, text) = (self.base.clone(), error.to_string());
        match did_not_arrive(error) {
            true => NoAnswer::DidNotArrive { base, error: text },
            false => NoAnswer::MayHaveArrived { base, error: text },
        }
    }

    fn refuse(&self, answer: &Response) -> anyhow::Result<()> {
        if answer.status == StatusCode::UNAUTHORIZED {
            bail!(
                "{} rejects the operator token from {}; {TOKEN_PLACES}",
                self.base,
                self.token_from
            );
        }
        if !answer.status.is_success() {
            bail!(refusal(answer.status, &answer.body));
        }
        Ok(())
    }

    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> anyhow::Result<Value> {
        self.send(method, path, body, None).await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        once: Option<&str>,
    ) -> anyhow::Result<Value> {
        let url = format!("{}/admin/v1{path}", self.base);
        let token = Some(self.token.expose());
        let body = body.as_ref().map(Body::json);
        let answer = self
            .http
            .send(method, &url, token, body, once, MAX_ANSWER)
            .await
            .map_err(|error| self.no_answer(&error))?;
        self.refuse(&answer)?;
        let bytes = answer.body;
        if bytes.is_empty() {
            return Ok(json!(null));
        }
        serde_json::from_slice(&bytes).with_context(|| {
            format!(
                "the answer of {} is not from Tintype; check --server",
                self.base
            )
        })
    }
}

/// The filters that are given.
pub fn given<const N: usize>(
    filters: [(&'static str, Option<String>); N],
) -> Vec<(&'static str, String)> {
    let given = |(name, value): (&'static str, Option<String>)| Some((name, value?));
    filters.into_iter().filter_map(given).collect()
}

/// Parses an answer.
pub fn read<T: DeserializeOwned>(value: Value) -> anyhow::Result<T> {
    serde_json::from_value(value)
        .context("the answer does not fit this version of tintype; use the version of the server")
}

fn read_all<T: DeserializeOwned>(values: Vec<Value>) -> anyhow::Result<Vec<T>> {
    values.into_iter().map(read).collect()
}

fn names(accounts: &[Account]) -> String {
    let shown: Vec<String> = accounts
        .iter()
        .take(NAMED)
        .map(|it| format!("{} ({})", it.name, &*it.account_id))
        .collect();
    let more = accounts.len().saturating_sub(NAMED);
    match more {
        0 => shown.join(", "),
        _ => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(names(&all[..2]), "name0 (id0), name1 (id1)");
        assert!(names(&all).ends_with("name9 (id9) and 2 more"));
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
