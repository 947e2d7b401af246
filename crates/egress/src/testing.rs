//! Resolvers that do as they are told, and ways out that treat one loopback address as public.

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

use super::super::{Egress, EgressFault, EgressOptions, Resolve};

/// What a fake look-up comes to.
#[derive(Clone)]
pub(crate) enum Answer {
    Addresses(Vec<IpAddr>),
    Failure,
    Silence,
}

/// Answers with one after the other of its answers, and then always with the last, whatever the name.
pub(crate) struct FakeResolver {
    answers: Vec<Answer>,
    pub(crate) lookups: AtomicUsize,
}

impl FakeResolver {
    pub(crate) fn new(answers: impl IntoIterator<Item = Answer>) -> Arc<Self> {
        Arc::new(Self {
            answers: answers.into_iter().collect(),
            lookups: AtomicUsize::new(0),
        })
    }

    pub(crate) fn always(address: &str) -> Arc<Self> {
        Self::new([Answer::of(&[address])])
    }
}

impl Answer {
    pub(crate) fn of(addresses: &[&str]) -> Self {
        Self::Addresses(
            addresses
                .iter()
                .map(|address| address.parse().unwrap())
                .collect(),
        )
    }
}

impl Resolve for FakeResolver {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let turn = self.lookups.fetch_add(1, Ordering::Relaxed);
        let answer = self.answers[turn.min(self.answers.len() - 1)].clone();
        async move {
            match answer {
                Answer::Addresses(addresses) => Ok(addresses),
                Answer::Failure => Err(io::Error::other("server failure")),
                Answer::Silence => std::future::pending().await,
            }
        }
        .boxed()
    }
}

/// 127.0.0.1 is open and stands for a public address; 127.0.0.2 and all other loopback ones stay shut.
pub(crate) fn loopback() -> EgressOptions {
    EgressOptions {
        allow: vec!["127.0.0.1/32".parse().unwrap()],
        ..EgressOptions::default()
    }
}

/// A way out with [`loopback`] open and a short time-out.
pub(crate) fn egress_for(resolver: Arc<dyn Resolve>, connect_timeout: Duration) -> Egress {
    let options = EgressOptions {
        connect_timeout,
        ..loopback()
    };
    Egress::with_resolver(options, resolver).unwrap()
}

/// The body of an answer.
pub(crate) async fn get(egress: &Egress, url: &str) -> Result<String, EgressFault> {
    let mut bytes = Vec::new();
    let url = url.parse().unwrap();
    let answer = egress.send(Method::GET, &url, HeaderMap::new(), Bytes::new());
    let mut answer = answer.await?;
    while let Some(chunk) = answer.chunk().await? {
        bytes.extend_from_slice(&chunk);
    }
    Ok(String::from_utf8(bytes).unwrap())
}
