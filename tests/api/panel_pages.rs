//! The data of the panel's pages: charts, filtered lists, and the requests of delivery attempts.

use crate::support::poll::until_some;
use crate::support::{Browser, Customer, Options, Server, fox_with, until};
use serde_json::{Value, json};
use std::time::Duration;
use tintype_storage::domain::ids::TransactionId;
use tintype_storage::domain::ledger::LedgerEntry;
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::commit_and_wait;
use tintype_storage::store::tables::LEDGER;
use tintype_storage::webhook_wire::secret::WebhookSecret;
use tintype_storage::webhook_wire::signature::x_signature;

const DAY: Duration = Duration::from_secs(86_400);

pub struct Desk {
    pub server: Server,
    pub customer: Customer,
    browser: Browser,
}

impl Desk {
    pub fn new(options: Options) -> Self {
        let server = Server::with(options);
        let customer = server.customer("10");
        let browser = server.operators_browser();
        Self {
            server,
            customer,
            browser,
        }
    }

    pub fn get(&self, path: &str) -> Value {
        let path = format!("/accounts/{}{path}", self.customer.account);
        let call = self.browser.call(&self.server, "GET", &path);
        call.expect(200).json()
    }

    fn ids(&self, path: &str, name: &str) -> Vec<String> {
        let found = self.get(path);
        let text = |it: &Value| it[name].as_str().unwrap().to_owned();
        found["data"].as_array().unwrap().iter().map(text).collect()
    }

    pub fn make(&self, extra: Value) -> String {
        let call = self
            .server
            .generate(&self.customer, "/nb/text-generations", &fox_with(extra));
        let job = call.job_id();
        self.server.job_once(&self.customer, &job, "done");
        job
    }

    /// Signs in again, because days have passed on the clock.
    pub fn sign_in(&mut self) {
        self.browser = self.server.operators_browser();
    }
}

#[test]
fn charts_show_each_day_of_an_account_and_of_each_key() {
    let mut desk = Desk::new(Options::new());
    desk.make(json!({}));
    let other = desk.server.another_key(&desk.customer.account, json!({}));
    let first = desk.customer.clone();
    desk.server.clock.advance(DAY * 2);
    desk.sign_in();
    desk.customer = other.clone();
    desk.make(json!({}));
    desk.make(json!({}));
    desk.server.pause(&["fast"]);
    let days = |path: &str| desk.get(path)["days"].as_array().unwrap().clone();
    let of_account = days("/overview");
    assert_eq!(of_account.len(), 14);
    let told = |day: &Value| json!([day["day"], day["done"], day["failed"], day["spent"]]);
    assert_eq!(told(&of_account[11]), json!(["2026-11-18", 1, 0, "0.039"]));
    assert_eq!(told(&of_account[12]), json!(["2026-11-19", 0, 0, "0.00"]));
    assert_eq!(told(&of_account[13]), json!(["2026-11-20", 2, 0, "0.078"]));
    let of = |key: &str, at: usize| {
        let days = days(&format!("/keys/{key}?days=30"));
        assert_eq!(days.len(), 30);
        days[at]["done"].clone()
    };
    assert_eq!([of(&first.key_id, 27), of(&first.key_id, 29)], [1, 0]);
    assert_eq!([of(&other.key_id, 27), of(&other.key_id, 29)], [0, 2]);
    let key = desk.get(&format!("/keys/{}", other.key_id));
    assert_eq!(key["spent_today"], "0.078");
    assert!(key["last_used_at"].is_string() && key.get("api_key").is_none());
    let path = format!("/accounts/{}/overview?days=93", desk.customer.account);
    desk.browser
        .call(&desk.server, "GET", &path)
        .invalid(&["days"]);
    desk.server.assert_settled();
}

