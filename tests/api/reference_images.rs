//! The images that the page at `/docs` shows, with the credentials that were entered there.

use crate::support::Server;
use crate::support::options::ADMIN_TOKEN;

#[test]
fn the_reference_shows_an_image_to_its_account_and_to_the_operator() {
    let server = Server::start();
    let (customer, other) = (server.customer("1.00"), server.customer("1.00"));
    let job = server.create(&customer);
    server.job_once(&customer, &job, "done");
    let get = |interface: &str, secret: &str| {
        let path = format!("/docs/{interface}/jobs/{job}/picture");
        server.get(&path).bearer(secret)
    };
    for (interface, secret) in [("clients", &*customer.key), ("operator", ADMIN_TOKEN)] {
        let answer = get(interface, secret).expect(200);
        assert_eq!(answer.header("content-type"), Some("image/png"));
        assert_eq!(
            answer.header("content-security-policy"),
            Some("default-src 'none'; sandbox")
        );
        let file = std::fs::read(server.objects().join(server.result_key(&job)));
        assert_eq!(answer.body, file.expect("the image"));
    }
    get("clients", &other.key).refused(404, "not_found");
    get("clients", ADMIN_TOKEN).refused(401, "unauthorized");
    get("operator", &customer.key).refused(401, "unauthorized");
    let path = format!("/docs/clients/jobs/{job}/picture");
    server.get(&path).refused(401, "unauthorized");
    server.post(&path).refused(405, "method_not_allowed");
    let unknown = "/docs/operator/jobs/x/picture";
    server
        .get(unknown)
        .bearer(ADMIN_TOKEN)
        .refused(404, "not_found");
}
