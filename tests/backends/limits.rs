//! Concurrency limits and connection reuse of backends.

use crate::service::{ended, image_of, make, start};
use crate::stub::{Reply, Stub};
use crate::support::{OneNode, fox, until};
use serde_json::json;

#[test]
fn open_requests_never_exceed_the_concurrency_of_the_backend() {
    for kind in ["gemini", "openai"] {
        let stub = Stub::answering([image_of(kind).held()]);
        let (server, customer) = start(kind, &stub, |it| {
            it.set("backends.far.concurrency", 3)
                .set("backends.far.shared", true)
        });
        let jobs: Vec<String> = (0..10)
            .map(|_| {
                let answer = server.generation(&customer, "/text-generations", &fox());
                answer.expect(202).job_id()
            })
            .collect();
        until("all slots are taken", || stub.running() == 3);
        let waiting = jobs.iter().filter(|id| {
            let job = server.job(&customer, id);
            job["status"] == "queued"
        });
        assert_eq!(waiting.count(), 7);
        stub.release();
        for id in &jobs {
            assert_eq!(ended(&server, &customer, id)["status"], "done");
        }
        assert_eq!((stub.peak(), stub.seen().len()), (3, 10));
    }
}

#[test]
fn a_connection_is_used_again() {
    let Reply::Whole(_, _, body) = image_of("gemini") else {
        panic!("a whole answer");
    };
    let stub = Stub::answering([Reply::KeepAlive(body)]);
    let (server, customer) = start("gemini", &stub, |it| it.one_node(OneNode::Connections));
    for _ in 0..3 {
        assert_eq!(make(&server, &customer, json!({}))["status"], "done");
    }
    assert_eq!((stub.seen().len(), stub.connections()), (3, 1));
}
