//! The payer of panel requests: a key of the account whose value is never shown.

use crate::application::accounts::panel_key;
use crate::application::caller::payer::Payer;
use crate::application::services::AccountService;
use crate::web::auth::access::OfAccount;
use crate::web::problem::{Code, Problem};

/// The account's panel key.
///
/// # Errors
/// 403
pub async fn for_account(accounts: &AccountService, of: &OfAccount) -> Result<Payer, Problem> {
    Ok(panel_key::payer(accounts, &of.caller, &of.account).await?)
}

/// Explains a rejected submission to a signed-in person: a 401 concerns the panel key, and the page sends the idempotency key.
pub fn explain_rejection(payer: &Payer, mut problem: Problem) -> Problem {
    if problem.code == Code::Unauthorized {
        return panel_key::refusal(&payer.key, &problem.detail).into();
    }
    problem.advice = "";
    problem
}
