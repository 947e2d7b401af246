//! A websocket to a backend (RFC 6455), with the same connection settings, credentials and TLS as every other call.

use super::Upstream;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use reqwest::header::{CONNECTION, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use reqwest::{Method, StatusCode, Upgraded};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

/// In bytes; previews arrive as messages.
const MAX_MESSAGE: usize = 16 * 1024 * 1024;

pub type Socket = WebSocketStream<Upgraded>;

impl Upstream {
    /// Opens a websocket below `base_url`; `path` as for [`get`](Self::get).
    ///
    /// Does not check `Sec-WebSocket-Accept`: it guards against caches that answer in place of the server, and no cache
    /// answers 101. `None` without a websocket: it brings nothing that a job needs, so that is no fault of the attempt.
    pub async fn websocket(&self, path: &str) -> Option<Socket> {
        let key = BASE64_STANDARD.encode(rand::random::<[u8; 16]>());
        let request = self
            .request(Method::GET, path)
            .header(CONNECTION, "Upgrade")
            .header(UPGRADE, "websocket")
            .header(SEC_WEBSOCKET_VERSION, "13")
            .header(SEC_WEBSOCKET_KEY, key);
        let response = request.send().await.ok()?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            tracing::debug!(backend = self.name(), status = %response.status(), "no websocket");
            return None;
        }
        let upgraded = response.upgrade().await.ok()?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE))
            .max_frame_size(Some(MAX_MESSAGE));
        Some(WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config)).await)
    }
}
