//! The operator's look at the processes that serve the records.

use crate::support::Server;

#[test]
fn a_process_that_shares_its_records_with_no_other_is_listed_alone() {
    let server = Server::start();
    let answer = server.admin("GET", "/nodes").expect(200).json();
    assert_eq!(answer["shared"], false);
    assert_eq!(answer["warnings"], serde_json::json!([]));
    let nodes = answer["data"].as_array().unwrap();
    assert_eq!(nodes.len(), 1);
    let node = &nodes[0];
    assert!(node["node_id"].is_null());
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
