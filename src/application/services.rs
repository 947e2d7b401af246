//! The services that use cases run on. Each has only the parts that its use cases need.

use crate::application::core::Core;
use crate::application::credentials::authentication::Authentication;
use crate::application::limits::call_limits::CallLimits;
use crate::application::settings::Settings;
use crate::inputs::{InputDeletion, InputImages};
use crate::objects::ObjectStorage;
use crate::webhooks::Vault;
use std::sync::Arc;
use tintype_egress::Client;

/// Accounts, their API keys and people: who calls, and how often they may.
pub struct AccountService {
    pub core: Arc<Core>,
    pub settings: Arc<Settings>,
    pub auth: Authentication,
    pub limits: Arc<CallLimits>,
}

/// Submits jobs and batches.
pub struct GenerationService {
    pub core: Arc<Core>,
    pub settings: Arc<Settings>,
    pub limits: Arc<CallLimits>,
    /// The object store of long texts.
    pub objects: ObjectStorage,
    /// Fetches and stores input images.
    pub inputs: Arc<InputImages>,
}

/// Jobs and batches that exist, with their objects.
pub struct JobService {
    pub core: Arc<Core>,
    pub settings: Arc<Settings>,
    /// The object store of results and input images.
    pub objects: ObjectStorage,
    /// Deletes the input images of ended jobs.
    pub input_deletion: InputDeletion,
}

pub struct WebhookService {
    pub core: Arc<Core>,
    /// Encrypts webhook secrets.
    pub vault: Vault,
    /// Checks webhook URLs.
    pub egress: Client,
}
