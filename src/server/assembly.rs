//! Starts an instance: opens its parts in order and wires them together.

use super::adapters::Adapters;
use super::backends::ConfiguredBackends;
use super::instance::Instance;
use super::observability::Observability;
use super::setup::Setup;
use super::start_error::StartError;
use super::stores::Stores;
use super::system_options::system_options;
use std::time::SystemTime;
use tintype_actors::system::System;

/// Starts the store, recovery, the actors and maintenance, but no listener. The caller must run an actix system.
pub async fn start(setup: Setup) -> Result<Instance, StartError> {
    // The node page and metrics show this machine's own time. The setup's clock serves decisions only.
    let started = SystemTime::now();
    let stores = Stores::open(&setup).await?;
    if !setup.resumes_work {
        stores.expect_no_work().await?;
    }
    let adapters = Adapters::open(&setup, &stores).await?;
    let backends = ConfiguredBackends::new(&setup, &stores.objects, &adapters.damaged_inputs)?;
    let observability = Observability::start(&setup.config, started, setup.node.is_some()).await?;
    let options = system_options(&setup, &stores, &adapters, backends, &observability);
    let system = System::start(options)?;
    system.joined().await.map_err(StartError::Join)?;
    Ok(Instance::start(
        setup,
        stores,
        adapters,
        observability,
        system,
    ))
}
