//! Prompt search reads the index for indexed jobs and the records for the rest, with the same result.

use crate::support::{Browser, Customer, Options, Server};
use serde_json::Value;
use std::time::Duration;
use tintype::application::jobs::search_index::SearchIndexer;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::Job;
use tintype_storage::domain::search_block::MAX_JOBS;
use tintype_storage::engine::{Wait as _, commit_and_wait};
use tintype_storage::store::tables::ENDED_JOBS;
use tintype_storage::testing::samples;
use uuid::Uuid;

/// Builds the search index as far as it can.
pub fn index(server: &Server) {
    let runtime = actix_web::rt::System::new();
    runtime.block_on(async {
        let mut indexer = SearchIndexer::default();
        let core = server.inside();
        indexer.begin_round(core).await.unwrap();
        while !indexer.is_done() {
            indexer.turn(core).await.unwrap();
        }
    });
}

struct Desk {
    server: Server,
    customer: Customer,
    browser: Browser,
    model: Job,
    /// Newest first.
    prompts: Vec<String>,
}

impl Desk {
    /// A store written before the index existed, with jobs of these prompts, oldest first.
    fn with(prompts: impl IntoIterator<Item = String>) -> Self {
        let server = Server::with(Options::new());
        let customer = server.customer("10");
        let id = server.create(&customer);
        server.job_once(&customer, &id, "done");
        let account = customer.account.parse().unwrap();
        let model = server.inside().store.job(account, id.parse().unwrap());
        let model = model.wait().unwrap().unwrap();
        let browser = server.operators_browser();
        let mut desk = Self {
            server,
            customer,
            browser,
            model,
            prompts: Vec::new(),
        };
        desk.add(0, prompts);
        desk
    }

    /// Adds ended jobs whose ids start at `from`, all older than the first job, within its millisecond.
    fn add(&mut self, from: u128, prompts: impl IntoIterator<Item = String>) {
        let first = self.model.id.0.as_u128() - (1 << 40) + from;
        let mut writes = Vec::new();
        for (at, prompt) in prompts.into_iter().enumerate() {
            let job = Job {
                id: JobId(Uuid::from_u128(first + at as u128)),
                prompt: samples::prompt(prompt.clone()),
                ..self.model.clone()
            };
            writes.push(ENDED_JOBS.put(&(job.account, job.id), &job));
            self.prompts.insert(0, prompt);
        }
        let store = &self.server.inside().store;
        commit_and_wait(&**store.engine(), writes).unwrap();
    }

    fn page(&self, query: &str) -> Value {
        let path = format!("/accounts/{}/jobs?{query}", self.customer.account);
        let call = self.browser.call(&self.server, "GET", &path);
        call.expect(200).json()
    }

    /// All pages of a search, newest first.
    fn all(&self, query: &str) -> Vec<String> {
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = self.page(&format!("{query}{cursor}"));
            let prompt = |it: &Value| it["prompt"].as_str().unwrap().to_owned();
            found.extend(page["data"].as_array().unwrap().iter().map(prompt));
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return found,
            }
        }
    }

    /// Ages the jobs until the index accepts them.
    fn age(&self) {
        self.server.clock.advance(Duration::from_secs(11));
    }

    /// Begins to build the index while another change holds the lock of content, and that change deletes the oldest job.
    fn index_while_the_oldest_job_is_deleted(&self) {
        let oldest = JobId(Uuid::from_u128(self.model.id.0.as_u128() - (1 << 40)));
        let delete = vec![ENDED_JOBS.delete(&(self.model.account, oldest))];
        let runtime = actix_web::rt::System::new();
        runtime.block_on(async {
            let core = self.server.inside();
            let guard = core.locks.content.lock().await.expect("the lock");
            let mut indexer = SearchIndexer::default();
            indexer.begin_round(core).await.unwrap();
            let deletion = async {
                commit_and_wait(&**core.store.engine(), delete).unwrap();
                drop(guard);
            };
            let (indexed, ()) = tokio::join!(indexer.turn(core), deletion);
            indexed.unwrap();
        });
    }

    fn last_indexed(&self) -> Option<JobId> {
        let store = &self.server.inside().store;
        store.search_index_end(self.model.account).wait().unwrap()
    }
}

