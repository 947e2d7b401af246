//! Why an attempt at the database failed.

use crate::session::explain;
use tokio_postgres::Error;

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

    pub fn text(&self) -> String {
        match self {
            Self::Driver(error) => explain(error),
            Self::NoResponse => "no answer came".into(),
        }
    }
}
