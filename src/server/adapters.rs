//! The adapters that both the actors and the services of an instance use.

use super::setup::Setup;
use super::start_error::StartError;
use super::stores::Stores;
use crate::application::limits::damaged_inputs::DamagedInputs;
use crate::inputs::InputImages;
use crate::outgoing_http::USER_AGENT;
use ipnet::{Ipv4Net, Ipv6Net};
use std::sync::Arc;
use tintype_egress::header::HeaderValue;
use tintype_egress::{Client, ClientOptions};

pub struct Adapters {
    /// Fetches callers' input images and checks webhook URLs.
    pub egress: Client,
    /// Sends deliveries. Separate, so that lookups for callers' input images cannot delay deliveries.
    pub webhook_client: Client,
    /// Sends deliveries to the operator's webhook, which may have any address.
    pub ungated_client: Client,
    pub inputs: Arc<InputImages>,
    pub damaged_inputs: Arc<DamagedInputs>,
}

impl Adapters {
    pub async fn open(setup: &Setup, stores: &Stores) -> Result<Self, StartError> {
        let config = &setup.config;
        let options = ClientOptions {
            allow: config.egress.allow.clone(),
            deny: config.egress.deny.clone(),
            user_agent: Some(HeaderValue::from_static(USER_AGENT)),
            extra_ca_file: config.egress.extra_ca_file.clone(),
            ..ClientOptions::default()
        };
        let client = |options| match &setup.resolver {
            Some(resolver) => Client::with_resolver(options, Arc::clone(resolver)),
            None => Client::new(options),
        };
        let egress = client(options.clone())?;
        let inputs = InputImages::new(
            config,
            egress.clone(),
            stores.objects.clone(),
            stores.store.clone(),
            Arc::clone(&stores.clock),
        );
        Ok(Self {
            egress,
            webhook_client: client(options.clone())?,
            ungated_client: client(ClientOptions {
                allow: vec![Ipv4Net::default().into(), Ipv6Net::default().into()],
                deny: Vec::new(),
                ..options
            })?,
            inputs: Arc::new(inputs),
            damaged_inputs: Arc::new(DamagedInputs::new(&setup.elapsed)),
        })
    }
}