#[test]
fn usage_is_reported_by_key_model_and_day_and_as_a_file() {
    let mut desk = Desk::new(Options::new().set("billing.currency", "\"A\",B"));
    desk.make(json!({}));
    let other = desk
        .server
        .another_key(&desk.customer.account, json!({"name": "=night"}));
    desk.server.clock.advance(DAY);
    desk.sign_in();
    let first = std::mem::replace(&mut desk.customer, other.clone());
    let job = desk.server.create(&desk.customer);
    desk.server.job_once(&desk.customer, &job, "done");
    desk.make(json!({}));
    let usage = desk.get("/usage?days=7");
    assert_eq!(
        usage["total"],
        json!({"done": 3, "failed": 0, "spent": "0.212"})
    );
    let of_key = |at: usize| json!([usage["keys"][at]["key_id"], usage["keys"][at]["spent"]]);
    assert_eq!(of_key(0), json!([other.key_id, "0.173"]));
    assert_eq!(of_key(1), json!([first.key_id, "0.039"]));
    let model = |at: usize| {
        let it = &usage["models"][at];
        json!([it["model"], it["resolution"], it["done"], it["spent"]])
    };
    assert_eq!(model(0), json!(["fast", "1K", 2, "0.078"]));
    assert_eq!(model(1), json!(["pro", "1K", 1, "0.134"]));
    let days = usage["days"].as_array().unwrap();
    assert_eq!(days.len(), 7);
    assert_eq!(
        days[6]["models"],
        json!({"fast": "0.039", "quality": "0.00", "pro": "0.134"})
    );
    let path = format!("/accounts/{}/usage.csv?days=7", desk.customer.account);
    let file = desk.browser.call(&desk.server, "GET", &path).expect(200);
    let text = file.text();
    let lines: Vec<&str> = text.split("\r\n").collect();
    assert_eq!(lines.len(), 5, "{text}");
    assert!(lines[0].starts_with("\u{feff}day,"), "{text}");
    let last = format!(
        "2026-11-19,{},\"'=night\",fast,1K,1,0,0.039,\"\"\"A\"\",B\"",
        other.key_id
    );
    assert!(lines.contains(&last.as_str()), "{text}");
    let path = format!("/keys/{}", other.key_id);
    desk.server.admin("DELETE", &path).expect(204);
    let usage = desk.get("/usage?days=7");
    let name = |at: usize| {
        json!([
            usage["keys"][at]["key_name"],
            usage["keys"][at]["key_deleted"]
        ])
    };
    assert_eq!(name(0), json!(["=night", true]));
    assert_eq!(name(1)[1], false);
    let ledger = desk.get("/transactions");
    assert_eq!(ledger["data"][0]["job"]["key_deleted"], true);
    assert_eq!(ledger["data"][0]["job"]["key_name"], "=night");
    desk.server.assert_settled();
}

#[test]
fn the_operator_sees_the_usage_of_all_accounts_and_downloads_it() {
    let desk = Desk::new(Options::new());
    desk.make(json!({}));
    let other = desk.server.customer("10.00");
    for _ in 0..2 {
        let job = desk.server.create(&other);
        desk.server.job_once(&other, &job, "done");
    }
    let operator = desk.server.operators_browser();
    let usage = operator.call(&desk.server, "GET", "/usage?days=14");
    let usage = usage.expect(200).json();
    assert_eq!(
        usage["total"],
        json!({"done": 3, "failed": 0, "spent": "0.307"})
    );
    assert_eq!(usage["account_count"], 2);
    let of = |at: usize| {
        let it = &usage["accounts"][at];
        json!([it["account_id"], it["done"], it["spent"]])
    };
    assert_eq!(of(0), json!([other.account, 2, "0.268"]));
    assert_eq!(of(1), json!([desk.customer.account, 1, "0.039"]));
    assert_eq!(usage["days"][13]["models"]["pro"], "0.268");
    assert_eq!(usage["models"][1]["model"], "pro");
    let file = operator.call(&desk.server, "GET", "/usage.csv?days=14");
    let text = file.expect(200).text();
    let lines: Vec<&str> = text.trim_end().split("\r\n").collect();
    let head = "\u{feff}account_id,account_name,day,key_id,key_name,model,resolution,done,failed,spent,currency";
    assert_eq!((lines[0], lines.len()), (head, 3), "{text}");
    assert!(
        lines[1..]
            .iter()
            .any(|it| it.starts_with(&other.account) && it.ends_with("pro,1K,2,0,0.268,\"USD\"")),
        "{text}"
    );
    desk.server.assert_settled();
}

