//! Favourites: the owners of an account mark them, all its people see them, and retention keeps them.

use crate::support::clock::{START, age};
use crate::support::{Behaviour, Browser, Customer, Options, Server};
use serde_json::{Value, json};
use std::time::Duration;
use tintype::server::sweeps::remove_old_images;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::{Wait as _, commit_and_wait};
use tintype_storage::store::MAX_FAVOURITES;
use tintype_storage::store::tables::IMAGES_FORGOTTEN;
use uuid::Uuid;

const DAY: Duration = Duration::from_secs(86_400);

struct Desk {
    server: Server,
    customer: Customer,
}

impl Desk {
    fn new() -> Self {
        let server = Server::with(Options::new());
        let customer = server.customer("10");
        Self { server, customer }
    }

    fn make(&self) -> String {
        let job = self.server.create(&self.customer);
        self.server.job_once(&self.customer, &job, "done");
        // The file has the time of the machine.
        let image = self.server.objects().join(self.server.result_key(&job));
        age(&image, 0);
        job
    }

    fn path(&self, path: &str) -> String {
        format!("/accounts/{}{path}", self.customer.account)
    }

    fn get(&self, browser: &Browser, path: &str) -> Value {
        let call = browser.call(&self.server, "GET", &self.path(path));
        call.expect(200).json()
    }

    fn mark(&self, browser: &Browser, method: &str, job: &str) -> crate::support::Answer {
        let path = self.path(&format!("/jobs/{job}/favourite"));
        browser.call(&self.server, method, &path).send()
    }

    fn image(&self, browser: &Browser, job: &str) -> u16 {
        let path = self.path(&format!("/jobs/{job}/picture"));
        browser.call(&self.server, "GET", &path).send().status
    }

    fn favourites(&self, browser: &Browser) -> Vec<String> {
        let found = self.get(browser, "/jobs?favourite=true");
        let id = |it: &Value| it["job_id"].as_str().unwrap().to_owned();
        found["data"].as_array().unwrap().iter().map(id).collect()
    }

    fn sweep(&self) {
        let runtime = actix_web::rt::System::new();
        runtime.block_on(remove_old_images(&self.server.instance().jobs));
    }
}

#[test]
fn retention_does_not_delete_the_images_of_favourites() {
    let desk = Desk::new();
    let browser = desk.server.operators_browser();
    let [kept, other] = [desk.make(), desk.make()];
    let favourite_and_expiry = |job: &str| {
        let job = desk.get(&browser, &format!("/jobs/{job}"));
        (job["favourite"].clone(), job["kept_until"].is_string())
    };
    assert_eq!(favourite_and_expiry(&kept), (json!(false), true));
    // Marking is idempotent.
    assert_eq!(desk.mark(&browser, "PUT", &kept).status, 204);
    assert_eq!(desk.mark(&browser, "PUT", &kept).status, 204);
    assert_eq!(favourite_and_expiry(&kept), (json!(true), false));
    assert_eq!(desk.favourites(&browser), std::slice::from_ref(&kept));
    let all = desk.get(&browser, "/jobs");
    let marks = [0, 1].map(|at: usize| all["data"][at]["favourite"].clone());
    assert_eq!(marks, [json!(false), json!(true)]);

    let forgotten = || {
        let store = &desk.server.inside().store;
        IMAGES_FORGOTTEN.mark(store).wait().unwrap()
    };
    assert_eq!(forgotten(), Timestamp::EPOCH);
    let previews = || {
        let found = std::fs::read_dir(desk.server.objects().join("thumbnails"));
        found.map_or(0, Iterator::count)
    };
    for job in [&kept, &other] {
        let path = desk.path(&format!("/jobs/{job}/picture?width=256"));
        browser.call(&desk.server, "GET", &path).expect(200);
    }
    assert_eq!(previews(), 2);
    desk.server.clock.advance(DAY * 400);
    desk.sweep();
    assert!(forgotten() > Timestamp::parse(START).unwrap());
    let browser = desk.server.operators_browser();
    let found = [&kept, &other].map(|job| desk.image(&browser, job));
    assert_eq!(found, [200, 410]);
    assert_eq!(previews(), 1, "deleted with its image");
    // A removed image cannot become a favourite.
    desk.mark(&browser, "PUT", &other)
        .assert_problem(410, "gone");

    assert_eq!(desk.mark(&browser, "DELETE", &kept).status, 204);
    assert_eq!(desk.mark(&browser, "DELETE", &kept).status, 204);
    assert_eq!(desk.favourites(&browser), [""; 0]);
    desk.sweep();
    assert_eq!(desk.image(&browser, &kept), 410);
    desk.server.assert_settled();
}

