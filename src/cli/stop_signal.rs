//! The signals that stop a command.

use std::io;
use tokio::signal::unix::{SignalKind, signal};

/// Installs the handlers of SIGTERM and SIGINT. The future returns the name of the first signal.
pub fn stop_signal() -> io::Result<impl Future<Output = &'static str>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        }
    })
}
