//! `tintype webhook reset-secrets`: new secrets for webhooks whose secrets cannot be decrypted any more.

use crate::cli::output::{escape_control_chars, print};
use crate::cli::record_source;
use crate::cli::settings::Settings;
use crate::config::Config;
use crate::server::instance_secrets::InstanceSecrets;
use crate::server::{StartError, engine};
use crate::webhooks::{Vault, VaultError};
use anyhow::bail;
use clap::Args;
use std::sync::Arc;
use tintype_storage::domain::counted::counted;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::engine::{Engine, commit_and_wait};
use tintype_storage::store::tables::{VAULT_KEY, WEBHOOKS};
use tintype_storage::store::{All, Store, Writes};
use tintype_storage::webhook_wire::secret::WebhookSecret;

/// Webhooks per commit.
const STEP: usize = 500;

#[derive(Args)]
pub struct Arguments {
    /// Confirm that the webhooks get new secrets.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    settings: Settings,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let config = arguments.settings.load_for_records()?;
    record_source::require_store(&config)?;
    let engine = engine::open_engine_exclusively(&config)?;
    let reset = reset(&config, &engine, arguments.yes).await;
    engine.close();
    print(&reset?)
}

/// Returns what it has done.
async fn reset(config: &Config, engine: &Arc<dyn Engine>, yes: bool) -> anyhow::Result<String> {
    let store = Store::new(Arc::clone(engine));
    let vault = current_vault(config, &store).await?;
    let (mut lost, now) = (Vec::new(), Timestamp::now());
    WEBHOOKS
        .each(&store, &All, |_, webhook| {
            if !vault.as_ref().is_some_and(|it| it.opens(&webhook, now)) {
                lost.push(webhook);
            }
            Ok(())
        })
        .await?;
    if vault.is_some() && lost.is_empty() {
        return Ok("the secrets of all webhooks can be decrypted; nothing is changed\n".to_owned());
    }
    let count = counted(lost.len(), "webhook");
    if !yes {
        bail!(
            "the secrets of {count} cannot be decrypted with the key of this service; if the right key is lost, add --yes to give them new \
             secrets"
        );
    }
    let (vault, key) = match vault {
        Some(vault) => (vault, Writes::new()),
        None => new_vault(config, &store).await?,
    };
    let mut lines = String::new();
    for step in lost.chunks(STEP) {
        let mut writes = Writes::new();
        for webhook in step {
            let secret = WebhookSecret::from_random(rand::random());
            writes.extend(store.put_webhook(&Webhook {
                secret: vault.seal(webhook.id, &secret),
                retired: Vec::new(),
                ..webhook.clone()
            }));
            let (id, account) = (webhook.id, webhook.account);
            let url = escape_control_chars(&webhook.url);
            lines += &format!("webhook {id} of account {account}: {url}\n");
        }
        commit_and_wait(&**engine, writes)?;
    }
    // The key is last: until then the service does not start, and the command can be repeated.
    if !key.is_empty() {
        commit_and_wait(&**engine, key)?;
    }
    Ok(format!(
        "{lines}{count} got a new secret; start the service, show the secrets with `tintype webhook show ID`, and give them to the receivers\n"
    ))
}

/// The vault of the service. `None` if the service does not start, because the vault's key is lost.
async fn current_vault(config: &Config, store: &Store) -> anyhow::Result<Option<Vault>> {
    let secrets = InstanceSecrets::new(config, config.storage.url.is_some())?;
    match secrets.open_vault(config, store).await {
        Ok(vault) => Ok(Some(vault)),
        Err(StartError::Vault(
            VaultError::Key { .. } | VaultError::OtherSecret | VaultError::NoSecret,
        )) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A vault for new secrets, and the changes of the records that belong to it.
async fn new_vault(config: &Config, store: &Store) -> anyhow::Result<(Vault, Writes)> {
    let is_shared = config.storage.url.is_some() || VAULT_KEY.get(store, &()).await?.is_some();
    Ok(match &config.cluster.secret {
        Some(secret) if is_shared => {
            let (vault, sealed) = Vault::create_for_nodes(secret);
            (vault, vec![VAULT_KEY.put(&(), &sealed)])
        }
        // A key file that is there may be the wrong one for the old secrets, but it can encrypt new ones.
        _ => {
            let vault = Vault::load_or_create(&config.storage.data_dir, None)?;
            (vault, vec![VAULT_KEY.delete(&())])
        }
    })
}
