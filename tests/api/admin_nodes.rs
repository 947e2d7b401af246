//! The operator's list of the nodes that serve the records.

use crate::support::nodes::two_nodes;
use crate::support::{OneNode, Options, Server};

const NODE_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+");

#[test]
fn a_process_without_other_nodes_lists_only_itself() {
    let server = Server::with(Options::new().one_node(OneNode::Alone));
    let nodes = || server.admin("GET", "/nodes").expect(200).json();
    let answer = nodes();
    // A server with its records in a database always has a node id: other nodes may join.
    let id = server.inside().system.node().map(|it| it.id.to_string());
    assert_eq!(answer["shared"], id.is_some());
    assert_eq!(answer["warnings"], serde_json::json!([]));
    assert_eq!(answer["next_cursor"], serde_json::Value::Null);
    for (query, field) in [("limit=0", "limit"), ("cursor=x", "cursor"), ("a=b", "a")] {
        let path = format!("/nodes?{query}");
        let refused = server.admin("GET", &path);
        let refused = refused.refused(422, "validation_failed").json();
        assert_eq!(refused["errors"][0]["field"], field);
    }
    let nodes = answer["data"].as_array().unwrap();
    assert_eq!(nodes.len(), 1);
    let node = &nodes[0];
    assert_eq!(node["node_id"], serde_json::json!(id));
    assert_eq!(
        (&node["answers"], &node["state"]),
        (&true.into(), &"up".into())
    );
    let version = node["version"].as_str().unwrap();
    let build = version.strip_prefix(env!("CARGO_PKG_VERSION")).unwrap();
    // Nodes may run different builds of one version.
    assert_eq!(build.len(), if id.is_some() { 9 } else { 0 }, "{version}");
    assert_eq!(node["pid"], std::process::id());
    assert_eq!(node["running"], 0);
    assert!(!node["host"].as_str().unwrap().is_empty());
    assert_eq!(node["configuration"].as_str().unwrap().len(), 12);
}

#[test]
fn a_node_lists_itself_and_earlier_nodes_from_its_first_response_on() {
    let nodes = two_nodes(Options::new());
    let listed = |node: &Server| {
        let answer = node.admin("GET", "/nodes").expect(200).json();
        let nodes = answer["data"].as_array().unwrap().iter();
        for node in nodes.clone() {
            let version = node["version"].as_str().unwrap();
            assert!(version.starts_with(NODE_VERSION), "{version}");
        }
        let mut ids: Vec<String> = nodes
            .map(|it| it["node_id"].as_str().unwrap().to_owned())
            .collect();
        ids.sort();
        ids
    };
    let ids = nodes.each_ref().map(|node| {
        let context = node.inside().system.node().expect("a node");
        context.id.to_string()
    });
    let page = |query: &str| {
        let path = format!("/nodes?limit=1{query}");
        nodes[1].admin("GET", &path).expect(200).json()
    };
    let first = page("");
    let last = page(&format!(
        "&cursor={}",
        first["next_cursor"].as_str().unwrap()
    ));
    assert_eq!(last["next_cursor"], serde_json::Value::Null);
    let mut of_pages = [first, last].map(|page| {
        let id = page["data"][0]["node_id"].as_str();
        id.unwrap().to_owned()
    });
    of_pages.sort();
    let mut sorted = ids.to_vec();
    sorted.sort();
    assert_eq!(listed(&nodes[1]), sorted);
    assert_eq!(of_pages.to_vec(), sorted);
    assert!(listed(&nodes[0]).contains(&ids[0]));
}

#[test]
fn nodes_are_shown_to_the_operator_alone() {
    let server = Server::start();
    let ada = server.customer("1");
    server.get("/admin/v1/nodes").expect(401);
    server.get("/admin/v1/nodes").bearer(&ada.key).expect(401);
}
