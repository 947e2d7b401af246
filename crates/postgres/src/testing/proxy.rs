//! A proxy in front of a server that cuts, holds and delays messages. It reads what the engine sends, so TLS must be off.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::io::{Read as _, Write as _};
use std::mem;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// The begin of a writing transaction.
const BEGIN: &[u8] = b"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// What happens to the next commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitFault {
    /// The server never receives it.
    CutBefore,
    /// The server commits, and the engine never receives the response.
    CutAfter,
    /// The proxy holds it back until [`Proxy::heal`], with its transaction open.
    Hold,
}

/// Clones share the proxy.
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
    /// For the next commits, in reverse order.
    faults: Vec<CommitFault>,
    holds_commit: bool,
    /// The next BEGIN of a writing transaction fails.
    fails_begin: bool,
    /// Nothing passes, and no connection is accepted.
    is_severed: bool,
    /// The server's responses do not pass.
    holds_answers: bool,
    /// The delay of the server's responses.
    delay: Duration,
    connections: Vec<TcpStream>,
}

impl Proxy {
    /// Starts a proxy for the server at this port of 127.0.0.1. It runs as long as the process.
    ///
    /// # Panics
    /// No port is free.
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
                // If the server is down, the client's connection closes.
                if let Ok(server) = TcpStream::connect(("127.0.0.1", server)) {
                    drop(connect(client, server, &shared));
                }
            }
        });
        proxy
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A database's URL through the proxy.
    pub fn url(&self, direct: &str) -> String {
        let server = format!(":{}/", self.server);
        let url = direct.replace(&server, &format!(":{}/", self.port));
        match url.contains('?') {
            true => url,
            false => format!("{url}?sslmode=disable"),
        }
    }

    /// Applies these faults to the next commits, one after another.
    pub fn fault_commits(&self, faults: impl IntoIterator<Item = CommitFault>) {
        let mut faults: Vec<CommitFault> = faults.into_iter().collect();
        faults.reverse();
        self.shared.change(|state| state.faults = faults);
    }

    /// Faults that have not been applied yet.
    pub fn faults_left(&self) -> usize {
        self.shared.state.lock().faults.len()
    }

    /// The server answers the next BEGIN of a writing transaction with an error.
    pub fn fail_begin(&self) {
        self.shared.change(|state| state.fails_begin = true);
    }

    /// Has the BEGIN of [`Proxy::fail_begin`] not come yet?
    pub fn fails_begin(&self) -> bool {
        self.shared.state.lock().fails_begin
    }

    /// Is a commit held back?
    pub fn holds_commit(&self) -> bool {
        self.shared.state.lock().holds_commit
    }

    /// Cuts all connections and accepts none.
    pub fn sever(&self) {
        self.shared.change(|state| {
            state.is_severed = true;
            for connection in state.connections.drain(..) {
                // The connection may be closed already.
                drop(connection.shutdown(Shutdown::Both));
            }
        });
    }

    /// Holds back the server's responses.
    pub fn hold_answers(&self) {
        self.shared.change(|state| state.holds_answers = true);
    }

    /// Delays each piece of the server's responses.
    pub fn delay_answers(&self, delay: Duration) {
        self.shared.change(|state| state.delay = delay);
    }

    /// Lets everything pass from now on, including what was held back.
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
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock());
        self.changed.notify_all();
    }

    fn wait_while(&self, condition: impl FnMut(&mut State) -> bool) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        self.changed.wait_while(&mut state, condition);
        state
    }
}

fn connect(client: TcpStream, server: TcpStream, shared: &Arc<Shared>) -> std::io::Result<()> {
    let ends = [client.try_clone()?, server.try_clone()?];
    {
        let mut state = shared.state.lock();
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
        // The connection may be closed already.
        drop(end.shutdown(Shutdown::Both));
    }
}

/// Forwards what the engine sends.
fn forward(mut client: TcpStream, mut server: TcpStream, is_deaf: &Mutex<bool>, shared: &Shared) {
    let mut buffer = [0; 65_536];
    while let Ok(count @ 1..) = client.read(&mut buffer) {
        let bytes = &mut buffer[..count];
        let begin = bytes.windows(BEGIN.len()).position(|it| it == BEGIN);
        if let Some(at) = begin
            && mem::take(&mut shared.state.lock().fails_begin)
        {
            bytes[at] = b'?';
        }
        let is_commit = bytes.windows(7).any(|it| it == b"COMMIT\0");
        let fault = match is_commit {
            true => shared.state.lock().faults.pop(),
            false => None,
        };
        match fault {
            None => {}
            Some(CommitFault::CutBefore) => break,
            Some(CommitFault::CutAfter) => {
                *is_deaf.lock() = true;
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

/// Forwards the server's responses; cuts both connections if the response must not arrive.
fn answer(mut server: TcpStream, mut client: TcpStream, is_deaf: &Mutex<bool>, shared: &Shared) {
    let mut buffer = [0; 65_536];
    while let Ok(count @ 1..) = server.read(&mut buffer) {
        let delay = shared.wait_while(|state| state.holds_answers).delay;
        std::thread::sleep(delay);
        let is_cut = *is_deaf.lock();
        if is_cut || client.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    close([client, server]);
}
