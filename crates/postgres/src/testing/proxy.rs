//! A proxy in front of a server that cuts, holds and delays what passes. It reads what the engine sends, so TLS must be off.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What happens to the next commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitFault {
    /// The server does not hear of it.
    CutBefore,
    /// The server makes it, and the engine does not hear of that.
    CutAfter,
    /// It is kept from the server until [`Proxy::heal`], with its transaction open.
    Hold,
}

/// A clone is the same proxy.
#[derive(Clone)]
pub struct Proxy {
    server: u16,
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// For the next commits, in this order from the last to the first.
    faults: Vec<CommitFault>,
    holds_commit: bool,
    /// Nothing passes, and no connection is taken.
    is_severed: bool,
    /// What the server answers does not pass.
    holds_answers: bool,
    /// How long the answers of the server take.
    delay: Duration,
    connections: Vec<TcpStream>,
}

impl Proxy {
    /// Starts one for the server at this port of 127.0.0.1. It lives for as long as the process does.
    ///
    /// # Panics
    /// There is no port.
    pub fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let proxy = Self {
            server,
            port: listener.local_addr().expect("an address").port(),
            shared: Arc::default(),
        };
        let shared = Arc::clone(&proxy.shared);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A server that is away is away for the client too.
                if let Ok(server) = TcpStream::connect(("127.0.0.1", server)) {
                    drop(connect(client, server, &shared));
                }
            }
        });
        proxy
    }

    /// The URL of a database of the server, by way of the proxy.
    pub fn url(&self, direct: &str) -> String {
        let server = format!(":{}/", self.server);
        let url = direct.replace(&server, &format!(":{}/", self.port));
        match url.contains('?') {
            true => url,
            false => format!("{url}?sslmode=disable"),
        }
    }

    /// Does this to the next commits, one after another.
    pub fn fault_commits(&self, faults: impl IntoIterator<Item = CommitFault>) {
        let mut faults: Vec<CommitFault> = faults.into_iter().collect();
        faults.reverse();
        self.shared.change(|state| state.faults = faults);
    }

    /// Commits that are still to be faulted.
    pub fn faults_left(&self) -> usize {
        self.shared.lock().faults.len()
    }

    /// Is a commit kept from the server?
    pub fn holds_commit(&self) -> bool {
        self.shared.lock().holds_commit
    }

    /// Cuts all connections off and takes none.
    pub fn sever(&self) {
        self.shared.change(|state| {
            state.is_severed = true;
            for connection in state.connections.drain(..) {
                // It may be closed already.
                drop(connection.shutdown(Shutdown::Both));
            }
        });
    }

    /// Keeps back what the server answers.
    pub fn hold_answers(&self) {
        self.shared.change(|state| state.holds_answers = true);
    }

    /// Lets each piece of the server's answers take so long.
    pub fn delay_answers(&self, delay: Duration) {
        self.shared.change(|state| state.delay = delay);
    }

    /// Lets everything pass from now on, what was kept back included.
    pub fn heal(&self) {
        self.shared.change(|state| {
            state.faults.clear();
            state.holds_commit = false;
            state.is_severed = false;
            state.holds_answers = false;
            state.delay = Duration::ZERO;
        });
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn wait_while(&self, condition: impl FnMut(&mut State) -> bool) -> MutexGuard<'_, State> {
        let waited = self.changed.wait_while(self.lock(), condition);
        waited.unwrap_or_else(PoisonError::into_inner)
    }
}

fn connect(client: TcpStream, server: TcpStream, shared: &Arc<Shared>) -> std::io::Result<()> {
    let ends = [client.try_clone()?, server.try_clone()?];
    {
        let mut state = shared.lock();
        if state.is_severed {
            return Ok(());
        }
        state.connections.extend(ends);
    }
    let is_deaf = Arc::new(Mutex::new(false));
    let back = (
        server.try_clone()?,
        client.try_clone()?,
        Arc::clone(&is_deaf),
        Arc::clone(shared),
    );
    let shared = Arc::clone(shared);
    std::thread::spawn(move || forward(client, server, &is_deaf, &shared));
    std::thread::spawn(move || answer(back.0, back.1, &back.2, &back.3));
    Ok(())
}

fn close(ends: [TcpStream; 2]) {
    for end in ends {
        // It may be closed already.
        drop(end.shutdown(Shutdown::Both));
    }
}

/// Passes what the engine sends.
fn forward(mut client: TcpStream, mut server: TcpStream, is_deaf: &Mutex<bool>, shared: &Shared) {
    let mut buffer = [0; 65_536];
    while let Ok(count @ 1..) = client.read(&mut buffer) {
        let bytes = &buffer[..count];
        let is_commit = bytes.windows(7).any(|it| it == b"COMMIT\0");
        let fault = match is_commit {
            true => shared.lock().faults.pop(),
            false => None,
        };
        match fault {
            None => {}
            Some(CommitFault::CutBefore) => break,
            Some(CommitFault::CutAfter) => {
                *is_deaf.lock().unwrap_or_else(PoisonError::into_inner) = true;
            }
            Some(CommitFault::Hold) => {
                shared.change(|state| state.holds_commit = true);
                drop(shared.wait_while(|state| state.holds_commit));
            }
        }
        if server.write_all(bytes).is_err() {
            break;
        }
    }
    close([client, server]);
}

/// Passes what the server answers; cuts both off where the answer is not to arrive.
fn answer(mut server: TcpStream, mut client: TcpStream, is_deaf: &Mutex<bool>, shared: &Shared) {
    let mut buffer = [0; 65_536];
    while let Ok(count @ 1..) = server.read(&mut buffer) {
        let delay = shared.wait_while(|state| state.holds_answers).delay;
        std::thread::sleep(delay);
        let is_cut = *is_deaf.lock().unwrap_or_else(PoisonError::into_inner);
        if is_cut || client.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    close([client, server]);
}
