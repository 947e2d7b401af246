//! Webhooks: their URLs, and the secrets that sign their deliveries.

use super::Model;
use std::collections::BTreeMap;
use std::sync::Arc;
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::webhook::{Webhook, WebhookId};

/// How long a replaced secret still signs, in milliseconds.
const OVERLAP: i64 = 86_400_000;
/// Most replaced secrets that still sign.
const RETIRED: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    pub id: WebhookId,
    pub url: String,
    secret: Vec<u8>,
    /// The replaced secrets, newest first, with the times of their expiry.
    retired: Vec<(Vec<u8>, i64)>,
}

/// The webhooks of each account, oldest first.
pub type Hooks = BTreeMap<AccountId, Vec<Hook>>;

#[derive(Clone, Debug)]
pub enum HookChange {
    Register { url: String, secret: Vec<u8> },
    Move { url: String },
    Rotate { secret: Vec<u8>, at: i64 },
    Delete,
}

impl Hook {
    /// The secrets that sign at a given time, newest first.
    fn signing(&self, at: i64) -> Vec<Vec<u8>> {
        let retired = self.retired.iter().filter(|(_, until)| at < *until);
        let mut signing = vec![self.secret.clone()];
        signing.extend(retired.map(|(secret, _)| secret.clone()));
        signing
    }
}

impl Model {
    pub fn hooks_of(&self, account: AccountId) -> &[Hook] {
        self.hooks.get(&account).map_or(&[], Vec::as_slice)
    }

    /// The operator changes a webhook. There is one change at a time.
    pub fn hook_change_asked(&mut self, id: WebhookId, change: HookChange) {
        self.hooks_asked.insert(id, change);
    }

    /// Checks that a webhook changes as the operator requested.
    pub(super) fn hook_changed(&mut self, id: WebhookId, record: Option<&Webhook>) {
        let Some(asked) = self.hooks_asked.remove(&id) else {
            self.fault(format!(
                "no request explains that webhook {id} becomes {record:?}"
            ));
            return;
        };
        let known = self.hook_accounts.get(&id).copied();
        let Some(account) = record.map(|it| it.account).or(known) else {
            self.fault(format!("webhook {id} is deleted, but never existed"));
            return;
        };
        self.hook_accounts.insert(id, account);
        let hooks = Arc::make_mut(&mut self.hooks);
        let of_account = hooks.entry(account).or_default();
        let at = of_account.iter().position(|it| it.id == id);
        let (action, expected) = match (asked, at.and_then(|at| of_account.get(at).cloned())) {
            (HookChange::Register { url, secret }, None) => {
                let retired = Vec::new();
                let hook = Hook {
                    id,
                    url,
                    secret,
                    retired,
                };
                (Action::WebhookCreate, Some(hook))
            }
            (HookChange::Move { url }, Some(hook)) => {
                (Action::WebhookChange, Some(Hook { url, ..hook }))
            }
            (HookChange::Rotate { secret, at }, Some(hook)) => {
                let mut retired = vec![(hook.secret.clone(), at + OVERLAP)];
                retired.extend(
                    hook.retired
                        .iter()
                        .filter(|(_, until)| at < *until)
                        .cloned(),
                );
                retired.truncate(RETIRED);
                let hook = Hook {
                    secret,
                    retired,
                    ..hook
                };
                (Action::WebhookRotateSecret, Some(hook))
            }
            (HookChange::Delete, Some(_)) => (Action::WebhookDelete, None),
            (asked, known) => {
                let text = format!("webhook {id} is {known:?}, requested was {asked:?}");
                return self.fault(text);
            }
        };
        // In the order of registration, independent of the ids. A changed webhook keeps its position.
        match (at, &expected) {
            (Some(at), Some(hook)) => of_account[at] = hook.clone(),
            (Some(at), None) => drop(of_account.remove(at)),
            (None, Some(hook)) => of_account.push(hook.clone()),
            (None, None) => {}
        }
        let found = record.map(|it| Hook {
            id: it.id,
            url: it.url.clone(),
            secret: it.secret.0.clone(),
            retired: it
                .retired
                .iter()
                .map(|it| (it.secret.0.clone(), it.until.millis()))
                .collect(),
        });
        if found != expected {
            self.fault(format!(
                "webhook {id} is {found:?}, requested was {expected:?}"
            ));
        }
        if action == Action::WebhookRotateSecret {
            self.count("secrets rotated");
        }
        self.audited_changes.insert((action.as_str(), id.0));
    }

    /// Checks the secrets that sign an attempt.
    pub fn signs(&mut self, webhook: &Webhook, secrets: &[Vec<u8>], at: i64) {
        let hooks = self.hooks_of(webhook.account);
        let hook = hooks.iter().find(|it| it.id == webhook.id);
        let expected = hook.map(|it| it.signing(at));
        if expected.as_deref() != Some(secrets) {
            let id = webhook.id;
            self.fault(format!(
                "an attempt to webhook {id} is signed with {secrets:?}, its secrets are {expected:?}"
            ));
        }
        if secrets.len() > 1 {
            self.count("attempts under several secrets");
        }
    }
}
