//! The operator's list of the nodes that serve the records.

use crate::support::{OneNode, Options, Server, until};

#[test]
fn a_process_is_listed_alone_while_it_shares_its_records_with_no_other() {
    let server = Server::with(Options::new().one_node(OneNode::Alone));
    let nodes = || server.admin("GET", "/nodes").expect(200).json();
    // One of several nodes lists itself after its second heartbeat.
    until("it is listed", || nodes()["data"][0].is_object());
    let answer = nodes();
    // A server with its records in a database always has a node id: other nodes may join.
    let id = server.inside().system.node().map(|it| it.id.to_string());
    assert_eq!(answer["shared"], id.is_some());
    assert_eq!(answer["warnings"], serde_json::json!([]));
    let nodes = answer["data"].as_array().unwrap();
    assert_eq!(nodes.len(), 1);
    let node = &nodes[0];
    assert_eq!(node["node_id"], serde_json::json!(id));
    assert_eq!(
        (&node["answers"], &node["state"]),
        (&true.into(), &"up".into())
    );
    assert_eq!(node["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(node["pid"], std::process::id());
    assert_eq!(node["running"], 0);
    assert!(!node["host"].as_str().unwrap().is_empty());
    assert_eq!(node["configuration"].as_str().unwrap().len(), 12);
}

#[test]
fn nodes_are_shown_to_the_operator_alone() {
    let server = Server::start();
    let ada = server.customer("1");
    server.get("/admin/v1/nodes").expect(401);
    server.get("/admin/v1/nodes").bearer(&ada.key).expect(401);
}
