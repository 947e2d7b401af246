//! Reads the websocket of one prompt. The server resends nothing after a reconnect, so the socket is opened once, and only polling
//! decides whether the prompt has ended.

use super::progress::{ProgressMeter, PromptEvent, preview_in};
use crate::backends::upstream::Socket;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio_tungstenite::tungstenite::Message;

/// Without a socket, [`next`](Self::next) never returns.
pub struct PromptEvents {
    socket: Option<Socket>,
    meter: ProgressMeter,
}

impl PromptEvents {
    pub fn new(socket: Option<Socket>, meter: ProgressMeter) -> Self {
        Self { socket, meter }
    }

    /// Waits for the next event; forever once the socket is closed. Cancel-safe.
    pub async fn next(&mut self) -> PromptEvent {
        while let Some(socket) = &mut self.socket {
            match socket.next().await {
                Some(Ok(Message::Text(frame))) => {
                    if let Some(event) = self.meter.on_frame(frame.as_str()) {
                        return event;
                    }
                }
                Some(Ok(Message::Binary(frame))) => {
                    if let Some(image) = preview_in(&frame) {
                        return PromptEvent::Preview(image);
                    }
                }
                // The library answers pings.
                Some(Ok(_)) => {}
                Some(Err(_)) | None => self.socket = None,
            }
        }
        std::future::pending().await
    }

    /// Is the socket open? Discards the events that have arrived.
    pub fn is_open(&mut self) -> bool {
        while self.next().now_or_never().is_some() {}
        self.socket.is_some()
    }
}
