//! Why an attempt at the database failed.

use crate::session::explain;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

pub enum Fault {
    Driver(Error),
    /// No response within [`crate::session::RESPONSE_TIMEOUT`].
    NoResponse,
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Driver(error)
    }
}

impl Fault {
    /// Did the database send it?
    pub fn is_response(&self) -> bool {
        matches!(self, Self::Driver(error) if error.as_db_error().is_some())
    }

    /// Did the transaction end because another one holds its rows? It was rolled back, and the database works.
    pub fn is_lock_conflict(&self) -> bool {
        let conflicts = [
            SqlState::LOCK_NOT_AVAILABLE,
            SqlState::T_R_DEADLOCK_DETECTED,
        ];
        let code = match self {
            Self::Driver(error) => error.code(),
            Self::NoResponse => None,
        };
        code.is_some_and(|it| conflicts.contains(it))
    }

    pub fn text(&self) -> String {
        match self {
            Self::Driver(error) => explain(error),
            Self::NoResponse => "no response".into(),
        }
    }
}
