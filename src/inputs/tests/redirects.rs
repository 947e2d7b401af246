//! Redirects: each target must pass the same checks as the first URL.

use super::{
    sample_images::{gif, png},
    server::{Server, ok, redirect},
    support::*,
};
use std::sync::atomic::Ordering;
use tintype_egress::{
    Client, ClientOptions,
    testing::{LookUp, ScriptedResolver, loopback, tls},
};

#[actix_web::test]
async fn five_are_followed_and_six_are_not() {
    let server = Server::start(|path| match path[1..].parse() {
        Ok(0_u32) => ok(&png(3, 2)),
        Ok(left) => redirect(302, &format!("/{}", left - 1)),
        Err(_) => unreachable!(),
    })
    .await;
    assert!(run(&[server.url("/5")], &limits()).await.is_ok());
    let text = faults(&[server.url("/6")], &limits()).await;
    assert_eq!(text, "input_images_urls[0] redirects more than 5 times");
    assert_eq!(server.count(), 12);
}

#[actix_web::test]
async fn every_kind_of_redirect_and_reference_is_followed() {
    let server = Server::start(|path| match path {
        "/a/301" => redirect(301, "302"),
        "/a/302" => redirect(302, "./303?x"),
        "/a/303?x" => redirect(303, "//pictures.example:PORT/307"),
        "/307" => redirect(307, "http://other.example:PORT/308#x"),
        "/308" => redirect(308, "/a/../end"),
        "/end" => ok(&png(3, 2)),
        other => unreachable!("{other}"),
    })
    .await;
    assert!(run(&[server.url("/a/301")], &limits()).await.is_ok());
    let last = server.requests.lock()[5].to_lowercase();
    let host = format!("host: other.example:{}\r\n", server.address.port());
    assert!(last.contains(&host), "{last}");
}

#[actix_web::test]
async fn a_redirect_loop_ends() {
    let server = Server::start(|path| match path {
        "/self" => redirect(301, "/self"),
        "/a" => redirect(308, "/b"),
        _ => redirect(307, "/a"),
    })
    .await;
    for path in ["/self", "/a"] {
        let text = faults(&[server.url(path)], &limits()).await;
        assert_eq!(text, "input_images_urls[0] redirects more than 5 times");
    }
    assert_eq!(server.count(), 12);
}

