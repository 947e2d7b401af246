//! The HTTP clients for addresses that callers and the operator name.

use super::setup::Setup;
use super::start_error::StartError;
use crate::outgoing_http::USER_AGENT;
use ipnet::{Ipv4Net, Ipv6Net};
use std::sync::Arc;
use tintype_egress::header::HeaderValue;
use tintype_egress::{Client, ClientOptions};

/// The HTTP clients.
pub struct Clients {
    /// For callers' input images and webhook URLs.
    pub egress: Client,
    /// For deliveries. Separate, so that lookups for callers' input images cannot delay deliveries.
    pub webhooks: Client,
    /// For the operator's webhook, which may have any address.
    pub ungated: Client,
}

impl Clients {
    pub fn new(setup: &Setup) -> Result<Self, StartError> {
        let config = &setup.config.egress;
        let options = ClientOptions {
            allow: config.allow.clone(),
            deny: config.deny.clone(),
            user_agent: Some(HeaderValue::from_static(USER_AGENT)),
            extra_ca_file: config.extra_ca_file.clone(),
            ..ClientOptions::default()
        };
        let client = |options| match &setup.resolver {
            Some(resolver) => Client::with_resolver(options, Arc::clone(resolver)),
            None => Client::new(options),
        };
        Ok(Self {
            webhooks: client(options.clone())?,
            egress: client(options.clone())?,
            ungated: client(ClientOptions {
                allow: vec![Ipv4Net::default().into(), Ipv6Net::default().into()],
                deny: Vec::new(),
                ..options
            })?,
        })
    }
}
