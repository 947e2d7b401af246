//! The signals that stop a command.

use std::io::{self, IsTerminal as _};
use tokio::signal::unix::{Signal, SignalKind, signal};

pub struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    /// Known only at the start: a terminal that is gone is no terminal any more.
    has_terminal: bool,
}

impl StopSignals {
    /// Installs the handlers of SIGTERM, SIGINT and SIGHUP.
    pub fn install() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            has_terminal: io::stderr().is_terminal(),
        })
    }

    /// Waits for the next signal that asks the command to stop, and returns its name. SIGHUP does so only if it means that the terminal
    /// is gone. To a service, operators send it to reload the configuration or to reopen the log, and systemd would not restart a service
    /// that it has ended.
    pub async fn next(&mut self) -> &'static str {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return "SIGTERM",
                _ = self.interrupt.recv() => return "SIGINT",
                _ = self.hangup.recv() => match self.has_terminal {
                    true => return "SIGHUP",
                    false => tracing::warn!(
                        "SIGHUP is ignored: the configuration is read only at the start, and the log goes to standard error; restart \
                         the process to change the configuration"
                    ),
                },
            }
        }
    }
}