#[actix_web::test]
async fn no_redirect_leads_to_a_private_address_or_another_scheme() {
    let inside = Server::start_on("127.0.0.2:0", |_| ok(&png(3, 2))).await;
    let port = inside.address.port();
    let targets = [
        format!("http://127.0.0.2:{port}/"),
        format!("http://127.2:{port}/"),
        format!("http://0x7f000002:{port}/"),
        format!("http://[::ffff:127.0.0.2]:{port}/"),
        format!("//127.0.0.2:{port}/"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://[::1]/".to_owned(),
        "http://10.0.0.1/".to_owned(),
    ];
    let others = [
        "file:///etc/passwd",
        "ftp://example.com/",
        "gopher://example.com/",
        "javascript:alert(1)",
        "data:image/png;base64,iVBORw0KGgo=",
        "http://user:pw@pictures.example/",
        "http://pictures.example:0/",
        "http://[fe80::1%25eth0]/",
        "http://a b/",
        "\\\\pictures.example\\a",
        "http://",
    ];
    let all: Vec<String> = targets
        .iter()
        .cloned()
        .chain(others.map(str::to_owned))
        .collect();
    for status in [301, 302, 303, 307, 308] {
        let locations = all.clone();
        let server = Server::start(move |path| {
            redirect(status, &locations[path[1..].parse::<usize>().unwrap()])
        })
        .await;
        for (index, location) in all.iter().enumerate() {
            let text = faults(&[server.url(&format!("/{index}"))], &limits()).await;
            let fault = text
                .strip_prefix("input_images_urls[0] redirects to a ")
                .expect(&text);
            if index < targets.len() {
                assert_eq!(fault, "host that is not at a public address", "{location}");
            } else {
                assert!(fault.starts_with("URL that "), "{location}: {fault}");
            }
        }
    }
    assert_eq!(inside.count(), 0);
}

#[actix_web::test]
async fn a_redirect_without_a_target_is_a_fault() {
    let server =
        Server::start(|_| super::server::head("HTTP/1.1 302 Found\nContent-Length: 0", [])).await;
    let text = faults(&[server.url("/")], &limits()).await;
    assert_eq!(
        text,
        "input_images_urls[0] returned 302 Found without a Location"
    );
}

#[actix_web::test]
async fn a_name_with_a_private_address_is_rejected_after_a_redirect_too() {
    let inside = Server::start_on("127.0.0.2:0", |_| ok(&png(3, 2))).await;
    let port = inside.address.port();
    let outside =
        Server::start(move |_| redirect(302, &format!("http://inside.example:{port}/"))).await;
    // The first lookup returns a public address, all later ones a private address.
    let resolver = ScriptedResolver::new([LookUp::of(&["127.0.0.1"]), LookUp::of(&["127.0.0.2"])]);
    let egress = Client::with_resolver(loopback(), resolver.clone()).unwrap();
    let urls = [outside.url("/")];
    let outcome = ingest(&egress, memory(), &prefix(), &urls, &limits()).await;
    assert_eq!(
        fault_lines(outcome, &limits()),
        "input_images_urls[0] could not be fetched after a redirect: its host does not resolve to a public address"
    );
    assert_eq!((inside.count(), egress.refusals()), (0, 1));
    assert_eq!(resolver.lookups.load(Ordering::SeqCst), 2);
}

#[actix_web::test]
async fn loopback_is_unreachable_unless_it_is_allowed() {
    let server = Server::start(|_| ok(&png(3, 2))).await;
    let egress = Client::with_resolver(
        ClientOptions::default(),
        ScriptedResolver::always("127.0.0.1"),
    )
    .unwrap();
    let store = memory();
    let urls = [server.url("/")];
    let outcome = ingest(&egress, store.clone(), &prefix(), &urls, &limits()).await;
    assert_eq!(
        fault_lines(outcome, &limits()),
        "input_images_urls[0] could not be fetched: its host does not resolve to a public address"
    );
    assert_eq!(server.count(), 0);
    assert!(keys(&store).await.is_empty());
}

#[actix_web::test]
async fn https_may_redirect_to_https_but_not_to_http() {
    let plain = Server::start(|_| ok(&png(3, 2))).await;
    let authority = tls::authority();
    let serve = async |answer: String| {
        tls::serve(&authority, tls::leaf("pictures.example"), answer)
            .await
            .port()
    };
    let image = String::from_utf8(gif(3, 2)).unwrap();
    let length = image.len();
    let end = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{image}");
    let end = serve(end).await;
    let to = |location: String| {
        format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")
    };
    let up = serve(to(format!("https://pictures.example:{end}/"))).await;
    let down = serve(to(plain.url("/"))).await;
    let ca = tls::file(&authority.pem());
    let egress = tls::client(Some(ca.path())).unwrap();
    let ingest_from = async |port: u16| {
        let urls = [format!("https://pictures.example:{port}/")];
        ingest(&egress, memory(), &prefix(), &urls, &limits()).await
    };
    let images = ingest_from(up).await.unwrap();
    assert_eq!((images[0].width, images[0].height), (3, 2));
    assert_eq!(
        fault_lines(ingest_from(down).await, &limits()),
        "input_images_urls[0] redirects from https to http"
    );
    assert_eq!(plain.count(), 0);
    // An upgrade from http to https is allowed.
    let upward =
        Server::start(move |_| redirect(301, &format!("https://pictures.example:{end}/"))).await;
    let urls = [upward.url("/")];
    assert!(
        ingest(&egress, memory(), &prefix(), &urls, &limits())
            .await
            .is_ok()
    );
}

#[actix_web::test]
async fn an_untrusted_certificate_is_a_fault_of_the_entry() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_owned();
    let server = tls::serve(&tls::authority(), tls::leaf("pictures.example"), answer).await;
    let text = faults(
        &[format!("https://pictures.example:{}/", server.port())],
        &limits(),
    )
    .await;
    assert_eq!(
        text,
        "input_images_urls[0] could not be fetched: a secure connection to its host could not be made: \
         its certificate is not from a trusted authority"
    );
}
