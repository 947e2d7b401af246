//! Where each account's actor is found; one that is not running is started from the store.

use crate::account::{AcceptJob, AccountActor, AccountContext, MAX_WAITING, Wake};
use crate::inbox::{Inbox, Laid};
use crate::under_way::{Counted, UnderWay};
use actix::{Actor, Addr, ArbiterHandle};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::store::{AccountBook, StoreError};

/// An account's actor, and how many live jobs it has.
#[derive(Clone)]
pub struct AccountHandle {
    /// Takes the commands.
    pub address: Addr<AccountActor>,
    live: Arc<AtomicUsize>,
    inbox: Arc<Inbox<AcceptJob>>,
    under_way: UnderWay,
}

/// The account has more to do than it can, or the process is stopping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the account has too many calls under way")]
pub struct Overloaded;

impl AccountHandle {
    /// Has a job accepted; the outcome comes to the command's `reply`, which is dropped when the process is stopping. What is
    /// returned is to be kept until then.
    pub fn accept(&self, command: AcceptJob) -> Result<Counted, Overloaded> {
        let counted = self.under_way.count();
        match self.inbox.lay(command) {
            Laid::Noticed => {}
            Laid::Wake => self.address.do_send(Wake),
            Laid::Full => return Err(Overloaded),
        }
        Ok(counted)
    }

    /// Jobs of the account that are not terminal. A hint: the actor decides.
    pub fn live_jobs(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }
}

/// The account actors of the process. Shared between all threads.
pub struct Accounts {
    arbiter: ArbiterHandle,
    context: Arc<AccountContext>,
    running: RwLock<HashMap<AccountId, AccountHandle>>,
    /// Of all accounts.
    under_way: UnderWay,
}

impl Accounts {
    /// Actors will run on `arbiter`.
    pub fn new(arbiter: ArbiterHandle, context: Arc<AccountContext>) -> Self {
        Self {
            arbiter,
            context,
            running: RwLock::default(),
            under_way: UnderWay::default(),
        }
    }

    /// Creations that are under way.
    pub fn under_way(&self) -> usize {
        self.under_way.now()
    }

    /// The same of one account.
    pub fn under_way_of(&self, account: AccountId) -> usize {
        let running = self.running.read();
        running.get(&account).map_or(0, |it| it.under_way.now())
    }

    /// What all account actors share.
    pub fn context(&self) -> &AccountContext {
        &self.context
    }

    /// The actor of an account; `None` when there is no such account. Reads the store when the actor is not running.
    pub fn get(&self, id: AccountId) -> Result<Option<AccountHandle>, StoreError> {
        if let Some(handle) = self.running.read().get(&id) {
            return Ok(Some(handle.clone()));
        }
        // Loaded under the lock, so that no account ever gets two actors.
        let mut running = self.running.write();
        if let Some(handle) = running.get(&id) {
            return Ok(Some(handle.clone()));
        }
        let Some(account) = self.context.store.account(id)? else {
            return Ok(None);
        };
        let book = AccountBook::load(&self.context.store, account)?;
        let handle = self.start(book)?;
        running.insert(id, handle.clone());
        Ok(Some(handle))
    }

    /// Starts the actor of an account whose live jobs have been counted.
    pub fn start_with(&self, book: AccountBook) -> Result<(), StoreError> {
        let id = book.account().id;
        let handle = self.start(book)?;
        self.running.write().insert(id, handle);
        Ok(())
    }

    fn start(&self, book: AccountBook) -> Result<AccountHandle, StoreError> {
        if let Some(fault) = book.fault() {
            return Err(StoreError::Books {
                account: book.account().id,
                fault,
            });
        }
        let live = Arc::new(AtomicUsize::new(0));
        let (context, counted) = (Arc::clone(&self.context), Arc::clone(&live));
        let inbox = Arc::new(Inbox::new(MAX_WAITING));
        let own = Arc::clone(&inbox);
        let address = AccountActor::start_in_arbiter(&self.arbiter, move |_| {
            AccountActor::new(book, context, counted, own)
        });
        Ok(AccountHandle {
            address,
            live,
            inbox,
            under_way: UnderWay::among(&self.under_way),
        })
    }
}
