//! The standard input of a child server: the parent closes it to stop the server.

use std::io::Read as _;

/// Waits until the parent closes the standard input, without blocking the caller's thread.
pub async fn wait_until_closed() {
    let wait = || std::io::stdin().read_to_end(&mut Vec::new());
    let _ = actix_web::web::block(wait).await;
}
