//! The batch pages of the panel: the file of the failed requests, and the archive of the images.

use crate::support::batches::{entry, entry_with};
use crate::support::{Behaviour, Server};
use serde_json::{Value, json};
use std::io::{Cursor, Read as _, Write as _};
use std::net::TcpStream;
use zip::ZipArchive;

/// The failed requests of a batch, as the panel submits them again.
fn failed(server: &Server, account: &str, batch: &Value) -> Vec<Value> {
    let id = batch["batch_id"].as_str().unwrap();
    let path = format!("/accounts/{account}/batches/{id}/failed");
    let call = server.operators_browser().call(server, "GET", &path);
    let text = call.expect(200).text();
    let line = |line: &str| serde_json::from_str(line).unwrap();
    text.lines().map(line).collect()
}

#[test]
fn a_request_whose_input_urls_were_deleted_does_not_become_text_to_image() {
    let server = Server::start();
    let customer = server.customer("1.00");
    // Too long for the record of the job.
    let urls: Vec<String> = (0..14)
        .map(|at| format!("http://127.0.0.1:1/{at}/{}", "z".repeat(1_900)))
        .collect();
    let long = entry_with(json!({"custom_id": "long", "input_images_urls": urls}));
    let short = json!(["http://127.0.0.1:1/x.png"]);
    let short = entry_with(json!({"custom_id": "short", "input_images_urls": short}));
    let batch = server.submit(&customer, &[long.clone(), short.clone(), entry()]);
    let ended = server.batch_ended(&customer, &batch);
    assert_eq!(ended["counts"]["failed"], 2);
    server.assert_settled();
    assert_eq!(
        failed(&server, &customer.account, &batch),
        [long, short.clone()]
    );
    std::fs::remove_dir_all(server.objects().join("words")).unwrap();
    let incomplete = entry_with(json!({"custom_id": "long", "input_images_urls": []}));
    let found = failed(&server, &customer.account, &batch);
    assert_eq!(found, [incomplete, short]);
    let again = server.batch_call(&customer, &json!({ "requests": found }));
    again.invalid(&["requests[0].input_images_urls"]);
}

/// While a receiver is slow, the service holds one chunk for it.
#[test]
fn long_failed_requests_are_sent_in_chunks_of_limited_size() {
    let server = Server::start();
    server.generator.behave(Behaviour::Refuse("no"));
    let customer = server.customer("10.00");
    let long = entry_with(json!({"prompt": "z".repeat(30_000)}));
    let batch = server.submit(&customer, &vec![long; 20]);
    assert_eq!(
        server.batch_ended(&customer, &batch)["counts"]["failed"],
        20
    );
    let id = batch["batch_id"].as_str().unwrap();
    let path = format!("/accounts/{}/batches/{id}/failed", customer.account);
    let call = server.operators_browser().call(&server, "GET", &path);
    let call = call.header("Connection", "close");
    let mut stream = TcpStream::connect(call.to()).unwrap();
    stream.write_all(&call.wire()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, mut rest) = answer.split_once("\r\n\r\n").unwrap();
    let mut sizes = Vec::new();
    while let Some((size, after)) = rest.split_once("\r\n")
        && size != "0"
    {
        let size = usize::from_str_radix(size, 16).unwrap();
        sizes.push(size);
        rest = &after[size + 2..];
    }
    assert!(sizes.iter().sum::<usize>() > 20 * 30_000, "{sizes:?}");
    assert!(sizes.iter().all(|it| *it < 128 << 10), "{sizes:?}");
}

#[test]
fn the_requests_of_a_batch_are_listed_in_the_order_of_the_file() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let other = server.submit(&customer, &[entry(), entry()]);
    let requests: Vec<Value> = (0..7)
        .map(|at| match at % 3 {
            // Its input image cannot be fetched.
            1 => entry_with(json!({"custom_id": format!("sku-{at}"), "input_images_urls": ["http://127.0.0.1:1/x.png"]})),
            _ => entry_with(json!({"custom_id": format!("sku-{at}")})),
        })
        .collect();
    let batch = server.submit(&customer, &requests);
    let later = server.submit(&customer, &[entry()]);
    for it in [&other, &batch, &later] {
        server.batch_ended(&customer, it);
    }
    let list = |query: &str| -> Value {
        let id = batch["batch_id"].as_str().unwrap();
        let path = format!("/accounts/{}/batches/{id}/jobs?{query}", customer.account);
        let call = server.operators_browser().call(&server, "GET", &path);
        call.expect(200).json()
    };
    let pages = |query: &str| {
        let (mut pages, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = list(&format!("{query}{cursor}"));
            let ids = page["data"].as_array().unwrap().iter();
            let ids = ids.map(|job| job["custom_id"].as_str().unwrap().to_owned());
            pages.push(ids.collect::<Vec<_>>());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return pages,
            }
        }
    };
    let named = |at: &[usize]| at.iter().map(|at| format!("sku-{at}")).collect::<Vec<_>>();
    assert_eq!(
        pages("limit=3"),
        [named(&[0, 1, 2]), named(&[3, 4, 5]), named(&[6])]
    );
    assert_eq!(pages("limit=7"), [named(&[0, 1, 2, 3, 4, 5, 6])]);
    assert_eq!(pages("limit=5&status=failed"), [named(&[1, 4])]);
    assert_eq!(
        pages("limit=2&status=done"),
        [named(&[0, 2]), named(&[3, 5]), named(&[6])]
    );
    // The id of a job before the batch.
    let early = other["batch_id"].as_str().unwrap();
    let all = list(&format!("cursor={early}"));
    assert_eq!(all["data"].as_array().unwrap().len(), 7);
}

#[test]
fn images_have_the_same_names_in_the_archive_as_in_a_directory() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let named = |name: &str| entry_with(json!({ "custom_id": name }));
    let requests = ["missing", "../a", "a_b", "A/B"].map(named);
    let batch = server.submit(&customer, &requests);
    server.batch_ended(&customer, &batch);
    let id = batch["batch_id"].as_str().unwrap();
    let path = format!("/accounts/{}/batches/{id}/pictures", customer.account);
    let call = server.operators_browser().call(&server, "GET", &path);
    let archive = call.expect(200).body;
    let archive = ZipArchive::new(Cursor::new(archive)).unwrap();
    let names: Vec<String> = archive
        .file_names()
        .map(|it| it.unwrap().into_owned())
        .collect();
    for name in ["missing.png", "_.._a.png", "a_b.png", "A_B-3.png"] {
        assert!(names.iter().any(|it| it == name), "{name}: {names:?}");
    }
    server.assert_settled();
}
