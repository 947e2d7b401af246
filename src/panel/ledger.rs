//! The ledger as a file for a spreadsheet (RFC 4180).

use super::guard::OfAccount;
use crate::http::admin::ledger::Filter;
use crate::http::failures;
use crate::http::problem::Problem;
use crate::http::state::AppState;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use std::fmt::Write as _;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::store::StoreError;

/// Entries of one file, the newest ones.
const MOST: usize = 100_000;
const STEP: usize = 1_000;

/// `GET /ledger.csv`, with the filters of the list.
pub async fn csv(
    of: OfAccount,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = of.account.id;
    let (_, filter) = Filter::of(&request)?;
    let written = web::block(move || write(&state, account, &filter)).await;
    let text = written.map_err(|_| failures::busy())??;
    let name = format!("attachment; filename=\"ledger-{account}.csv\"");
    Ok(HttpResponse::Ok()
        .content_type("text/csv; charset=utf-8")
        .insert_header((header::CONTENT_DISPOSITION, name))
        .body(text))
}

fn write(state: &AppState, account: AccountId, filter: &Filter) -> Result<String, StoreError> {
    let mut text =
        String::from("created_at,kind,amount,balance_after,job_id,reference,transaction_id\r\n");
    let (mut after, mut written) = (None, 0);
    loop {
        let page = filter.read(state, account, STEP, after)?;
        for entry in page.items.iter().filter(|it| filter.lets(it)) {
            let job = entry.job.map(|it| it.to_string()).unwrap_or_default();
            let reference = quoted(entry.reference.as_deref().unwrap_or_default());
            written += 1;
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "{},{},{},{},{job},{reference},{}\r\n",
                entry.created_at,
                entry.kind.word(),
                entry.amount,
                entry.balance_after,
                entry.id,
            );
        }
        after = page.next;
        if after.is_none() || written >= MOST {
            return Ok(text);
        }
    }
}

/// A field of free text. What a spreadsheet would take for a formula gets an apostrophe, which makes it text.
fn quoted(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let guard = if formula { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn free_text_is_quoted_and_is_never_a_formula() {
        assert_eq!(quoted("a \"b\", c"), "\"a \"\"b\"\", c\"");
        assert_eq!(quoted("=HYPERLINK(1)"), "\"'=HYPERLINK(1)\"");
        assert_eq!(quoted("@x"), "\"'@x\"");
        assert_eq!(quoted(""), "\"\"");
    }
}
