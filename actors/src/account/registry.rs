//! Finds the actor of an account, and starts one that does not run.

use super::actor::{AccountActor, MAX_WAITING, Wake};
use super::command::{AccountCommand, Reply};
use super::context::AccountContext;
use super::in_flight::{InFlight, InFlightGuard};
use super::inbox::{Inbox, Put};
use actix::{Actor, Addr, ArbiterHandle};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tintype_storage::domain::audit_log::Note;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::store::{AcceptError, Accepted, AccountState, NewJob, StoreError};

/// The actor of an account.
#[derive(Clone)]
pub struct AccountHandle {
    /// Takes the commands.
    pub address: Addr<AccountActor>,
    live: Arc<AtomicUsize>,
    inbox: Arc<Inbox<AccountCommand>>,
    in_flight: InFlight,
}

/// The account has more to do than it can, or the process stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the account has too many calls in flight")]
pub struct Overloaded;

impl AccountHandle {
    /// Has the account accept a job. The reply is dropped when the process stops. The caller keeps the guard until it has the
    /// reply.
    pub fn accept(
        &self,
        job: NewJob,
        note: Option<Note<JobId>>,
        reply: Reply<Accepted, AcceptError>,
    ) -> Result<InFlightGuard, Overloaded> {
        let guard = self.in_flight.begin();
        let job = Box::new(job);
        match self.inbox.put(AccountCommand::Accept { job, note, reply }) {
            Put::Noticed => {}
            Put::Wake => self.address.do_send(Wake),
            Put::Full => return Err(Overloaded),
        }
        Ok(guard)
    }

    /// Jobs of the account that are not terminal. A hint: the actor decides.
    pub fn live_jobs(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }
}

/// The account actors of the process. All threads share it.
pub struct AccountRegistry {
    arbiter: ArbiterHandle,
    context: Arc<AccountContext>,
    running: RwLock<HashMap<AccountId, AccountHandle>>,
    /// Creations of all accounts.
    in_flight: InFlight,
}

impl AccountRegistry {
    /// Starts actors on `arbiter`.
    pub fn new(arbiter: ArbiterHandle, context: Arc<AccountContext>) -> Self {
        Self {
            arbiter,
            context,
            running: RwLock::default(),
            in_flight: InFlight::default(),
        }
    }

    /// Creations in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight.count()
    }

    /// Creations of one account in flight.
    pub fn in_flight_of(&self, account: AccountId) -> usize {
        let running = self.running.read();
        running.get(&account).map_or(0, |it| it.in_flight.count())
    }

    pub fn context(&self) -> &AccountContext {
        &self.context
    }

    /// The actor of an account; `None` when there is no such account. Reads the store when the actor does not run.
    pub fn get(&self, id: AccountId) -> Result<Option<AccountHandle>, StoreError> {
        if let Some(handle) = self.running.read().get(&id) {
            return Ok(Some(handle.clone()));
        }
        // The account is loaded under the lock, so that it never gets two actors.
        let mut running = self.running.write();
        if let Some(handle) = running.get(&id) {
            return Ok(Some(handle.clone()));
        }
        let Some(account) = self.context.store.account(id)? else {
            return Ok(None);
        };
        let book = AccountState::load(&self.context.store, account)?;
        let handle = self.start(book)?;
        running.insert(id, handle.clone());
        Ok(Some(handle))
    }

    /// Starts the actor of an account whose live jobs have been counted.
    pub fn start_with(&self, book: AccountState) -> Result<(), StoreError> {
        let id = book.account().id;
        let handle = self.start(book)?;
        self.running.write().insert(id, handle);
        Ok(())
    }

    fn start(&self, book: AccountState) -> Result<AccountHandle, StoreError> {
        if let Some(fault) = book.fault() {
            return Err(StoreError::Inconsistent {
                account: book.account().id,
                fault,
            });
        }
        let live = Arc::new(AtomicUsize::new(0));
        let inbox = Arc::new(Inbox::new(MAX_WAITING));
        let (context, counted, own) = (
            Arc::clone(&self.context),
            Arc::clone(&live),
            Arc::clone(&inbox),
        );
        let address = AccountActor::start_in_arbiter(&self.arbiter, move |_| {
            AccountActor::new(book, context, counted, own)
        });
        Ok(AccountHandle {
            address,
            live,
            inbox,
            in_flight: InFlight::within(&self.in_flight),
        })
    }
}
