//! Looking up host names: the one place where a name becomes addresses.

use std::{
    io,
    net::{IpAddr, ToSocketAddrs},
    sync::Arc,
};

use futures_util::future::{BoxFuture, FutureExt};
use tokio::sync::Semaphore;

/// Something that turns a host name into addresses. The tests put in resolvers that change their mind, lie or hang.
pub trait Resolve: Send + Sync {
    /// All addresses of `host`, in the order in which they should be tried. An empty list means that there are none.
    ///
    /// # Errors
    /// Whatever kept the name from being resolved; its text stays inside the process.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The system's resolver: hosts file, name servers and address order as everywhere else on the machine.
///
/// A look-up blocks a thread for as long as the name servers take, and giving up on it does not free the thread. So the
/// number of look-ups is bounded, and the place is given back by the look-up itself: names that never resolve cannot take
/// the threads that the object store needs.
#[derive(Debug)]
pub struct SystemResolver {
    places: Arc<Semaphore>,
}

/// Look-ups that may be under way at once in the process.
const MAX_LOOKUPS: usize = 64;

impl Default for SystemResolver {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(MAX_LOOKUPS)),
        }
    }
}

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        async move {
            let place = Arc::clone(&self.places)
                .acquire_owned()
                .await
                .map_err(io::Error::other)?;
            let host = host.to_owned();
            let lookup = move || {
                let _place = place;
                // The port plays no part in a look-up; the caller knows its own.
                let answer = (host.as_str(), 0).to_socket_addrs()?;
                Ok(answer.map(|address| address.ip()).collect())
            };
            tokio::task::spawn_blocking(lookup)
                .await
                .map_err(io::Error::other)?
        }
        .boxed()
    }
}
