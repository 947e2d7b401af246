//! Test helpers: scripted resolvers, clients that treat one loopback address as public, a scripted HTTP server, and a TLS server.

use std::{
    io,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt};
use hyper::{HeaderMap, Method};

use crate::{Client, ClientOptions, Error, Resolve};

pub mod server;
pub mod tls;

/// The result of a scripted lookup.
#[derive(Clone)]
pub enum LookUp {
    Addresses(Vec<IpAddr>),
    /// The name servers fail.
    Failure,
    /// The name servers never answer.
    Silence,
}

/// Returns its answers one after the other, and then always the last one, whatever the name.
pub struct ScriptedResolver {
    answers: Vec<LookUp>,
    /// The number of lookups.
    pub lookups: AtomicUsize,
}

impl ScriptedResolver {
    pub fn new(answers: impl IntoIterator<Item = LookUp>) -> Arc<Self> {
        Arc::new(Self {
            answers: answers.into_iter().collect(),
            lookups: AtomicUsize::new(0),
        })
    }

    pub fn always(address: &str) -> Arc<Self> {
        Self::new([LookUp::of(&[address])])
    }
}

impl LookUp {
    pub fn of(addresses: &[&str]) -> Self {
        Self::Addresses(
            addresses
                .iter()
                .map(|address| address.parse().unwrap())
                .collect(),
        )
    }
}

impl Resolve for ScriptedResolver {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let turn = self.lookups.fetch_add(1, Ordering::Relaxed);
        let answer = self.answers[turn.min(self.answers.len() - 1)].clone();
        async move {
            match answer {
                LookUp::Addresses(addresses) => Ok(addresses),
                LookUp::Failure => Err(io::Error::other("server failure")),
                LookUp::Silence => std::future::pending().await,
            }
        }
        .boxed()
    }
}

/// Allows 127.0.0.1 in place of a public address. 127.0.0.2 and all other loopback addresses remain refused.
pub fn loopback() -> ClientOptions {
    ClientOptions {
        allow: vec!["127.0.0.1/32".parse().unwrap()],
        ..ClientOptions::default()
    }
}

/// A client with the options [`loopback`].
pub fn client_for(resolver: Arc<dyn Resolve>, connect_timeout: Duration) -> Client {
    let options = ClientOptions {
        connect_timeout,
        ..loopback()
    };
    Client::with_resolver(options, resolver).unwrap()
}

/// Sends a `GET` and returns the body.
pub async fn get(client: &Client, url: &str) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let url = url.parse().unwrap();
    let response = client.send(Method::GET, &url, HeaderMap::new(), Bytes::new());
    let mut response = response.await?;
    while let Some(chunk) = response.chunk().await? {
        bytes.extend_from_slice(&chunk);
    }
    Ok(String::from_utf8(bytes).unwrap())
}
