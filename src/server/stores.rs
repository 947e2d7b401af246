//! Opens the records and objects of an instance.

use super::engine::open_engine;
use super::instance_secrets::InstanceSecrets;
use super::setup::Setup;
use super::start_error::StartError;
use super::{data_dir_lock, database_clock, service_marks};
use crate::config::Secret;
use crate::data_dir;
use crate::inputs::InputDeletion;
use crate::job_objects::Writers;
use crate::objects::ObjectStorage;
use crate::webhooks::Vault;
use std::fs::File;
use std::sync::Arc;
use tintype_actors::clock::{Clock, system_clock};
use tintype_storage::engine::{Engine, EngineError};
use tintype_storage::store::Store;

/// The records and objects of an instance, with the secrets that belong to them.
pub struct Stores {
    pub store: Store,
    pub clock: Clock,
    pub vault: Vault,
    pub objects: ObjectStorage,
    pub writers: Writers,
    pub input_deletion: InputDeletion,
    /// The operator's.
    pub token: Secret,
    /// `None` if the engine locks the data directory.
    pub data_dir_lock: Option<File>,
}

impl Stores {
    /// Opens the data directory, the engine and the object store.
    pub async fn open(setup: &Setup) -> Result<Self, StartError> {
        let config = &setup.config;
        let data_dir_lock = open_data_dir(setup).await?;
        let engine = engine(setup)?;
        let clock = clock(setup, &engine).await?;
        let store = Store::new(engine);
        let secrets = InstanceSecrets::new(config, setup.node.is_some())?;
        let objects = secrets.open_objects(config, &setup.public_url)?;
        service_marks::check(config, &store, &objects).await?;
        objects.remove_unfinished_uploads("", None).await?;
        let (writers, input_deletion) = match setup.node {
            Some(_) => (Writers::Nodes, InputDeletion::of_node(objects.clone())),
            None => (Writers::One, InputDeletion::of_process(objects.clone())),
        };
        let vault = secrets.open_vault(config, &store).await?;
        // The last step, because a start with a wrong secret must not replace the token of a node.
        let token = secrets.admin_token(config)?;
        Ok(Self {
            store,
            clock,
            vault,
            objects,
            writers,
            input_deletion,
            token,
            data_dir_lock,
        })
    }

    /// # Errors
    /// Jobs or deliveries are unfinished; the records cannot be read.
    pub async fn expect_no_work(&self) -> Result<(), StartError> {
        let mut jobs = 0;
        let count = |_| {
            jobs += 1;
            Ok(())
        };
        self.store.each_live_job(count).await?;
        let deliveries = self.store.pending_deliveries(usize::MAX).await?;
        match (jobs, deliveries) {
            (0, 0) => Ok(()),
            (jobs, deliveries) => Err(StartError::UnfinishedWork { jobs, deliveries }),
        }
    }
}

/// Creates the data directory, and locks it unless the engine does.
async fn open_data_dir(setup: &Setup) -> Result<Option<File>, StartError> {
    let storage = &setup.config.storage;
    let data_dir = &storage.data_dir;
    data_dir::create(data_dir).map_err(|error| StartError::DataDir {
        path: data_dir.clone(),
        error,
    })?;
    if let Some(warning) = data_dir::warning(data_dir) {
        tracing::warn!("{warning}");
    }
    match storage.url {
        Some(_) => {
            let lock = data_dir_lock::lock(data_dir, setup.waits_for_predecessor);
            lock.await.map(Some)
        }
        None => Ok(None),
    }
}

fn engine(setup: &Setup) -> Result<Arc<dyn Engine>, EngineError> {
    if let Some(engine) = &setup.engine {
        return Ok(Arc::clone(engine));
    }
    let (fail_stop, waits) = (setup.fail_stop.clone(), setup.waits_for_predecessor);
    open_engine(&setup.config, setup.node, fail_stop, waits)
}

async fn clock(setup: &Setup, engine: &Arc<dyn Engine>) -> Result<Clock, EngineError> {
    if let Some(clock) = &setup.clock {
        return Ok(Arc::clone(clock));
    }
    let database_clock = database_clock::start(engine).await?;
    Ok(database_clock.unwrap_or_else(system_clock))
}
