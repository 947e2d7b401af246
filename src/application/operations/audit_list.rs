//! Reads the audit log.

use crate::application::core::Core;
use crate::application::error::Error;
use crate::application::paging::filter_page;
use crate::application::paging::{TimeRange, Window};
use tintype_storage::domain::audit_log::{Action, AuditEntry};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::tables::{AUDIT_LOG, IDS_AHEAD};
use tintype_storage::store::{All, Page};
use uuid::Uuid;

/// `None` matches every entry.
#[derive(Default)]
pub struct AuditFilter {
    pub account: Option<AccountId>,
    pub person: Option<Uuid>,
    /// An action, or the part before its dot for all actions of that kind.
    pub action: Option<String>,
    pub range: TimeRange,
}

impl AuditFilter {
    fn matches(&self, entry: &AuditEntry) -> bool {
        let action = self.action.as_deref();
        self.account.is_none_or(|it| entry.account == Some(it))
            && self
                .person
                .is_none_or(|it| entry.actor.person() == Some(it))
            && action.is_none_or(|it| is_named(entry.action, it))
            && self.range.contains(entry.at)
    }
}

/// `key.change` and `key` both match `key.change`.
pub fn is_named(action: Action, name: &str) -> bool {
    action.as_str() == name || action.as_str().split('.').next() == Some(name)
}

/// A page of the log, newest first.
pub async fn page(
    core: &Core,
    window: Window,
    filter: AuditFilter,
) -> Result<Page<AuditEntry>, Error> {
    let (store, range) = (core.store.clone(), filter.range);
    filter_page(
        window,
        move |limit, after| {
            let below = range.below(after, IDS_AHEAD.mark(&store).wait()?);
            let page = AUDIT_LOG.page(&store, &All, limit, below).wait()?;
            Ok(range.end_list(page, |entry| entry.id.0))
        },
        |entry| entry.id.0.into_bytes(),
        move |entry| filter.matches(entry),
    )
    .await
}