#[test]
fn a_store_without_an_index_gets_one_and_is_searched_by_it() {
    let number = |at: usize| match at {
        7 => "a zebra".to_owned(),
        at => format!("picture {at}"),
    };
    let desk = Desk::with((0..20_000).map(number));
    // Without the index, a page reads a bounded number of records, says so, and continues.
    let page = desk.page("prompt=zebra");
    assert_eq!(page["data"].as_array().unwrap().len(), 0);
    assert!(page["next_cursor"].is_string());
    assert_eq!(page["scanned"], 10_000);
    assert_eq!(page["index_behind"], serde_json::json!({"until": null}));
    assert_eq!(desk.all("prompt=zebra"), ["a zebra"]);
    desk.age();
    index(&desk.server);
    // With the index, the search finds the one record at once.
    let page = desk.page("prompt=ZEBRA");
    assert_eq!(page["data"][0]["prompt"], "a zebra");
    assert_eq!(page["next_cursor"], Value::Null);
    assert_eq!(page.get("index_behind"), None);
    // The search finds parts of a word, and rules a missing word out at once.
    assert_eq!(desk.all("prompt=ebr"), ["a zebra"]);
    let page = desk.page("prompt=okapi");
    assert_eq!(
        (page["data"].as_array().unwrap().len(), &page["next_cursor"]),
        (0, &Value::Null)
    );
}

#[test]
fn a_search_returns_the_same_jobs_with_and_without_the_index() {
    let words = ["fox", "owl", "foxglove", "red", "blue", "Reed", "night"];
    // A prompt derived from the job's number, without a pattern that aligns with the blocks.
    let prompt = |at: usize| {
        let hash = at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7;
        let picked = words
            .iter()
            .enumerate()
            .filter(|(bit, _)| hash >> (bit * 5) & 7 == 0);
        let picked: Vec<&str> = picked.map(|(_, word)| *word).collect();
        format!("{} {at}", picked.join(" "))
    };
    let mut desk = Desk::with((0..3_000).map(prompt));
    let searches = [
        "fox",
        "glove",
        "red owl",
        "night fox blue",
        "reed RED",
        "299",
        "fox 17",
        "x",
    ];
    for indexed in [false, true] {
        if indexed {
            desk.age();
            index(&desk.server);
            assert!(desk.last_indexed().is_some());
            // The search also finds jobs newer than the index.
            desk.add(1 << 30, (3_000..3_100).map(prompt));
        }
        for search in searches {
            let wanted: Vec<String> = search.split(' ').map(str::to_lowercase).collect();
            let fits = |prompt: &&String| {
                let prompt = prompt.to_lowercase();
                wanted.iter().all(|word| prompt.contains(word))
            };
            let expected: Vec<String> = desk.prompts.iter().filter(fits).cloned().collect();
            let query = search.replace(' ', "+");
            for limit in [7, 100] {
                let found = desk.all(&format!("limit={limit}&status=done&prompt={query}"));
                // The first job is the newest, and a fox.
                let own = found.len() - expected.len();
                assert!(own <= 1, "{search}");
                assert!(found[own..] == expected[..], "{search}, {limit} a page");
            }
        }
    }
}

#[test]
fn a_block_has_no_words_of_jobs_that_were_deleted_while_it_was_built() {
    // Together with the first job they fill a block.
    let desk = Desk::with((0..MAX_JOBS - 1).map(|at| format!("picture {at}")));
    desk.age();
    desk.index_while_the_oldest_job_is_deleted();
    assert_eq!(desk.last_indexed(), None);
}

#[test]
fn young_jobs_and_those_that_fill_no_block_are_not_indexed() {
    let prompt = |at: usize| format!("picture {at}");
    // Together with the first job they fill a block.
    let desk = Desk::with((0..MAX_JOBS - 1).map(prompt));
    index(&desk.server);
    assert_eq!(desk.last_indexed(), None);
    desk.age();
    index(&desk.server);
    assert_eq!(desk.last_indexed(), Some(desk.model.id));
    assert_eq!(desk.all("prompt=picture+254"), ["picture 254"]);

    let desk = Desk::with((0..MAX_JOBS - 2).map(prompt));
    desk.age();
    index(&desk.server);
    assert_eq!(desk.last_indexed(), None);
    assert_eq!(desk.all("prompt=picture+253"), ["picture 253"]);
}
