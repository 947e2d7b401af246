//! Listens to the websocket of one prompt. Nothing is sent again after a reconnect, so it is opened once, and what it tells
//! is never taken for the truth about the end.

use super::progress::{ProgressMeter, Word, preview_in};
use crate::backends::upstream::Socket;
use futures_util::StreamExt as _;
use tokio_tungstenite::tungstenite::Message;

/// A socket with the meter that understands it; without one it never tells anything.
pub struct Watch {
    socket: Option<Socket>,
    meter: ProgressMeter,
}

impl Watch {
    /// A watch over what the socket tells.
    pub fn new(socket: Option<Socket>, meter: ProgressMeter) -> Self {
        Self { socket, meter }
    }

    /// The next word about the prompt. Never comes once the socket is closed. May be dropped at any time without loss.
    pub async fn next(&mut self) -> Word {
        while let Some(socket) = &mut self.socket {
            match socket.next().await {
                Some(Ok(Message::Text(frame))) => {
                    if let Some(word) = self.meter.hear(frame.as_str()) {
                        return word;
                    }
                }
                Some(Ok(Message::Binary(frame))) => {
                    if let Some(image) = preview_in(&frame) {
                        return Word::Preview(image);
                    }
                }
                // Pings, which are answered below.
                Some(Ok(_)) => {}
                Some(Err(_)) | None => self.socket = None,
            }
        }
        std::future::pending().await
    }
}