#[test]
fn a_job_without_an_image_cannot_become_a_favourite() {
    let desk = Desk::new();
    let browser = desk.server.operators_browser();
    desk.server.generator.behave(Behaviour::Refuse("no"));
    let job = desk.server.create(&desk.customer);
    desk.server.job_once(&desk.customer, &job, "failed");
    desk.mark(&browser, "PUT", &job)
        .assert_problem(409, "conflict");
    assert_eq!(desk.favourites(&browser), [""; 0]);
}

#[test]
fn all_people_of_the_account_see_favourites_and_owners_mark_them() {
    let desk = Desk::new();
    let account = &desk.customer.account;
    let owner = desk.server.person(account, "owner@a.example", "owner");
    let viewer = desk.server.person(account, "viewer@a.example", "viewer");
    let jobs: Vec<String> = (0..3).map(|_| desk.make()).collect();
    desk.mark(&viewer, "PUT", &jobs[0])
        .assert_problem(403, "forbidden");
    for job in [&jobs[0], &jobs[2]] {
        assert_eq!(desk.mark(&owner, "PUT", job).status, 204);
    }
    assert_eq!(desk.favourites(&viewer), [jobs[2].clone(), jobs[0].clone()]);
    // In pages, and with other filters.
    let page = desk.get(&viewer, "/jobs?favourite=true&limit=1");
    let next = page["next_cursor"].as_str().unwrap();
    let page = desk.get(
        &viewer,
        &format!("/jobs?favourite=true&limit=1&cursor={next}"),
    );
    assert_eq!(page["data"][0]["job_id"], json!(jobs[0]));
    let failed = desk.get(&viewer, "/jobs?favourite=true&status=failed");
    assert_eq!(failed["data"], json!([]));
    let path = desk.path("/jobs?favourite=yes");
    viewer
        .call(&desk.server, "GET", &path)
        .invalid(&["favourite"]);
    // The native API has no favourites.
    let call = desk
        .server
        .native(&desk.customer, "GET", "/jobs?favourite=true");
    call.invalid(&["favourite"]);
}

#[test]
fn the_number_of_favourites_per_account_is_limited() {
    let desk = Desk::new();
    let browser = desk.server.operators_browser();
    let [job, other] = [desk.make(), desk.make()];
    let store = &desk.server.inside().store;
    let account = desk.customer.account.parse().unwrap();
    let fill = |range: std::ops::Range<usize>| {
        let writes = range.flat_map(|at| {
            let job = JobId(Uuid::from_u128(at as u128));
            store.put_favourite(account, job, Timestamp::from_millis(0))
        });
        commit_and_wait(&**store.engine(), writes.collect()).unwrap();
    };
    fill(1..MAX_FAVOURITES);
    assert_eq!(desk.mark(&browser, "PUT", &job).status, 204);
    let refused = desk.mark(&browser, "PUT", &other);
    refused.assert_problem(422, "validation_failed");
    assert!(refused.text().contains("5000 favourites"));
    // Marking a favourite again does not count against the limit.
    assert_eq!(desk.mark(&browser, "PUT", &job).status, 204);
}
