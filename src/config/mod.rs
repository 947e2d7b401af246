//! The configuration: defaults, file, environment and command line, laid over one another and checked as a whole.
//!
//! The defaults are the `config.toml` at the root of the repository, compiled in: what the manual says is what
//! happens. Every fault is reported at once, with the place where it was written.

mod addresses;
mod audit;
mod backend;
mod backends;
mod batches;
mod billing;
mod cluster;
mod comfyui;
mod compat;
mod environment;
mod error;
mod faults;
mod file;
mod fingerprint;
mod jobs;
mod local;
mod log;
mod node;
mod openai;
mod operator;
mod otlp;
mod reader;
mod render;
mod sdapi;
mod secret;
mod section;
mod server;
mod source;
mod storage;
mod suggest;
mod tier;
mod tiers;
mod values;
mod warnings;
mod webhooks;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::Serialize;

pub use addresses::Listen;
pub use audit::Audit;
pub use backend::{BUILTIN_BACKEND, Backend, BackendKind, Remote};
pub use batches::Batches;
pub use billing::{Billing, FirstRun};
pub use cluster::Cluster;
pub use comfyui::ComfyUiSettings;
pub use compat::Compat;
pub use error::{ConfigErrors, Fault, Place};
pub use jobs::{Inputs, Jobs};
pub use log::{Log, LogFormat};
pub use openai::{ImageField, OpenAiDialect, ResponseFormat};
pub use operator::Operator;
pub use otlp::Otlp;
pub use sdapi::SdApiSettings;
pub use secret::{MASK, Secret};
pub use server::{Admin, Limits, Server};
pub use source::{DEFAULT_TOML, Sources};
pub use storage::{Idempotency, Results, Storage};
pub use tier::{ASPECT_RATIOS, RESOLUTIONS, Tier, TierBackend, Tiers};
pub use webhooks::{Egress, Webhooks};

/// The effective configuration. Every value in it has been checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Config {
    /// The listening side.
    pub server: Server,
    /// What is kept, and where.
    pub storage: Storage,
    /// The processes that share a database.
    pub cluster: Cluster,
    /// The operator's access.
    pub admin: Admin,
    /// The operator's webhook.
    pub operator: Operator,
    /// The log of what operators change.
    pub audit: Audit,
    /// What input images and webhooks may reach.
    pub egress: Egress,
    /// Deliveries.
    pub webhooks: Webhooks,
    /// Fetching input images.
    pub inputs: Inputs,
    /// Finished pictures.
    pub results: Results,
    /// The queue and its runs.
    pub jobs: Jobs,
    /// Calls with many requests.
    pub batches: Batches,
    /// The synchronous interfaces.
    pub compat: Compat,
    /// How long idempotency keys are remembered.
    pub idempotency: Idempotency,
    /// The rate of keys that have none of their own.
    pub limits: Limits,
    /// Money.
    pub billing: Billing,
    /// What an empty data directory begins with.
    pub first_run: FirstRun,
    /// The log.
    pub log: Log,
    /// Traces of jobs.
    pub otlp: Otlp,
    /// What makes the pictures, by name; [`BUILTIN_BACKEND`] is always among them.
    pub backends: BTreeMap<String, Backend>,
    /// The three models on offer.
    pub tiers: Tiers,
}

impl Config {
    /// Lays the sources over the defaults and checks the outcome.
    ///
    /// # Errors
    /// Every unknown key and every wrong value, with its place. A wrong value that a later layer replaces counts for
    /// nothing, as the value never takes effect.
    pub fn load(sources: &Sources) -> Result<Self, ConfigErrors> {
        Self::read(sources, true)
    }

    /// The same in a process that is not the service: the variables that hold the keys of its back ends may be set for the
    /// service alone, so nothing is said where one is missing.
    pub fn load_beside(sources: &Sources) -> Result<Self, ConfigErrors> {
        Self::read(sources, false)
    }

    fn read(sources: &Sources, needs_keys: bool) -> Result<Self, ConfigErrors> {
        let faults = faults::Faults::default();
        let built_in = source::built_in(&faults);
        let tree = source::layered(&built_in, sources, &faults);
        let environment = sources.env.iter().cloned().collect();
        let context = reader::Context {
            built_in: &built_in,
            environment: &environment,
            needs_keys,
            faults: &faults,
        };
        let mut root = reader::Section::root(&tree, &context);
        let backends = backends::read(root.section("backends"));
        let storage = storage::read(root.section("storage"));
        let config = Self {
            server: Server::read(root.section("server")),
            cluster: cluster::read(root.section("cluster"), storage.url.is_some()),
            storage,
            admin: Admin::read(root.section("admin")),
            operator: Operator::read(root.section("operator")),
            audit: Audit::read(root.section("audit")),
            egress: Egress::read(root.section("egress")),
            webhooks: Webhooks::read(root.section("webhooks")),
            inputs: Inputs::read(root.section("inputs")),
            results: Results::read(root.section("results")),
            jobs: Jobs::read(root.section("jobs")),
            batches: Batches::read(root.section("batches")),
            compat: Compat::read(root.section("compat")),
            idempotency: Idempotency::read(root.section("idempotency")),
            limits: Limits::read(root.section("limits")),
            billing: Billing::read(root.section("billing")),
            first_run: FirstRun::read(root.section("first_run")),
            log: Log::read(root.section("log")),
            otlp: Otlp::read(root.section("otlp")),
            tiers: tiers::read(root.section("tiers"), &tiers::names(&tree), &backends),
            backends,
        };
        root.finish();
        faults.into_result().map(|()| config)
    }

    /// The models whose every back end is the built-in generator, which is no AI model.
    pub fn demo_models(&self) -> Vec<&'static str> {
        let is_drawn = |backend: &TierBackend| {
            let backend = self.backends.get(&backend.name);
            backend.is_none_or(|it| it.kind == BackendKind::Procedural)
        };
        let models = self.tiers.iter().into_iter();
        let models = models.filter(|(_, tier)| tier.backends.iter().all(is_drawn));
        models.map(|(name, _)| name).collect()
    }

    /// What callers reach the service under, without a slash at the end: `[server] public_url`, or else the address
    /// that it listens on, with the loopback address for "any".
    pub fn public_url(&self) -> String {
        match &self.server.public_url {
            Some(url) => url.clone(),
            None => format!("http://{}", self.server.listen.reachable()),
        }
    }

    /// As [`Config::public_url`] once the socket is bound: with port 0 only then is the port known.
    pub fn public_url_at(&self, bound: SocketAddr) -> String {
        match &self.server.public_url {
            Some(url) => url.clone(),
            None => format!("http://{}", Listen::from(bound).reachable()),
        }
    }
}
