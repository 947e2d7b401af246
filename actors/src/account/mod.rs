//! The account actors, one per account in use. The account's jobs and money change in rounds, one after another. The actor starts
//! them, or the caller who submits a single job to an idle account.

mod actor;
mod announcements;
mod command;
mod command_decider;
mod context;
mod in_flight;
mod inbox;
mod registry;
mod round;
mod shared_state;

pub use actor::AccountActor;
pub use command::{AccountCommand, CallerConnection, ChangeKey, Reply};
pub use context::AccountContext;
pub use in_flight::InFlightGuard;
pub use registry::{AccountHandle, AccountRegistry, NoReply, Overloaded};
