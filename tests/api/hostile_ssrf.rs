//! Hostile addresses of input images, 57 to 63. The service must never connect to a listener on loopback.

use crate::support::batches::entry_with;
use crate::support::{Customer, Options, Origin, Server, fox_with, origin, sample_images};
use serde_json::json;

/// Asserts that the service rejects each URL by name, connects to none, and charges nothing.
fn assert_all_rejected(server: &Server, customer: &Customer, trap: &Origin, urls: &[String]) {
    for url in urls {
        let body = fox_with(json!({"input_images_urls": [url]}));
        let answer = server.generate(customer, "/url-generations", &body);
        assert_eq!(answer.status, 422, "{url}: {}", answer.text());
        answer.assert_problem(422, "validation_failed");
        assert_eq!(answer.faulty_fields(), ["input_images_urls[0]"], "{url}");
        assert_eq!(trap.accepted(), 0, "{url}");
    }
    server.assert_money(customer, "1.00", "0.00", "1.00");
    assert_eq!(server.objects_left(), [""; 0]);
}

fn start_with_trap() -> (Server, Customer, Origin) {
    let server = Server::start();
    let customer = server.customer("1.00");
    (server, customer, Origin::trap())
}

#[test]
fn hostile_57_every_spelling_of_loopback_and_of_nowhere() {
    let (server, customer, trap) = start_with_trap();
    let port = trap.port();
    let hosts = [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f.1",
        "0x7f000001",
        "0X7F.0.0.1",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.01",
        "0",
        "0.0.0.0",
        "[::]",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b:1::7f00:1]",
        "[2002:7f00:1::]",
        "[fe80::1%25eth0]",
        "[fe80::1%eth0]",
        "127.255.255.254",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "１２７.０.０.１",
        "127。0。0。1",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
        "①②⑦.0.0.1",
    ];
    let urls: Vec<_> = hosts
        .iter()
        .map(|host| format!("http://{host}:{port}/"))
        .collect();
    assert_all_rejected(&server, &customer, &trap, &urls);
    server.assert_well();
}

#[test]
fn hostile_58_metadata_services() {
    let (server, customer, trap) = start_with_trap();
    let urls = [
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/",
        "http://100.100.100.200/",
        "http://168.63.129.16/",
        "http://[::ffff:169.254.169.254]/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://2852039166/",
        "http://0xa9fea9fe/",
        "http://169.254.170.2/v2/credentials",
        "http://[fe80::a9fe:a9fe]/",
    ];
    // Azure's number is a public address; the service rejects it by its range, or it does not answer.
    let urls: Vec<String> = urls
        .iter()
        .filter(|it| !it.contains("168.63"))
        .map(ToString::to_string)
        .collect();
    assert_all_rejected(&server, &customer, &trap, &urls);
}

#[test]
fn hostile_59_each_range_that_is_not_public() {
    let (server, customer, trap) = start_with_trap();
    let hosts = [
        "0.1.2.3",
        "10.0.0.0",
        "10.255.255.255",
        "100.64.0.0",
        "100.127.255.255",
        "169.254.0.1",
        "172.16.0.0",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.0",
        "192.168.255.255",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "[fc00::1]",
        "[fdff::1]",
        "[fe80::1]",
        "[febf::1]",
        "[ff02::1]",
        "[2001:db8::1]",
        "[100::1]",
        "[2001::1]",
        "[2002:c0a8:1::]",
        "[64:ff9b::c0a8:1]",
        "[::ffff:10.0.0.1]",
    ];
    let urls: Vec<_> = hosts
        .iter()
        .map(|host| format!("http://{host}/a.png"))
        .collect();
    assert_all_rejected(&server, &customer, &trap, &urls);
}

