//! The configuration: merges defaults, file, environment and command line, and validates the result.
//!
//! The defaults are the compiled-in `config.toml` of the repository, which is also the manual. [`Config::load`] reports all
//! faults at once, each with its location.

mod addresses;
mod amounts;
mod backends;
mod environment;
mod error;
mod file;
mod headers;
mod log_filter;
mod misspelt_variables;
mod node;
mod reader;
mod render;
mod secret;
mod section;
mod sections;
mod source;
mod tiers;
mod values;
mod warnings;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use serde::Serialize;

pub use addresses::Listen;
pub use backends::{
    BUILTIN_BACKEND, Backend, BackendKind, ComfyUiSettings, ImageField, MaskFormat, OpenAiDialect,
    PROMPT_PLACEHOLDER, Remote, ResponseFormat, SDAPI_FIELDS, SdApiSettings, SeedFormat,
};
pub use error::{ConfigErrors, Fault, Location};
pub use misspelt_variables::misspelt_variables;
pub use secret::{MASK, Secret};
pub use sections::{
    Admin, Audit, Batches, Billing, Cluster, Compat, Egress, FirstRun, Idempotency, Inputs, Jobs,
    Limits, Log, LogFormat, Operator, Otlp, Results, Server, Storage, Webhooks,
};
pub use source::{DEFAULT_TOML, Sources};
pub use tiers::{ASPECT_RATIOS, RESOLUTIONS, TierBackend, TierConfig, Tiers};
pub use values::random_text;

/// The effective, validated configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Config {
    pub server: Server,
    pub storage: Storage,
    pub cluster: Cluster,
    pub admin: Admin,
    pub operator: Operator,
    pub audit: Audit,
    pub egress: Egress,
    pub webhooks: Webhooks,
    pub inputs: Inputs,
    pub results: Results,
    pub jobs: Jobs,
    pub batches: Batches,
    pub compat: Compat,
    pub idempotency: Idempotency,
    pub limits: Limits,
    pub billing: Billing,
    pub first_run: FirstRun,
    pub log: Log,
    pub otlp: Otlp,
    /// By name. [`BUILTIN_BACKEND`] is always present.
    pub backends: BTreeMap<String, Backend>,
    pub tiers: Tiers,
}

impl Config {
    /// Merges the sources over the defaults and validates the result.
    ///
    /// # Errors
    /// Every unknown key and every invalid value, with its location. An invalid value that a later layer replaces is not an error,
    /// because it never takes effect.
    pub fn load(sources: &Sources) -> Result<Self, ConfigErrors> {
        Self::read(sources, true)
    }

    /// Loads the configuration in a process that is not the service. A missing API key of a backend is not an error: its environment
    /// variable may be set only for the service.
    pub fn load_for_command(sources: &Sources) -> Result<Self, ConfigErrors> {
        Self::read(sources, false)
    }

    /// The operator's token in the environment, by the rules of the whole configuration.
    ///
    /// # Errors
    /// A variable for the token has an error.
    pub fn admin_token_in(mut env: Vec<(String, String)>) -> Result<Option<Secret>, ConfigErrors> {
        env.retain(|(name, _)| environment::keys_of(name).is_some_and(|keys| keys[0] == "admin"));
        let sources = Sources {
            env,
            ..Sources::default()
        };
        Ok(Self::load_for_command(&sources)?.admin.token)
    }

    fn read(sources: &Sources, needs_keys: bool) -> Result<Self, ConfigErrors> {
        let faults = error::Faults::default();
        let built_in = source::built_in(&faults);
        let tree = source::merge_layers(&built_in, sources, &faults);
        let environment = sources.env.iter().cloned().collect();
        let context = reader::Context {
            built_in: &built_in,
            environment: &environment,
            needs_keys,
            faults: &faults,
        };
        let mut root = reader::Section::root(&tree, &context);
        let backends = backends::read(root.section("backends"));
        let storage = sections::storage(root.section("storage"));
        let webhooks = Webhooks::read(root.section("webhooks"));
        let results = Results::read(root.section("results"));
        let idempotency = Idempotency::read(root.section("idempotency"));
        let config = Self {
            server: sections::server(root.section("server")),
            cluster: sections::cluster(root.section("cluster"), storage.url.is_some()),
            storage,
            admin: Admin::read(root.section("admin")),
            operator: sections::operator(root.section("operator")),
            audit: Audit::read(root.section("audit")),
            egress: sections::egress(root.section("egress")),
            inputs: Inputs::read(root.section("inputs")),
            jobs: sections::jobs(root.section("jobs"), &results, &webhooks, &idempotency),
            webhooks,
            results,
            idempotency,
            batches: Batches::read(root.section("batches")),
            compat: Compat::read(root.section("compat")),
            limits: Limits::read(root.section("limits")),
            billing: Billing::read(root.section("billing")),
            first_run: FirstRun::read(root.section("first_run")),
            log: Log::read(root.section("log")),
            otlp: Otlp::read(root.section("otlp")),
            tiers: tiers::read(
                root.section("tiers"),
                &tiers::backend_names(&tree),
                &backends,
            ),
            backends,
        };
        root.finish();
        faults.into_result().map(|()| config)
    }

    /// After this time, an uploaded file is deleted. Prompts must not outlive the retention of jobs in a file. `None`: never.
    pub fn file_retention(&self) -> Option<Duration> {
        let retentions = [self.batches.file_retention(), self.jobs.retention()];
        retentions.into_iter().flatten().min()
    }

    /// How long a stopping node still accepts calls, so that load balancers see the stop first. A single process refuses connections at
    /// once.
    pub fn drain(&self) -> Duration {
        match self.storage.url {
            Some(_) => self.server.drain().min(self.server.shutdown_grace()),
            None => Duration::ZERO,
        }
    }

    /// How long calls and jobs in flight may take to finish once the process refuses connections.
    pub fn grace_after_drain(&self) -> Duration {
        self.server.shutdown_grace() - self.drain()
    }

    /// The models that only the built-in generator serves, which is not an AI model.
    pub fn demo_models(&self) -> Vec<&'static str> {
        let is_demo = |tier: &TierConfig| tier.backends.iter().all(|it| self.is_builtin(it));
        let models = self.tiers.iter().into_iter();
        let models = models.filter(|(_, tier)| is_demo(tier));
        models.map(|(name, _)| name).collect()
    }

    fn is_builtin(&self, entry: &TierBackend) -> bool {
        let backend = self.backends.get(&entry.name);
        backend.is_none_or(|it| it.kind == BackendKind::Procedural)
    }

    /// The base URL for callers, without a slash at the end: `[server] public_url`, or else the listen address, with the loopback
    /// address for the wildcard address.
    pub fn public_url(&self) -> String {
        match &self.server.public_url {
            Some(url) => url.clone(),
            None => format!("http://{}", self.server.listen.reachable()),
        }
    }

    /// As [`Config::public_url`], with the address of the bound socket: with port 0 only that has the real port.
    pub fn public_url_at(&self, bound: SocketAddr) -> String {
        match &self.server.public_url {
            Some(url) => url.clone(),
            None => format!("http://{}", Listen::from(bound).reachable()),
        }
    }
}
