//! The server stops after a failure that it cannot repair, and leaves what its restart needs.

use crate::support::batches::{batch_of, entry_with};
use crate::support::{
    OneNode, Options, Origin, Server, fox, fox_with, origin, sample_images, until,
};
use actix::Arbiter;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::json;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tintype_egress::Resolve;
use tintype_storage::testing::failing::FailingEngine;
use tintype_storage::testing::memory::MemoryEngine;

/// Once set, ends the thread that resolves a name, and with it the actors on that thread.
#[derive(Clone, Default)]
struct Deadly(Arc<AtomicBool>);

impl Resolve for Deadly {
    fn resolve<'a>(&'a self, _host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        if self.0.load(Ordering::SeqCst) {
            Arbiter::current().stop();
        }
        async { Ok(vec![IpAddr::from([127, 0, 0, 1])]) }.boxed()
    }
}

#[test]
fn the_process_stops_if_the_delivery_actor_has_died() {
    let resolver = Deadly::default();
    let options = Options::new().allow_loopback().resolving(resolver.clone());
    let server = Server::with(options.one_node(OneNode::Alone));
    let customer = server.customer("1.00");
    let path = format!("/accounts/{}/webhooks", customer.account);
    let webhook = json!({"url": "http://receiver.example:9/hook"});
    server.admin("POST", &path).json(&webhook).expect(201);
    resolver.0.store(true, Ordering::SeqCst);
    server
        .generation(&customer, "/text-generations", &fox())
        .expect(202);
    until("the server stops", || server.has_failed());
    let reason = server.inside().fail_stop.tripped().now_or_never().unwrap();
    assert!(reason.contains("delivery actor has died"), "{reason}");
}

/// The failed commit may be durable all the same. Then the restart finds the job, which needs its objects.
#[test]
fn the_objects_of_a_call_remain_if_its_commit_fails() {
    let origin = Origin::start([("/a.png", origin::bytes(sample_images::png(1, 1)))]);
    for is_batch in [false, true] {
        let memory = Arc::new(MemoryEngine::new());
        let failing = Arc::new(FailingEngine::new(memory, u64::MAX, Arc::new(|_| {})));
        let server = Server::with(Options::new().allow_loopback().behind(&failing));
        let customer = server.customer("1.00");
        failing.fail_commits();
        let call = match is_batch {
            true => {
                let long = entry_with(json!({"prompt": "x".repeat(6_000)}));
                server.batch_call(&customer, &batch_of(&[long]))
            }
            false => {
                let body = fox_with(json!({"input_images_urls": [origin.url("/a.png")]}));
                server.generation(&customer, "/url-generations", &body)
            }
        };
        call.refused(503, "overloaded");
        assert!(server.has_failed());
        assert_eq!(server.objects_left().len(), 1, "{is_batch}");
    }
}
