//! Where a call comes from.

use std::net::IpAddr;

/// Where a call comes from, as the audit log names it and as failures are counted.
#[derive(Clone, Debug, Default)]
pub struct CallOrigin {
    /// The id of the request.
    pub request: Option<String>,
    /// The address of the client; `None` where a trusted proxy names none.
    pub address: Option<IpAddr>,
    /// The other end of the connection.
    pub peer: Option<IpAddr>,
}

impl CallOrigin {
    /// The address that failures count for. Behind a proxy that names no client it is the proxy's.
    pub fn caller(&self) -> Option<IpAddr> {
        self.address.or(self.peer)
    }
}
