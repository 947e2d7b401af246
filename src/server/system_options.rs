//! The options of the actor system.

use super::adapters::Adapters;
use super::backends::ConfiguredBackends;
use super::fd_limits;
use super::observability::Observability;
use super::setup::Setup;
use super::stores::Stores;
use crate::batch_input_fetcher::BatchInputFetcher;
use crate::catalog::catalog;
use crate::config::Config;
use crate::job_objects::JobObjectStore;
use crate::webhooks::{Sender, Vault};
use std::sync::Arc;
use tintype_actors::clock::random_jitter;
use tintype_actors::delivery::DeliveryLimits;
use tintype_actors::node::NodeContext;
use tintype_actors::system::{DeliveryOptions, JobOptions, ProcessOptions, SystemOptions, Threads};
use tintype_storage::domain::operator_event::OPERATOR_WEBHOOK;
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::store::Limits;
use tintype_storage::webhook_wire::secret::WebhookSecret;

/// Concurrent delivery attempts to one healthy receiver.
const MAX_ATTEMPTS_PER_RECEIVER: usize = 16;

pub fn system_options(
    setup: &Setup,
    stores: &Stores,
    adapters: &Adapters,
    backends: ConfiguredBackends,
    observability: &Observability,
) -> SystemOptions {
    SystemOptions {
        store: stores.store.clone(),
        jobs: job_options(&setup.config, stores, adapters, backends),
        deliveries: delivery_options(&setup.config, stores, adapters),
        process: process_options(setup, stores, observability),
    }
}

fn job_options(
    config: &Config,
    stores: &Stores,
    adapters: &Adapters,
    ConfiguredBackends { backends, routes }: ConfiguredBackends,
) -> JobOptions {
    let (objects, input_deletion) = (stores.objects.clone(), stores.input_deletion.clone());
    JobOptions {
        limits: Limits {
            max_live_per_account: config.jobs.max_live_per_account as usize,
            idempotency_retention: config.idempotency.retention(),
        },
        max_runs: config.jobs.max_runs,
        run_timeout: config.jobs.timeout(),
        backends,
        routes,
        input_fetcher: Arc::new(BatchInputFetcher {
            inputs: Arc::clone(&adapters.inputs),
            objects: objects.clone(),
            catalog: catalog(&config.tiers),
        }),
        job_objects: Arc::new(JobObjectStore::new(objects, stores.writers, input_deletion)),
    }
}

fn delivery_options(config: &Config, stores: &Stores, adapters: &Adapters) -> DeliveryOptions {
    DeliveryOptions {
        transport: Arc::new(Sender {
            store: stores.store.clone(),
            objects: stores.objects.clone(),
            vault: stores.vault.clone(),
            egress: adapters.webhook_client.clone(),
            ungated: adapters.ungated_client.clone(),
            clock: Arc::clone(&stores.clock),
            timeout: config.webhooks.attempt_timeout(),
            url_lifetime: config.results.url_lifetime(),
        }),
        retry_delays: config.webhooks.retry_delays(),
        limits: DeliveryLimits {
            total: fd_limits::max_delivery_attempts(),
            per_receiver: MAX_ATTEMPTS_PER_RECEIVER,
        },
    }
}

fn operator_webhook(config: &Config, vault: &Vault) -> Option<Webhook> {
    let url = config.operator.webhook_url.clone()?;
    // The configuration has validated both.
    let secret = config.operator.webhook_secret.as_ref()?;
    let secret = WebhookSecret::parse(secret.expose()).ok()?;
    let sealed = vault.seal(OPERATOR_WEBHOOK, &secret);
    Some(Webhook::of_operator(url, sealed))
}

fn process_options(
    setup: &Setup,
    stores: &Stores,
    observability: &Observability,
) -> ProcessOptions {
    ProcessOptions {
        clock: Arc::clone(&stores.clock),
        jitter: random_jitter(),
        observer: observability.job_observer(&setup.config, &stores.clock),
        fail_stop: setup.fail_stop.clone(),
        operator: operator_webhook(&setup.config, &stores.vault).map(Arc::new),
        threads: Threads::Own,
        node: setup.node.map(|id| {
            let node = NodeContext::new(id, setup.config.cluster.dead_after());
            Arc::new(node.with_process(observability.process.clone()))
        }),
    }
}
