//! Warnings about settings that are valid but probably not intended.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Config;
use super::backends::{BUILTIN_BACKEND, Backend, BackendKind};
use super::tiers::{TierBackend, TierConfig};

impl Config {
    /// One sentence per warning, for the operator.
    pub fn warnings(&self) -> Vec<String> {
        let tiers = self.tiers.iter().into_iter();
        let run_timeouts = tiers.filter_map(|(name, tier)| self.run_timeout_warning(name, tier));
        self.plaintext_warning()
            .into_iter()
            .chain(run_timeouts)
            .chain(self.unused_backend_warnings())
            .chain(self.concurrency_warnings())
            .chain(self.demo_fallback_warnings())
            .chain(self.demo_model_warning())
            .chain(self.shared_server_warnings())
            .collect()
    }

    /// Each backend that no tier uses, except the built-in one, which always exists.
    fn unused_backend_warnings(&self) -> impl Iterator<Item = String> {
        let is_used = |name: &str| {
            let mut tiers = self.tiers.iter().into_iter();
            tiers.any(|(_, tier)| tier.backends.iter().any(|it| it.name == name))
        };
        let unused = self
            .backends
            .keys()
            .filter(move |name| name.as_str() != BUILTIN_BACKEND && !is_used(name));
        unused.map(|name| {
            format!(
                "no model uses the backend `{name}`: add it to `backends` of a model, such as \
                 [tiers.quality] backends = [{{ name = \"{name}\" }}]"
            )
        })
    }

    /// Each server with the OpenAI API that may be the operator's own, with the concurrency of a hosted service. Hosted services use
    /// HTTPS.
    fn concurrency_warnings(&self) -> impl Iterator<Item = String> {
        let is_own = |backend: &Backend| match &backend.kind {
            BackendKind::OpenAi { remote, .. } => remote.base_url.starts_with("http://"),
            _ => false,
        };
        let suspicious = self
            .backends
            .iter()
            .filter(move |(_, it)| it.has_default_concurrency && is_own(it));
        suspicious.map(|(name, backend)| {
            format!(
                "the backend `{name}` gets {} requests at the same time: a server with one graphics card works on one, and the others \
                 may exceed `timeout_seconds`. Set `concurrency` in [backends.{name}]",
                backend.concurrency
            )
        })
    }

    /// Each model in which the built-in generator stands in for another backend.
    fn demo_fallback_warnings(&self) -> impl Iterator<Item = String> {
        let is_builtin = |entry: &TierBackend| self.is_builtin(entry);
        let tiers = self.tiers.iter().into_iter();
        let mixed = tiers.filter(move |(_, tier)| {
            let entries = || tier.backends.iter();
            // With weights, a backend can be the fallback of one that comes later in the list.
            let is_weighted = entries().any(|it| it.weight.is_some());
            let other = entries().position(|it| !is_builtin(it));
            other.is_some_and(|at| {
                let at = if is_weighted { 0 } else { at };
                entries().skip(at).any(is_builtin)
            })
        });
        mixed.map(|(name, _)| {
            format!(
                "when the other backends of the model `{name}` fail, the built-in generator, which is not an AI model, draws its images, \
                 and callers are charged for them: remove it from `backends` in [tiers.{name}]"
            )
        })
    }

    /// The models that the built-in generator still serves although another one has a backend.
    fn demo_model_warning(&self) -> Option<String> {
        let demo = self.demo_models();
        let has_other = self.tiers.iter().len() > demo.len();
        (has_other && !demo.is_empty()).then(|| {
            let named: Vec<String> = demo.iter().map(|it| format!("`{it}`")).collect();
            let (named, commands) = (named.join(" and "), demo.join(" "));
            let (models, first) = (if demo.len() == 1 { "model" } else { "models" }, demo[0]);
            format!(
                "the built-in generator, which is not an AI model, draws the images of the {models} {named}, and callers are charged for \
                 them: set `backends` in [tiers.{first}], or pause with `tintype pause set {commands}`"
            )
        })
    }

    /// Each local server with several backends.
    fn shared_server_warnings(&self) -> impl Iterator<Item = String> {
        let mut by_server = BTreeMap::<&str, Vec<String>>::new();
        for (name, backend) in &self.backends {
            if let Some(server) = backend.local_server() {
                let names = by_server.entry(server).or_default();
                names.push(format!("`{name}`"));
            }
        }
        by_server.retain(|_, names| names.len() > 1);
        by_server.into_iter().map(|(server, names)| {
            format!(
                "the backends {} use one server, {server}, but each has its own `concurrency`, so their images wait for each other \
                 within `timeout_seconds`: raise it to the time of an image of each, or use one backend for all models",
                names.join(" and ")
            )
        })
    }

    /// Other machines can connect, and nothing indicates HTTPS.
    fn plaintext_warning(&self) -> Option<String> {
        let listen = &self.server.listen;
        let url = self.server.public_url.as_deref();
        let is_https = url.is_some_and(|it| it.starts_with("https://"));
        (!listen.is_loopback() && !is_https).then(|| {
            format!(
                "other machines reach `{listen}`, and `[server] public_url` does not begin with https://: keys and passwords cross \
                 the network unencrypted, and the panel's cookies lack `Secure`. Put a TLS proxy in front and set public_url"
            )
        })
    }

    /// If the first backends of the model hang, the run times out before it tries the last one.
    fn run_timeout_warning(&self, name: &str, tier: &TierConfig) -> Option<String> {
        let entries = tier.backends.iter();
        let all = entries.filter_map(|it| self.backends.get(&it.name));
        let needed: Duration = all.map(|it| it.timeout() * (it.retries() + 1)).sum();
        let bound = self.jobs.timeout();
        (needed > bound).then(|| {
            format!(
                "the attempts of the model `{name}` may take {} s (`timeout_seconds` times `retries` + 1, over its backends), but \
                 `[jobs] timeout_seconds` ends a run after {} s: if its first backends hang, the last ones are never tried",
                needed.as_secs(),
                bound.as_secs()
            )
        })
    }
}