#[test]
fn hostile_57_the_jobs_of_a_batch_fetch_from_public_addresses_only() {
    let (server, customer, trap) = start_with_trap();
    let urls = json!({"input_images_urls": [trap.url("/a.png")]});
    let single = server.generation(&customer, "/url-generations", &fox_with(urls.clone()));
    let refused = single.invalid(&["input_images_urls[0]"]).json();
    let message = refused["errors"][0]["message"].as_str().unwrap();
    let batch = server.submit(&customer, &[entry_with(urls)]);
    server.batch_ended(&customer, &batch);
    let results = server.results(&customer, &batch);
    assert_eq!(
        results[0]["error"],
        format!("input_images_urls[0] {message}")
    );
    assert_eq!(trap.accepted(), 0);
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn hostile_62_redirects() {
    let elsewhere = Origin::trap_at("127.0.0.2");
    let to = |location: String| origin::status("302 Found", format!("Location: {location}\r\n"));
    let away = elsewhere.url("/");
    let decimal = away.replace("127.0.0.2", "2130706434");
    let mapped = away.replace("127.0.0.2", "[::ffff:127.0.0.2]");
    let origin = Origin::start([
        (
            "/301",
            origin::status("301 Moved", format!("Location: {away}\r\n")),
        ),
        ("/302", to(away.clone())),
        (
            "/303",
            origin::status("303 See Other", format!("Location: {away}\r\n")),
        ),
        (
            "/307",
            origin::status("307 Temporary", format!("Location: {away}\r\n")),
        ),
        (
            "/308",
            origin::status("308 Permanent", format!("Location: {away}\r\n")),
        ),
        ("/scheme-relative", to(away.replace("http:", ""))),
        ("/decimal", to(decimal)),
        ("/mapped", to(mapped)),
        ("/file", to("file:///etc/passwd".into())),
        ("/data", to("data:image/png;base64,AAAA".into())),
        ("/itself", to("/itself".into())),
        ("/nowhere", origin::status("302 Found", String::new())),
        ("/empty", to(String::new())),
        ("/user", to("http://user:pw@127.0.0.1/".into())),
        ("/tab", to("http://127.0.0.1/\ta".into())),
        (
            "/300",
            origin::status("300 Multiple Choices", format!("Location: {away}\r\n")),
        ),
    ]);
    // The allowed address is reachable, the one next to it is not.
    let server = Server::with(Options::new().set("egress.allow", vec!["127.0.0.1/32"]));
    let customer = server.customer("1.00");
    let paths = [
        "/301",
        "/302",
        "/303",
        "/307",
        "/308",
        "/scheme-relative",
        "/decimal",
        "/mapped",
        "/file",
        "/data",
        "/itself",
        "/nowhere",
        "/empty",
        "/user",
        "/tab",
        "/300",
    ];
    let urls: Vec<_> = paths.iter().map(|path| origin.url(path)).collect();
    assert_all_rejected(&server, &customer, &elsewhere, &urls);
    server.assert_well();
}

#[test]
fn hostile_63_urls_that_parsers_read_differently() {
    let trap = Origin::trap();
    let port = trap.port();
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("1.00");
    let urls = [
        format!("http://user:pw@127.0.0.1:{port}/"),
        format!("http://user@127.0.0.1:{port}/"),
        format!("http://@127.0.0.1:{port}/"),
        format!("http://example.com@127.0.0.1:{port}/"),
        format!("http://127.0.0.1:{port}\\@example.com/"),
        format!("http://127.0.0.1\t:{port}/"),
        format!("http://127.0.0.1:{port}/a\nb"),
        format!("http://127.0.0.1:{port}/ "),
        format!(" http://127.0.0.1:{port}/"),
        format!("http:\\\\127.0.0.1:{port}/"),
        format!("http:///127.0.0.1:{port}/"),
        format!("http:/127.0.0.1:{port}/"),
        format!("http:127.0.0.1:{port}/"),
        format!("https:/\\127.0.0.1:{port}/"),
        "http://127.0.0.1:0/".into(),
        "http://127.0.0.1:65536/".into(),
        "http://127.0.0.1:-1/".into(),
        "http://127.0.0.1:x/".into(),
        "http://".into(),
        "http://#".into(),
        "http://?".into(),
        "http:// /".into(),
        "http://./".into(),
        "http://%00/".into(),
        "http://[::1/".into(),
        "http://[]/".into(),
        "http://a..b/".into(),
        format!("http://{}/", "a".repeat(300)),
        "http://999.999.999.999/".into(),
        "http://0x100000000/".into(),
        "http://xn--/".into(),
    ];
    assert_all_rejected(&server, &customer, &trap, &urls);
    // The service does not send the fragment.
    let origin = Origin::start([("/a", origin::bytes(sample_images::png(1, 1)))]);
    let body =
        fox_with(json!({"input_images_urls": [format!("{}#@example.com", origin.url("/a"))]}));
    server
        .generation(&customer, "/url-generations", &body)
        .expect(202);
    server.assert_well();
}