#[test]
fn usage_of_any_month_is_reported_and_downloaded() {
    let mut desk = Desk::new(Options::new());
    desk.make(json!({}));
    desk.server.clock.advance(DAY * 13);
    desk.sign_in();
    desk.make(json!({}));
    desk.server.clock.advance(DAY * 400);
    desk.sign_in();
    assert_eq!(desk.get("/usage?days=92")["total"]["done"], 0);
    let november = "from=2026-11-01&to=2026-11-30";
    let own = format!("/accounts/{}", desk.customer.account);
    for base in [own.as_str(), ""] {
        let call = |path: String| desk.browser.call(&desk.server, "GET", &path);
        let usage = |query: &str| call(format!("{base}/usage?{query}")).expect(200).json();
        let month = usage(november);
        let total = json!({"done": 1, "failed": 0, "spent": "0.039"});
        assert_eq!(month["total"], total);
        let days = month["days"].as_array().unwrap();
        assert_eq!((days.len(), &days[17]["done"]), (30, &json!(1)));
        assert_eq!(usage("to=2026-12-17")["total"]["done"], 2);
        assert_eq!(usage("from=2027-12-31")["total"]["done"], 0);
        let file = call(format!("{base}/usage.csv?{november}"));
        assert_eq!(file.expect(200).text().lines().count(), 2);
        for (query, field) in [
            ("from=2026-11-01&to=2027-11-02", "from"),
            ("from=2026-11-02&to=2026-11-01", "from"),
            ("from=2026-11-31", "from"),
            ("to=2026-11-30&days=7", "days"),
            ("days=93", "days"),
        ] {
            call(format!("{base}/usage?{query}")).invalid(&[field]);
        }
    }
}

#[test]
fn usage_after_a_clock_that_was_set_back_is_in_no_total() {
    let mut desk = Desk::new(Options::new());
    desk.server.clock.advance(DAY * 2);
    desk.sign_in();
    desk.make(json!({}));
    desk.server.clock.set_back(DAY * 2);
    desk.sign_in();
    let usage = desk.get("/usage?days=7");
    assert_eq!(usage["total"]["done"], 0, "{usage}");
    let usage = desk.get("/usage?from=2026-11-18&to=2026-11-20");
    assert_eq!(usage["total"]["done"], 1);
}

#[test]
fn the_overview_warns_when_less_is_available_than_the_low_balance() {
    let desk = Desk::new(Options::new());
    let account = format!("/accounts/{}", desk.customer.account);
    let below = || desk.get("/overview")["money"]["below"].clone();
    assert_eq!(below(), Value::Null);
    let available = desk.get("/overview")["money"]["available"].clone();
    let set = |low: Value| {
        let body = json!({"low_balance": low});
        desk.server.admin("PATCH", &account).json(&body).expect(200);
    };
    set(available.clone());
    assert_eq!(below(), Value::Null, "it is not below the amount yet");
    let job = desk.server.create(&desk.customer);
    desk.server.job_once(&desk.customer, &job, "done");
    assert_eq!(below(), available);
    set(Value::Null);
    assert_eq!(below(), Value::Null);
}

#[test]
fn a_canceled_job_counts_as_failed_on_the_day_it_ended() {
    let desk = Desk::new(Options::new().slots(1));
    desk.server.generator.hold();
    let running = desk.server.create(&desk.customer);
    desk.server.job_once(&desk.customer, &running, "processing");
    let waiting = desk.server.create(&desk.customer);
    until("the queue is reported", || {
        let jobs = desk.get("/overview")["jobs"].clone();
        jobs == json!({"queued": 1, "processing": 1})
    });
    let path = format!("/accounts/{}/jobs/{waiting}", desk.customer.account);
    desk.browser.call(&desk.server, "DELETE", &path).expect(200);
    let today = desk.get("/overview")["days"][13].clone();
    assert_eq!(json!([today["done"], today["failed"]]), json!([0, 1]));
    desk.server.generator.release_all();
    desk.server.job_once(&desk.customer, &running, "done");
    until("the figures follow", || {
        desk.get("/overview")["jobs"] == json!({"queued": 0, "processing": 0})
    });
}

