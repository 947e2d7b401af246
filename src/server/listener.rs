//! Binds the sockets and runs the HTTP servers.

use super::instance::Instance;
use super::{middleware, routes};
use crate::http;
use actix_web::dev::Server;
use actix_web::middleware::from_fn;
use actix_web::{App, HttpServer};
use std::io;
use std::net::{TcpListener, ToSocketAddrs};
use std::time::Duration;

const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
const KEEP_ALIVE: Duration = Duration::from_secs(75);
const BACKLOG: i32 = 4_096;

/// Binds the configured address. Called first, so that a start on a used port fails before it opens anything else.
pub fn bind(host: &str, port: u16) -> io::Result<TcpListener> {
    let mut last = io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match listen(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn listen(address: std::net::SocketAddr) -> io::Result<TcpListener> {
    let domain = socket2::Domain::for_address(address);
    let socket = socket2::Socket::new(domain, socket2::Type::STREAM, Some(socket2::Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    let listener: TcpListener = socket.into();
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Serves only `/metrics`, until the handle stops the server.
pub fn serve_metrics(instance: Instance, listener: TcpListener) -> io::Result<Server> {
    let server = HttpServer::new(move || {
        App::new()
            .configure(|app| instance.provide_metrics(app))
            .wrap(from_fn(middleware::wrap))
            .configure(http::configure_metrics)
    });
    let server = server
        .workers(1)
        .client_request_timeout(HEAD_TIMEOUT)
        .keep_alive(KEEP_ALIVE)
        .disable_signals()
        .listen(listener)?;
    Ok(server.run())
}

/// Serves all interfaces, until the handle stops the server. The caller handles signals.
pub fn serve(instance: Instance, listener: TcpListener) -> io::Result<Server> {
    let config = &instance.settings.config;
    let workers = config.server.workers();
    let grace = config.grace_after_drain().as_secs();
    let server = HttpServer::new(move || {
        App::new()
            .configure(|app| instance.provide(app))
            .wrap(from_fn(middleware::wrap))
            .configure(routes::configure)
    });
    let server = server
        .workers(workers)
        .client_request_timeout(HEAD_TIMEOUT)
        .keep_alive(KEEP_ALIVE)
        // With Nagle's algorithm a small event waits until the client acknowledges the one before: 40 ms on Linux.
        .tcp_nodelay(true)
        .shutdown_timeout(grace)
        // A client that closes its side has left: actix drops its request, and the disconnect is reported. The same
        // applies to a client that sends bytes behind its request that are not HTTP.
        .h1_allow_half_closed(false)
        .disable_signals()
        .listen(listener)?;
    Ok(server.run())
}
