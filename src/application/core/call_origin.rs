//! The origin of a call.

use std::net::IpAddr;

/// Recorded in the audit log, and the basis of failure counts.
#[derive(Clone, Debug, Default)]
pub struct CallOrigin {
    /// Request id.
    pub request: Option<String>,
    /// The client's address; `None` if a trusted proxy reports none.
    pub address: Option<IpAddr>,
    /// The peer of the TCP connection.
    pub peer: Option<IpAddr>,
}

impl CallOrigin {
    /// The address to count failures against: the proxy's, if the proxy reports no client.
    pub fn caller(&self) -> Option<IpAddr> {
        self.address.or(self.peer)
    }
}
