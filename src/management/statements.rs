//! Lists the statements of accounts.

use crate::application::accounts::statements::{self, StatementFilter};
use crate::application::core::Core;
use crate::web::auth::access::OperatorCall;
use crate::web::problem::{FieldFault, HttpResult, Problem};
use crate::web::queries::paging::{self, to_page};
use crate::web::queries::query;
use actix_web::{HttpRequest, HttpResponse, web};

const NAMES: &[&str] = &["account_id", "from", "to", "lines"];

/// Oldest account first.
pub async fn list(_: OperatorCall, request: HttpRequest, core: web::Data<Core>) -> HttpResult {
    let mut filter = StatementFilter::default();
    let take = |name: &str, value: &str| read(&mut filter, name, value);
    let window = paging::filtered_window(&request, NAMES, take)?;
    let range = filter.range;
    if range
        .from
        .is_some_and(|from| range.to.is_some_and(|to| to < from))
    {
        let fault = FieldFault::new("to", "must not be before from");
        return Err(Problem::validation(vec![fault]));
    }
    let page = statements::page(&core, window, filter).await?;
    Ok(HttpResponse::Ok().json(to_page(page, |it| it)))
}

fn read(filter: &mut StatementFilter, name: &str, value: &str) -> Result<(), FieldFault> {
    match name {
        "account_id" => filter.account = Some(query::id(name, value)?),
        "lines" => {
            let wrong = |_| FieldFault::new(name, "must be true or false");
            filter.with_lines = value.parse().map_err(wrong)?;
        }
        _ => query::range_end(&mut filter.range, name, value)?,
    }
    Ok(())
}
