//! The ledger: a page of it, and as a file, whole, which is written while it is sent, however long it is.

use super::csv_file::{self, CsvSource};
use super::names::Names;
use crate::application::error;
use crate::application::ledger::{self, LedgerFilter};
use crate::application::state::AppState;
use crate::ledger_csv::{HEAD, Line};
use crate::web::access::OfAccount;
use crate::web::ledger_query;
use crate::web::paging::try_listing;
use crate::web::problem::Problem;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::PromptRef;
use tintype_storage::domain::ledger::LedgerEntry;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{Page, StoreError};

/// Entries that are read, and sent, at a time.
const STEP: usize = 1_000;

/// Characters of a prompt that a line shows.
const PROMPT_CHARS: usize = 120;

/// `GET /transactions`, with what each charge paid for.
pub async fn list(
    of: OfAccount,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let (window, filter) = ledger_query::of(&request)?;
    let account = of.account.id;
    let page = ledger::page(&state, account, window, filter).await?;
    let described = web::block(move || {
        let mut names = Names::default();
        try_listing(page, |entry| {
            let job = entry.job;
            let mut view = json!(tintype_api::Transaction::from(entry));
            if let Some(job) = job {
                view["job"] = charged(&mut names, &state, account, job)?;
            }
            Ok::<_, StoreError>(view)
        })
    });
    Ok(HttpResponse::Ok().json(described.await.map_err(|_| error::busy())??))
}

/// What a charge paid for; `null` for a job that is no longer there.
fn charged(
    names: &mut Names,
    state: &AppState,
    account: AccountId,
    id: JobId,
) -> Result<Value, StoreError> {
    let Some(job) = state.store.job(account, id).wait()? else {
        return Ok(Value::Null);
    };
    let prompt = match &job.prompt {
        PromptRef::Inline(text) => Some(text.prompt.chars().take(PROMPT_CHARS).collect::<String>()),
        // A long one is in the object store, which a list does not ask.
        PromptRef::Stored(_) => None,
    };
    Ok(json!({
        "tier": job.tier.word(),
        "resolution": job.resolution.word(),
        "key_id": job.key,
        "key_name": names.key(state, job.key)?,
        "prompt": prompt,
    }))
}

/// `GET /ledger.csv`, with the filters of the list.
pub async fn csv(
    of: OfAccount,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = of.account.id;
    let (_, filter) = ledger_query::of(&request)?;
    let reader = Reader {
        state,
        account,
        filter,
        after: None,
    };
    csv_file::answer(&format!("ledger-{account}.csv"), HEAD, reader).await
}

/// How far a ledger has been read.
struct Reader {
    state: web::Data<AppState>,
    account: AccountId,
    filter: LedgerFilter,
    after: Option<[u8; 16]>,
}

impl CsvSource for Reader {
    const WHAT: &'static str = "ledger";

    fn read(self) -> Result<(String, Option<Self>), StoreError> {
        let Page { items, next } =
            self.filter
                .read(&self.state.store, self.account, STEP, self.after)?;
        let wanted = items.iter().filter(|it| self.filter.matches(it));
        let text = wanted.map(line).collect();
        let rest = next.map(|last| Self {
            after: Some(last),
            ..self
        });
        Ok((text, rest))
    }
}

fn line(entry: &LedgerEntry) -> String {
    Line {
        created_at: &entry.created_at.to_string(),
        kind: entry.kind.word(),
        amount: &entry.amount.to_string(),
        balance_after: &entry.balance_after.to_string(),
        job: entry.job.map(|it| it.to_string()).as_deref(),
        reference: entry.reference.as_deref(),
        id: &entry.id.to_string(),
    }
    .text()
}
