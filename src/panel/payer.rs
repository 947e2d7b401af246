//! Who pays for what is made in the panel: a key of the account whose text no person has.

use crate::application::panel_key;
use crate::application::payer::Payer;
use crate::application::state::AppState;
use crate::web::access::OfAccount;
use crate::web::problem::{Code, Problem};

/// The account's key for what is made in the panel.
///
/// # Errors
/// 403
pub async fn of(state: &AppState, of: &OfAccount) -> Result<Payer, Problem> {
    Ok(panel_key::payer(state, &of.caller, &of.account).await?)
}

/// What a person is told where a submission is refused: they are signed in, so that 401 means the key.
pub fn refusal(payer: &Payer, problem: Problem) -> Problem {
    match problem.code {
        Code::Unauthorized => panel_key::refusal(&payer.key, &problem.detail).into(),
        _ => problem,
    }
}
