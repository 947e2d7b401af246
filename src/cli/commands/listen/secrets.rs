//! The secrets to verify with: from the command line, or of the server's webhooks and of the local configuration's operator webhook.

use crate::cli::operator::Operator;
use crate::cli::operator_access::Access;
use crate::webhooks::SignatureReport;
use anyhow::Context as _;
use std::time::Duration;
use tintype_api::Webhook;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::webhook_wire::secret::WebhookSecret;
use tintype_storage::webhook_wire::verification::Headers;
use tokio::sync::Mutex;
use tokio::time::timeout;

/// For the whole look-up, while the sender of the delivery waits for the response.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum number of accounts whose webhooks are looked up.
const MAX_ACCOUNTS: usize = 100;

pub enum Secrets {
    CommandLine(Vec<WebhookSecret>),
    /// Looked up again for each delivery that does not verify with the known secrets.
    Server(Box<Mutex<SecretCache>>),
}

pub struct SecretCache {
    access: Access,
    operator: Option<Operator>,
    /// Signs operator events. The server does not reveal it.
    operator_secret: Option<WebhookSecret>,
    known: Vec<WebhookSecret>,
}

impl Secrets {
    /// Uses the secrets of the server if `secrets` is empty.
    pub fn new(secrets: Vec<WebhookSecret>, access: Access) -> Self {
        if secrets.is_empty() {
            // The configuration has checked the secret.
            let configured = access.operator_secret();
            let operator_secret = configured.and_then(|it| WebhookSecret::parse(it.expose()).ok());
            Self::Server(Box::new(Mutex::new(SecretCache {
                access,
                operator: None,
                known: operator_secret.iter().cloned().collect(),
                operator_secret,
            })))
        } else {
            Self::CommandLine(secrets)
        }
    }

    /// One line for the user.
    pub async fn describe_source(&self) -> String {
        match self {
            Self::CommandLine(_) => "Verifying with the secrets of --secret".into(),
            Self::Server(cache) => {
                let mut cache = cache.lock().await;
                let source = match cache.refresh().await {
                    Ok(()) => format!(
                        "Verifying with the secrets of the webhooks at {}",
                        cache.operator.as_ref().map_or("", Operator::base)
                    ),
                    Err(error) => format!(
                        "Not verifying signatures, because the secrets cannot be looked up; set --secret: {error:#}"
                    ),
                };
                match &cache.operator_secret {
                    Some(_) => format!(
                        "{source}\nVerifying operator events with webhook_secret in [operator] of the configuration"
                    ),
                    None => source,
                }
            }
        }
    }

    /// # Errors
    /// The secrets cannot be looked up.
    pub async fn verify(
        &self,
        headers: &Headers<'_>,
        body: &[u8],
        now: Timestamp,
    ) -> anyhow::Result<SignatureReport> {
        match self {
            Self::CommandLine(secrets) => Ok(SignatureReport::new(secrets, headers, body, now)),
            Self::Server(cache) => {
                let mut cache = cache.lock().await;
                let report = SignatureReport::new(&cache.known, headers, body, now);
                if report.x_signature.is_ok() && report.standard.is_ok() {
                    return Ok(report);
                }
                // The webhook or its secret may be newer than the cache.
                cache.refresh().await?;
                Ok(SignatureReport::new(&cache.known, headers, body, now))
            }
        }
    }
}

impl SecretCache {
    async fn refresh(&mut self) -> anyhow::Result<()> {
        let operator = match self.operator.take() {
            Some(operator) => operator,
            None => self.access.operator()?,
        };
        let found = timeout(TIMEOUT, fetch_secrets(&operator)).await;
        let found =
            found.with_context(|| format!("{} did not respond in time", operator.base()))?;
        self.operator = Some(operator);
        self.known = found?;
        self.known.extend(self.operator_secret.clone());
        Ok(())
    }
}

async fn fetch_secrets(operator: &Operator) -> anyhow::Result<Vec<WebhookSecret>> {
    let mut secrets = Vec::new();
    for account in operator.accounts(MAX_ACCOUNTS).await? {
        let path = format!("/accounts/{}/webhooks", &*account.account_id);
        for webhook in operator.all::<Webhook>(&path).await? {
            let secret = webhook
                .secret
                .context("the response contains a webhook without its secret")?;
            secrets.push(WebhookSecret::parse(&secret)?);
        }
    }
    Ok(secrets)
}
