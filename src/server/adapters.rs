//! The adapters that both the actors and the services of an instance use.

use super::clients::Clients;
use super::setup::Setup;
use super::start_error::StartError;
use super::stores::Stores;
use crate::application::limits::damaged_inputs::DamagedInputs;
use crate::inputs::InputImages;
use crate::webhooks::Vault;
use std::sync::Arc;

pub struct Adapters {
    pub clients: Clients,
    pub vault: Vault,
    pub inputs: Arc<InputImages>,
    pub damaged_inputs: Arc<DamagedInputs>,
}

impl Adapters {
    pub async fn open(setup: &Setup, stores: &Stores) -> Result<Self, StartError> {
        let config = &setup.config;
        let clients = Clients::new(setup)?;
        let vault = stores.secrets.open_vault(config, &stores.store).await?;
        let inputs = InputImages::new(
            config,
            clients.egress.clone(),
            stores.objects.clone(),
            stores.store.clone(),
            Arc::clone(&stores.clock),
        );
        Ok(Self {
            clients,
            vault,
            inputs: Arc::new(inputs),
            damaged_inputs: Arc::new(DamagedInputs::new(&setup.elapsed)),
        })
    }
}
