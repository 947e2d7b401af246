//! Everything that leaves the machine at the wish of a caller: fetching input images and calling webhooks.
//!
//! Only public addresses are reached, and those the operator has opened (`[egress] allow`). A name is resolved once per
//! request, every address of the answer goes through the [`AddressGate`], and the request goes over a connection to the very
//! address that passed: there is no second look-up that could answer differently. Literal addresses and redirects take the same
//! way, [`Egress::send`], and webhooks too, whose connections are used again ([`Egress::send_over_kept`]).

mod address;
mod connection;
mod connector;
mod exchange;
mod fault;
mod gate;
mod kept;
mod ranges;
mod resolve;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod tls;
mod written;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ipnet::IpNet;
use tokio::time::timeout;
use url::Url;

use connector::OpenFault;

pub use address::{MAX_URL_CHARS, UrlFault, parse_url, resolve_location};
pub use exchange::Answer;
pub use fault::EgressFault;
pub use gate::{AddressGate, Refused};
pub use resolve::{Resolve, SystemResolver};

/// How long a host is looked up for when nothing is to be sent to it yet.
const CHECK_TIMEOUT: Duration = Duration::from_secs(3);
/// How this program names itself to other servers.
pub const USER_AGENT: &str = concat!("tintype/", env!("CARGO_PKG_VERSION"));

/// What can be set about outgoing requests.
#[derive(Clone, Debug)]
pub struct EgressOptions {
    /// Ranges that are reachable although they are not public.
    pub allow: Vec<IpNet>,
    /// For look-up and connection together; the TLS handshake gets as much again.
    pub connect_timeout: Duration,
    /// A PEM file of certificate authorities beside the system's.
    pub extra_ca_file: Option<PathBuf>,
    /// How long a connection is kept for the next request of [`Egress::send_over_kept`]. Servers close what is idle after two
    /// seconds at the least, and a request that crosses such a close on its way is lost.
    pub keep: Duration,
}

impl Default for EgressOptions {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            connect_timeout: Duration::from_secs(10),
            extra_ca_file: None,
            keep: Duration::from_secs(1),
        }
    }
}

/// Why outgoing requests cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum EgressSetupError {
    /// The file of certificate authorities is unusable.
    #[error("cannot use the certificate authorities in {}: {reason}", path.display())]
    CaFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The cryptography that was compiled in lacks what TLS needs.
    #[error("TLS cannot be set up: {0}")]
    Provider(#[source] rustls::Error),
}

/// The way out: made once, shared by all threads, cheap to clone.
#[derive(Clone)]
pub struct Egress {
    route: Arc<connector::Route>,
    tls: Arc<rustls::ClientConfig>,
    kept: Arc<kept::Kept>,
}

impl Egress {
    /// Sets up with the system's resolver.
    ///
    /// # Errors
    /// See [`EgressSetupError`].
    pub fn new(options: EgressOptions) -> Result<Self, EgressSetupError> {
        Self::with_resolver(options, Arc::new(SystemResolver::default()))
    }

    /// Sets up with a resolver of the caller's choosing.
    ///
    /// # Errors
    /// See [`EgressSetupError`].
    pub fn with_resolver(
        options: EgressOptions,
        resolver: Arc<dyn Resolve>,
    ) -> Result<Self, EgressSetupError> {
        let tls = tls::client_config(options.extra_ca_file.as_deref())?;
        let route = connector::Route {
            gate: AddressGate::new(options.allow),
            resolver,
            timeout: options.connect_timeout,
            refusals: AtomicU64::new(0),
        };
        Ok(Self {
            route: Arc::new(route),
            tls: Arc::new(tls),
            kept: Arc::new(kept::Kept::for_a_moment(options.keep)),
        })
    }

    /// The gate, for checks before anything is sent (see [`AddressGate::check_host`]).
    pub fn gate(&self) -> &AddressGate {
        &self.route.gate
    }

    /// Looks the host of a URL up and asks the gate, as a connection to it would. A host that has no address by now, or whose
    /// name servers take their time, may have one when it matters: it passes, and is judged at each connection.
    ///
    /// # Errors
    /// [`EgressFault::Refused`] when it has addresses, none of which may be reached.
    pub async fn check(&self, url: &Url) -> Result<(), EgressFault> {
        let host = url.host_str().ok_or(EgressFault::Unsendable)?;
        let port = url.port_or_known_default().ok_or(EgressFault::Unsendable)?;
        match timeout(CHECK_TIMEOUT, self.route.permitted(host, port)).await {
            Ok(Err(OpenFault::Refused)) => Err(EgressFault::Refused),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Connections that the gate has refused since the start.
    pub fn refusals(&self) -> u64 {
        self.route.refusals.load(Ordering::Relaxed)
    }
}
