//! A running instance, and what its HTTP handlers get of it.

use super::adapters::Adapters;
use super::observability::Observability;
use super::setup::Setup;
use super::stores::Stores;
use super::{maintenance, sweeps};
use crate::application::core::Core;
use crate::application::credentials::authentication::Authentication;
use crate::application::jobs::search_index;
use crate::application::limits::call_limits::CallLimits;
use crate::application::nodes::maintainer::Maintainer;
use crate::application::nodes::rate_exchange;
use crate::application::operations::{pause, readiness};
use crate::application::services::{AccountService, GenerationService, JobService, WebhookService};
use crate::application::settings::Settings;
use crate::catalog::catalog;
use crate::compat::CompatState;
use crate::http::{Documents, documents};
use crate::observability::metrics::Metrics;
use crate::observability::traces::Exporter;
use crate::panel::Panel;
use actix_web::rt::spawn;
use actix_web::web::{Data, ServiceConfig};
use std::fs::File;
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::system::System;
use tintype_storage::domain::node::NodeProcess;

/// The services that the HTTP workers of an instance share.
#[derive(Clone)]
pub struct Instance {
    pub core: Data<Core>,
    pub settings: Data<Settings>,
    pub accounts: Data<AccountService>,
    pub jobs: Data<JobService>,
    pub webhooks: Data<WebhookService>,
    pub generations: Data<GenerationService>,
    pub compat: Data<CompatState>,
    /// Whether this node does the work that one node does for all.
    pub maintainer: Data<Maintainer>,
    /// Describes this process to the operator.
    process: Data<NodeProcess>,
    pub(super) panel: Data<Panel>,
    pub(super) documents: Data<Documents>,
    pub(super) metrics: Data<Metrics>,
    pub(super) exporter: Option<Arc<Exporter>>,
    /// Released with the last clone.
    _data_dir_lock: Option<Arc<File>>,
}

impl Instance {
    /// Builds the services around the actors, and starts the work that no call causes.
    pub(super) fn start(
        setup: Setup,
        stores: Stores,
        adapters: Adapters,
        observability: Observability,
        system: System,
    ) -> Self {
        let is_cluster = system.node().is_some();
        let settings = Arc::new(Settings {
            catalog: catalog(&setup.config.tiers),
            config: setup.config,
            public_url: setup.public_url,
        });
        let currency = settings.config.billing.currency.clone();
        let core = Arc::new(Core::new(system, stores.clock, setup.fail_stop, currency));
        let limits = &settings.config.limits;
        let limits = CallLimits::new(limits, adapters.damaged_inputs, &setup.elapsed);
        let limits = Arc::new(limits);
        let accounts = Data::new(AccountService {
            core: Arc::clone(&core),
            settings: Arc::clone(&settings),
            auth: Authentication::new(stores.token.expose(), setup.elapsed, is_cluster),
            limits: Arc::clone(&limits),
        });
        let jobs = Data::new(JobService {
            core: Arc::clone(&core),
            settings: Arc::clone(&settings),
            objects: stores.objects.clone(),
            input_deletion: stores.input_deletion,
        });
        let webhooks = Data::new(WebhookService {
            core: Arc::clone(&core),
            vault: stores.vault,
            egress: adapters.egress,
        });
        let generations = Data::new(GenerationService {
            core: Arc::clone(&core),
            settings: Arc::clone(&settings),
            limits,
            objects: stores.objects,
            inputs: adapters.inputs,
        });
        let compat = CompatState::start(&accounts, &jobs, &generations);
        let instance = Self {
            core: Data::from(core),
            settings: Data::from(settings),
            accounts,
            jobs,
            webhooks,
            generations,
            compat: Data::new(compat),
            maintainer: Data::new(Maintainer::new(!is_cluster)),
            process: Data::new(observability.process),
            panel: Data::default(),
            documents: Data::new(documents()),
            metrics: Data::new(observability.metrics),
            exporter: observability.traces,
            _data_dir_lock: stores.data_dir_lock.map(Arc::new),
        };
        pause::log_paused_backends(&instance.core);
        instance.spawn_tasks(setup.sweep_interval);
        instance
    }

    fn spawn_tasks(&self, sweep_interval: Duration) {
        let (core, maintainer) = (&self.core, &self.maintainer);
        let (accounts, jobs) = (self.accounts.clone(), self.jobs.clone());
        spawn(maintenance::run(accounts, jobs, maintainer.clone()));
        let jobs = self.jobs.clone();
        spawn(sweeps::run(jobs, maintainer.clone(), sweep_interval));
        spawn(search_index::run(
            core.clone().into_inner(),
            maintainer.clone().into_inner(),
        ));
        if core.system.node().is_some() {
            spawn(pause::follow(core.clone().into_inner()));
            spawn(rate_exchange::run(self.accounts.clone().into_inner()));
        }
        spawn(readiness::watch(self.jobs.clone().into_inner()));
    }

    /// Gives handlers the services.
    pub(super) fn provide(&self, app: &mut ServiceConfig) {
        app.app_data(self.core.clone())
            .app_data(self.settings.clone())
            .app_data(self.accounts.clone())
            .app_data(self.jobs.clone())
            .app_data(self.webhooks.clone())
            .app_data(self.generations.clone())
            .app_data(self.compat.clone())
            .app_data(self.process.clone())
            .app_data(self.panel.clone())
            .app_data(self.documents.clone())
            .app_data(self.metrics.clone())
            .app_data(self.metrics.requests.worker());
    }

    /// Gives the handlers of the separate address of the metrics their services.
    pub(super) fn provide_metrics(&self, app: &mut ServiceConfig) {
        app.app_data(self.core.clone())
            .app_data(self.jobs.clone())
            .app_data(self.metrics.clone())
            .app_data(self.metrics.requests.worker());
    }
}
