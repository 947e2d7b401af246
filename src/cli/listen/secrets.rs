//! The secrets to verify with: from the command line, or those of the server's webhooks.

use super::super::operator::{Operator, read};
use super::super::operator_access::Access;
use crate::webhooks::SignatureReport;
use anyhow::Context as _;
use std::time::Duration;
use tintype_api::Webhook;
use tintype_storage::domain::secret::Secret;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::verification::Headers;
use tokio::sync::Mutex;
use tokio::time::timeout;

/// For the whole look-up, while the sender of the delivery waits for its answer.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Most accounts whose webhooks are looked up.
const MAX_ACCOUNTS: usize = 100;

/// Where secrets come from.
pub enum Secrets {
    /// The command line.
    Given(Vec<Secret>),
    /// The operator interface, asked again for each delivery that does not verify with the known secrets.
    LookedUp(Box<Mutex<LookUp>>),
}

/// The secrets found so far.
pub struct LookUp {
    access: Access,
    operator: Option<Operator>,
    known: Vec<Secret>,
}

impl Secrets {
    /// Uses the given secrets, if there are any.
    pub fn new(given: Vec<Secret>, access: Access) -> Self {
        if given.is_empty() {
            Self::LookedUp(Box::new(Mutex::new(LookUp {
                access,
                operator: None,
                known: Vec::new(),
            })))
        } else {
            Self::Given(given)
        }
    }

    /// The source of the secrets, in one line.
    pub async fn greeting(&self) -> String {
        match self {
            Self::Given(_) => "Verifying with the given secret".into(),
            Self::LookedUp(look_up) => {
                let mut look_up = look_up.lock().await;
                match look_up.refresh().await {
                    Ok(()) => format!(
                        "Verifying with the secrets of the webhooks at {}",
                        look_up.operator.as_ref().map_or("", Operator::base)
                    ),
                    Err(error) => format!(
                        "Not verifying until the secrets can be looked up or are given with --secret: {error:#}"
                    ),
                }
            }
        }
    }

    /// Verifies the signatures, or says why that is not possible.
    pub async fn report(
        &self,
        headers: &Headers<'_>,
        body: &[u8],
        now: Timestamp,
    ) -> anyhow::Result<SignatureReport> {
        match self {
            Self::Given(secrets) => Ok(SignatureReport::new(secrets, headers, body, now)),
            Self::LookedUp(look_up) => {
                let mut look_up = look_up.lock().await;
                let report = SignatureReport::new(&look_up.known, headers, body, now);
                if report.x_signature.is_ok() && report.standard.is_ok() {
                    return Ok(report);
                }
                // The webhook or its secret may be newer than the last look-up.
                look_up.refresh().await?;
                Ok(SignatureReport::new(&look_up.known, headers, body, now))
            }
        }
    }
}

impl LookUp {
    async fn refresh(&mut self) -> anyhow::Result<()> {
        let operator = match self.operator.take() {
            Some(operator) => operator,
            None => self.access.operator()?,
        };
        let found = timeout(TIMEOUT, webhooks(&operator)).await;
        let found = found.with_context(|| format!("{} did not answer in time", operator.base()))?;
        self.operator = Some(operator);
        self.known = found?;
        Ok(())
    }
}

async fn webhooks(operator: &Operator) -> anyhow::Result<Vec<Secret>> {
    let mut secrets = Vec::new();
    for account in operator.accounts(MAX_ACCOUNTS).await? {
        let path = format!("/accounts/{}/webhooks", &*account.account_id);
        for webhook in operator.whole(&path).await?.data {
            let webhook: Webhook = read(webhook)?;
            let secret = webhook
                .secret
                .context("a webhook came without its secret")?;
            secrets.push(Secret::parse(&secret)?);
        }
    }
    Ok(secrets)
}