#[test]
fn jobs_are_filtered_by_metadata_key_and_day() {
    let desk = Desk::new(Options::new());
    let first = desk.make(json!({"metadata": {"order": 4711, "to": "Zoë"}}));
    let second = desk.make(json!({"metadata": {"order": 4712}}));
    let all = desk.ids("/jobs", "job_id");
    assert_eq!(all, [second.clone(), first.clone()]);
    assert_eq!(
        desk.ids("/jobs?metadata[order]=4711", "job_id"),
        std::slice::from_ref(&first)
    );
    let both = "/jobs?metadata%5Bto%5D=Zo%C3%AB&metadata%5Border%5D=4711";
    assert_eq!(desk.ids(both, "job_id"), [first]);
    assert_eq!(desk.ids("/jobs?metadata[order]=0", "job_id"), [""; 0]);
    let key = format!("/jobs?key={}&status=done&tier=fast", desk.customer.key_id);
    assert_eq!(desk.ids(&key, "job_id"), all);
    let later = "/jobs?created_after=2026-11-19T00:00:00Z";
    assert_eq!(desk.ids(later, "job_id"), [""; 0]);
    let prompts = desk.ids("/jobs?limit=1", "prompt");
    assert_eq!(prompts, ["a red fox in the snow"]);
}

#[test]
fn the_ledger_is_filtered_by_kind_and_moment_in_the_list_and_in_the_file() {
    let mut desk = Desk::new(Options::new());
    let job = desk.make(json!({}));
    let path = format!("/accounts/{}/deposits", desk.customer.account);
    desk.server.clock.advance(DAY);
    desk.sign_in();
    for (amount, kind) in [("5", "deposit"), ("-1", "adjustment")] {
        let deposit = desk.browser.call(&desk.server, "POST", &path);
        let body = json!({"amount": amount, "reference": kind});
        deposit.json(&body).expect(201);
    }
    let kinds = |query: &str| desk.ids(&format!("/transactions?{query}"), "kind");
    assert_eq!(kinds(""), ["adjustment", "deposit", "charge", "deposit"]);
    assert_eq!(kinds("kind=charge"), ["charge"]);
    assert_eq!(kinds("kind=deposit&limit=1"), ["deposit"]);
    assert_eq!(kinds(&format!("job_id={job}")), ["charge"]);
    let morning = "2026-11-19T00:00:00Z";
    assert_eq!(kinds(&format!("from={morning}")), ["adjustment", "deposit"]);
    assert_eq!(kinds(&format!("to={morning}")), ["charge", "deposit"]);
    assert_eq!(kinds(&format!("to={morning}&kind=charge")), ["charge"]);
    assert_eq!(kinds("from=2026-11-20T00:00:00Z"), [""; 0]);
    let bad = format!(
        "/accounts/{}/transactions?kind=gift&from=today",
        desk.customer.account
    );
    desk.browser
        .call(&desk.server, "GET", &bad)
        .invalid(&["kind", "from"]);
    let file = |query: &str| {
        let path = format!("/accounts/{}/ledger.csv?{query}", desk.customer.account);
        let text = desk
            .browser
            .call(&desk.server, "GET", &path)
            .expect(200)
            .text();
        text.lines().count() - 1
    };
    assert_eq!(
        [file(""), file("kind=charge"), file("kind=deposit")],
        [4, 1, 2]
    );
    assert_eq!(file(&format!("from={morning}&kind=adjustment")), 1);
    assert_eq!(file(&format!("job_id={job}")), 1);
    let path = format!("/accounts/{}/ledger.csv", desk.customer.account);
    let file = desk.browser.call(&desk.server, "GET", &path).expect(200);
    for (line, last) in file.text().split("\r\n").zip(["currency", "\"USD\""]) {
        assert_eq!(line.rsplit(',').next(), Some(last), "{line}");
    }
    // The operator interface has the same filters.
    let path = format!(
        "/accounts/{}/transactions?kind=charge",
        desk.customer.account
    );
    let found = desk.server.admin("GET", &path).expect(200).json();
    assert_eq!(found["data"].as_array().unwrap().len(), 1);
}

