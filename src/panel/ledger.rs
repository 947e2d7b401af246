//! The ledger: pages of entries, and the whole ledger as a CSV file.

use super::csv_file::{self, CsvSource};
use super::names::Names;
use crate::application::accounts::ledger::{self, LedgerFilter};
use crate::application::blocking::blocking;
use crate::application::core::Core;
use crate::csv_text::{LEDGER_HEAD, ledger_line, quote};
use crate::web::auth::access::OfAccount;
use crate::web::problem::HttpResult;
use crate::web::queries::ledger_query;
use crate::web::queries::paging::try_to_page;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::PromptRef;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{Page, StoreError};

/// Entries that are read and sent at a time.
const PAGE: usize = 1_000;

/// A ledger entry shows this many characters of the prompt.
const PROMPT_CHARS: usize = 120;

/// Includes the job of each charge and refund.
pub async fn list(of: OfAccount, request: HttpRequest, core: web::Data<Core>) -> HttpResult {
    let (window, filter) = ledger_query::from_request(&request)?;
    let account = of.account.id;
    let page = ledger::page(&core, account, window, filter).await?;
    let page = blocking(move || {
        let mut names = Names::default();
        try_to_page(page, |entry| {
            let job = entry.job;
            let mut view = json!(tintype_api::Transaction::from(entry));
            if let Some(job) = job {
                view["job"] = job_of_entry(&mut names, &core, account, job).wait()?;
            }
            Ok::<_, StoreError>(view)
        })
    });
    Ok(HttpResponse::Ok().json(page.await?))
}

/// The job of a charge or refund; `null` if the job was deleted.
async fn job_of_entry(
    names: &mut Names,
    core: &Core,
    account: AccountId,
    id: JobId,
) -> Result<Value, StoreError> {
    let Some(job) = core.store.job(account, id).await? else {
        return Ok(Value::Null);
    };
    let prompt = match &job.prompt {
        PromptRef::Inline(text) => Some(text.prompt.chars().take(PROMPT_CHARS).collect::<String>())
            // An erased job has none.
            .filter(|it| !it.is_empty()),
        // A long prompt is in the object store, which lists do not read.
        PromptRef::Stored(_) => None,
    };
    let key = names.key(core, job.key).await?;
    Ok(json!({
        "tier": job.tier.as_str(),
        "resolution": job.resolution.as_str(),
        "key_id": job.key,
        "key_deleted": key.as_ref().is_none_or(|it| it.is_deleted),
        "key_name": key.map(|it| it.name),
        "prompt": prompt,
    }))
}

/// Takes the filters of the list. The lines are those of the command line, with the currency.
pub async fn csv(of: OfAccount, request: HttpRequest, core: web::Data<Core>) -> HttpResult {
    let account = of.account.id;
    let (_, filter) = ledger_query::from_request(&request)?;
    let head = format!("{LEDGER_HEAD},currency\r\n");
    let reader = Reader {
        core,
        account,
        filter,
        after: None,
    };
    csv_file::respond(&format!("ledger-{account}.csv"), &head, reader).await
}

struct Reader {
    core: web::Data<Core>,
    account: AccountId,
    filter: LedgerFilter,
    /// The last entry that was read.
    after: Option<[u8; 16]>,
}

impl CsvSource for Reader {
    const CONTENT: &'static str = "ledger";

    fn read(self) -> Result<(String, Option<Self>), StoreError> {
        let Page { items, next } =
            self.filter
                .read(&self.core.store, self.account, PAGE, self.after)?;
        let wanted = items.into_iter().filter(|it| self.filter.matches(it));
        let end = format!(",{}\r\n", quote(&self.core.currency));
        let text = wanted.map(|it| ledger_line(&it.into()) + &end).collect();
        let rest = next.map(|last| Self {
            after: Some(last),
            ..self
        });
        Ok((text, rest))
    }
}
