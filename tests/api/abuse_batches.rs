//! Decisions 11 for batches: the memory for their bodies is bounded and shared fairly between accounts.

use crate::support::batches::{batch_of, entry};
use crate::support::{Customer, Options, Server, Wire, until};

const BUDGET: u64 = 64 << 20;
const LONGEST: usize = 16 << 20;

/// Sends the head of a call that declares this length, without its body.
fn send_head(server: &Server, customer: &Customer, length: usize) -> Wire {
    let mut wire = Wire::open(server.address);
    let head = format!(
        "POST /api/v1/batches HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n",
        customer.key
    );
    wire.send(head.as_bytes());
    wire
}

#[test]
fn batch_bodies_of_one_account_use_at_most_half_of_the_memory() {
    let server = Server::with(Options::new().set("limits.ingest_bytes", BUDGET as i64));
    let (greedy, other) = (server.customer("10.00"), server.customer("10.00"));
    let free = || server.instance().generations.inputs.memory.free();
    assert_eq!(free(), BUDGET);
    let wires: Vec<Wire> = (0..4)
        .map(|_| send_head(&server, &greedy, LONGEST))
        .collect();
    until("one account uses its half", || free() == BUDGET / 2);
    // A small body needs little of the remaining memory and does not wait.
    let batch = server.submit(&other, &[entry()]);
    server.batch_ended(&other, &batch);
    assert_eq!(free(), BUDGET / 2);
    // A declared length over the limit reserves no memory.
    let mut refused = send_head(&server, &other, LONGEST + 1);
    assert_eq!(refused.answer_to("POST").unwrap().status, 413);
    assert_eq!(free(), BUDGET / 2);
    drop(wires);
    until("the memory of disconnected callers is free", || {
        free() == BUDGET
    });
    let call = server.batch_call(&greedy, &batch_of(&[entry()]));
    let batch = call.expect(202).json();
    server.batch_ended(&greedy, &batch);
    server.assert_settled();
}