#[test]
fn a_ledger_of_any_length_is_exported_completely() {
    let desk = Desk::new(Options::new());
    let inside = desk.server.inside();
    let (store, ids) = (&inside.store, &inside.system.process().ids);
    let account = desk.customer.account.parse().unwrap();
    let account = store.account(account).wait().unwrap().unwrap();
    let newest = LEDGER.page(store, &account.id, 1, None).wait();
    let newest = newest.unwrap().items.remove(0);
    let line = |_| {
        let entry = LedgerEntry {
            id: TransactionId(ids.next(newest.created_at)),
            ..newest.clone()
        };
        store.open_account(&account, Some(&entry)).remove(1)
    };
    let lines = 101_500;
    let writes = (0..lines).map(line).collect();
    commit_and_wait(&**store.engine(), writes).unwrap();
    let path = format!("/accounts/{}/ledger.csv", account.id);
    let file = desk.browser.call(&desk.server, "GET", &path).expect(200);
    // One more for the header, one for the opening deposit.
    assert_eq!(file.text().lines().count(), lines + 2);
}

#[test]
fn the_request_of_an_attempt_is_shown_with_its_signatures() {
    let desk = Desk::new(Options::new().allow_loopback());
    let hooks = format!("/accounts/{}/webhooks", desk.customer.account);
    // Nothing listens there; the service still records the request.
    let body = json!({"url": "http://127.0.0.1:9/"});
    let hook = desk
        .server
        .admin("POST", &hooks)
        .json(&body)
        .expect(201)
        .json();
    let job = desk.make(json!({"metadata": {"order": 17, "_own": true}}));
    let sent = until_some("the first attempt has ended", || {
        let sent = desk.get(&format!("/deliveries/{job}/sent"))["data"][0].clone();
        (!sent.is_null()).then_some(sent)
    });
    let body: Value = serde_json::from_str(sent["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["job_id"], job);
    assert_eq!(body["metadata"], json!({"order": 17}));
    assert_eq!(sent["is_whole"], true);
    let headers = &sent["headers"];
    assert_eq!(headers["webhook-id"], job);
    assert_eq!(headers["X-Timestamp"], headers["webhook-timestamp"]);
    let secret = WebhookSecret::parse(hook["secret"].as_str().unwrap()).unwrap();
    let moment = headers["X-Timestamp"].as_str().unwrap().parse().unwrap();
    let text = sent["body"].as_str().unwrap();
    let signature = x_signature(&secret, moment, text);
    assert_eq!(headers["X-Signature"], signature);
}

#[test]
fn accounts_are_searched_and_sorted_over_all_pages() {
    let desk = Desk::new(Options::new());
    let open = |name: &str, balance: &str| {
        let body = json!({"name": name, "balance": balance});
        desk.server
            .admin("POST", "/accounts")
            .json(&body)
            .expect(201)
            .json()
    };
    let id = open("Zebra", "30")["account_id"].clone();
    open("alpha", "20");
    open("zebra", "0.10");
    let list = |query: &str| {
        let call = desk
            .browser
            .call(&desk.server, "GET", &format!("/accounts?{query}"));
        call.expect(200).json()
    };
    let names = |page: &Value| {
        let name = |it: &Value| it["name"].as_str().unwrap().to_owned();
        page["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(name)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&list("search=ZEB")), ["Zebra", "zebra"]);
    assert_eq!(names(&list("name=zebra")), ["Zebra", "zebra"]);
    assert_eq!(names(&list("name=zeb")), Vec::<String>::new());
    let part = &id.as_str().unwrap()[20..];
    assert_eq!(names(&list(&format!("search={part}"))), ["Zebra"]);
    let highest = list("sort=highest_balance&limit=2");
    assert_eq!(names(&highest), ["Zebra", "alpha"]);
    let next = highest["next_cursor"].as_str().unwrap();
    let rest = list(&format!("sort=highest_balance&cursor={next}"));
    assert_eq!(names(&rest)[1..], ["zebra"]);
    assert_eq!(rest["next_cursor"], Value::Null);
    assert_eq!(names(&list("sort=lowest_balance"))[0], "zebra");
    assert_eq!(
        names(&list("sort=name")),
        ["a customer", "alpha", "Zebra", "zebra"]
    );
    assert_eq!(rest["data"][1]["low"], true);
    assert_eq!(
        rest["data"][1]["shares_name"], false,
        "names differ in case"
    );
    open("alpha", "1");
    assert_eq!(list("search=alpha")["data"][0]["shares_name"], true);
    let call = desk.browser.call(&desk.server, "GET", "/accounts?sort=age");
    call.expect(422);
}
