//! Counts and durations of calls by route, method and status.
//!
//! Each worker has its own counters, in its own cache lines, and finds them in its own table without a lock. It registers them with the
//! reader at the first call of a route. Labels are route patterns, so callers cannot create new ones.

use super::exposition::Exposition;
use actix_web::http::{Method, StatusCode};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tintype_storage::fast_hash::HashMap;
use tintype_storage::histogram::{Histogram, Reading, SHORT_DURATIONS};

/// Statuses with their own label; others count as `other`.
const STATUSES: [u16; 29] = [
    200, 201, 202, 204, 206, 301, 302, 303, 304, 307, 308, 400, 401, 402, 403, 404, 405, 408, 409,
    410, 413, 415, 416, 422, 429, 500, 502, 503, 504,
];
/// Methods with their own label; others count as `other`.
const METHODS: [&str; 8] = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other",
];
/// The label of a call without a matching route.
const NO_ROUTE: &str = "none";

/// The counters of one worker for one route and method.
struct Counts {
    statuses: [AtomicU64; STATUSES.len() + 1],
    times: Histogram,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            statuses: std::array::from_fn(|_| AtomicU64::new(0)),
            times: Histogram::new(SHORT_DURATIONS),
        }
    }
}

/// Counts from which the calls in flight are computed.
#[derive(Default)]
struct Traffic {
    begun: AtomicU64,
    ended: AtomicU64,
    abandoned: AtomicU64,
}

/// The counters of all workers.
#[derive(Default)]
pub struct Requests {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    /// Route, method, counters.
    counts: Vec<(String, &'static str, Arc<Counts>)>,
    traffic: Vec<Arc<Traffic>>,
}

impl Requests {
    /// Returns the counters of a new worker. Each worker calls it once.
    pub fn worker(&self) -> WorkerMetrics {
        let traffic = Arc::new(Traffic::default());
        self.shared.lock().traffic.push(Arc::clone(&traffic));
        WorkerMetrics(Rc::new(WorkerCounts {
            known: RefCell::default(),
            traffic,
            shared: Arc::clone(&self.shared),
        }))
    }

    pub(super) fn collect(&self, out: &mut Exposition) {
        let shared = self.shared.lock();
        let mut sums: BTreeMap<(&str, &str), (Vec<u64>, Reading)> = BTreeMap::new();
        for (route, method, counts) in &shared.counts {
            let sum = sums.entry((route, method)).or_default();
            sum.0.resize(counts.statuses.len(), 0);
            for (sum, count) in sum.0.iter_mut().zip(&counts.statuses) {
                *sum += count.load(Ordering::Relaxed);
            }
            sum.1.merge(&counts.times.read());
        }
        let mut family = out.counter(
            "tintype_http_requests_total",
            "Answered calls by route pattern.",
        );
        for ((route, method), (statuses, _)) in &sums {
            for (at, count) in statuses.iter().enumerate().filter(|(_, count)| **count > 0) {
                let status = STATUSES.get(at).map(u16::to_string);
                let status = status.as_deref().unwrap_or("other");
                let labels = [("route", *route), ("method", *method), ("status", status)];
                family.value(&labels, count);
            }
        }
        let mut family = out.histogram(
            "tintype_http_request_duration_seconds",
            "Time from the head of a call to the head of its answer.",
        );
        for ((route, method), (_, times)) in &sums {
            family.seconds(&[("route", *route), ("method", *method)], times);
        }
        let sum = |of: fn(&Traffic) -> &AtomicU64| -> u64 {
            let load = |it: &Arc<Traffic>| of(it).load(Ordering::Relaxed);
            shared.traffic.iter().map(load).sum()
        };
        // In this order, a call that ends meanwhile cannot make the difference negative.
        let abandoned = sum(|it| &it.abandoned);
        let over = sum(|it| &it.ended) + abandoned;
        let begun = sum(|it| &it.begun);
        out.counter(
            "tintype_http_requests_abandoned_total",
            "Calls whose callers disconnected before the answer.",
        )
        .value(&[], abandoned);
        out.gauge(
            "tintype_http_requests_in_flight",
            "Calls in flight, including those that wait for a job.",
        )
        .value(&[], begun.saturating_sub(over));
    }
}

/// The counters of one worker. Clones share them.
#[derive(Clone)]
pub struct WorkerMetrics(Rc<WorkerCounts>);

struct WorkerCounts {
    known: RefCell<HashMap<String, [Option<Arc<Counts>>; METHODS.len()]>>,
    traffic: Arc<Traffic>,
    shared: Arc<Mutex<Shared>>,
}

impl WorkerMetrics {
    pub fn begin(&self) -> CallGuard {
        self.0.traffic.begun.fetch_add(1, Ordering::Relaxed);
        CallGuard {
            counts: Rc::clone(&self.0),
            has_ended: false,
        }
    }
}

impl WorkerCounts {
    fn count(&self, route: &str, method: &Method, add: impl FnOnce(&Counts)) {
        let at = method_index(method);
        if let Some(Some(counts)) = self.known.borrow().get(route).map(|it| &it[at]) {
            return add(counts);
        }
        let counts = Arc::new(Counts::default());
        add(&counts);
        let listed = (route_label(route), METHODS[at], Arc::clone(&counts));
        self.shared.lock().counts.push(listed);
        let mut known = self.known.borrow_mut();
        known.entry(route.to_owned()).or_default()[at] = Some(counts);
    }
}

/// A call in flight. Dropping it before [`end`](Self::end) counts the call as abandoned.
pub struct CallGuard {
    counts: Rc<WorkerCounts>,
    has_ended: bool,
}

impl CallGuard {
    /// `route` is the pattern of the matching route, if any.
    pub fn end(mut self, route: Option<&str>, method: &Method, status: StatusCode, took: Duration) {
        self.has_ended = true;
        self.counts.traffic.ended.fetch_add(1, Ordering::Relaxed);
        self.counts
            .count(route.unwrap_or(NO_ROUTE), method, |counts| {
                counts.statuses[status_index(status)].fetch_add(1, Ordering::Relaxed);
                counts.times.add_duration(took);
            });
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        if !self.has_ended {
            self.counts
                .traffic
                .abandoned
                .fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn status_index(status: StatusCode) -> usize {
    let status = status.as_u16();
    let found = STATUSES.iter().position(|it| *it == status);
    found.unwrap_or(STATUSES.len())
}

fn method_index(method: &Method) -> usize {
    let found = METHODS.iter().position(|it| *it == method.as_str());
    found.unwrap_or(METHODS.len() - 1)
}

/// Removes the regular expressions of parameters: `/{version:v1|v1beta}/models` becomes `/{version}/models`.
pub fn route_label(pattern: &str) -> String {
    let mut label = String::with_capacity(pattern.len());
    let (mut depth, mut in_expression) = (0, false);
    for character in pattern.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ':' if depth > 0 => in_expression = true,
            _ => {}
        }
        in_expression &= depth > 0;
        if !in_expression {
            label.push(character);
        }
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::middleware;
    use crate::web::problem::catch_panic::CatchPanic;
    use actix_web::middleware::from_fn;
    use actix_web::test::{TestRequest, call_service, init_service};
    use actix_web::{App, HttpResponse, web};

    const TOOK: Duration = Duration::from_millis(1);

    fn exported(requests: &Requests) -> String {
        let mut exposition = Exposition::default();
        requests.collect(&mut exposition);
        exposition.into_text()
    }

    #[test]
    fn workers_add_up_by_route_method_and_status() {
        let requests = Requests::default();
        let (first, second) = (requests.worker(), requests.worker());
        let route = Some("/api/v1/jobs/{job_id}");
        first.begin().end(route, &Method::GET, StatusCode::OK, TOOK);
        second
            .begin()
            .end(route, &Method::GET, StatusCode::OK, TOOK);
        second
            .begin()
            .end(route, &Method::GET, StatusCode::NOT_FOUND, TOOK);
        second
            .begin()
            .end(route, &Method::DELETE, StatusCode::OK, TOOK);
        let text = exported(&requests);
        let line = |method: &str, status: &str, count: u64| {
            format!(
                "tintype_http_requests_total{{route=\"/api/v1/jobs/{{job_id}}\",method=\"{method}\",status=\"{status}\"}} {count}\n"
            )
        };
        for expected in [
            line("GET", "200", 2),
            line("GET", "404", 1),
            line("DELETE", "200", 1),
        ] {
            assert!(text.contains(&expected), "{expected}{text}");
        }
        assert!(text.contains(
            "duration_seconds_count{route=\"/api/v1/jobs/{job_id}\",method=\"GET\"} 3\n"
        ));
    }

    #[test]
    fn callers_cannot_create_labels() {
        let requests = Requests::default();
        let worker = requests.worker();
        let odd = Method::from_bytes(b"BREW").unwrap();
        let status = StatusCode::from_u16(418).unwrap();
        worker.begin().end(None, &odd, status, TOOK);
        let expected = "requests_total{route=\"none\",method=\"other\",status=\"other\"} 1\n";
        assert!(exported(&requests).contains(expected));
    }

    #[actix_web::test]
    async fn a_handler_that_panics_is_counted_under_its_route() {
        async fn panicking() -> HttpResponse {
            panic!("as a fault would")
        }
        let requests = Requests::default();
        let app = App::new()
            .app_data(requests.worker())
            .wrap(from_fn(middleware::wrap))
            .route("/v1/images/{what}", web::post().to(CatchPanic(panicking)));
        let app = init_service(app).await;
        let call = TestRequest::post().uri("/v1/images/edits").to_request();
        assert_eq!(call_service(&app, call).await.status(), 500);
        let expected =
            "requests_total{route=\"/v1/images/{what}\",method=\"POST\",status=\"500\"} 1\n";
        let text = exported(&requests);
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn a_call_is_in_flight_until_it_ends_or_its_caller_leaves() {
        let requests = Requests::default();
        let worker = requests.worker();
        let (answered, left) = (worker.begin(), worker.begin());
        let in_flight = |count: u64| {
            let expected = format!("tintype_http_requests_in_flight {count}\n");
            assert!(exported(&requests).contains(&expected), "{count}");
        };
        in_flight(2);
        answered.end(None, &Method::GET, StatusCode::OK, TOOK);
        in_flight(1);
        drop(left);
        in_flight(0);
        assert!(exported(&requests).contains("tintype_http_requests_abandoned_total 1\n"));
    }

    #[test]
    fn expressions_of_parameters_are_removed() {
        for (pattern, expected) in [
            ("/api/v1/jobs/{job_id}", "/api/v1/jobs/{job_id}"),
            (
                "/{version:v1|v1beta}/models/{model:.+}",
                "/{version}/models/{model}",
            ),
            ("/v1/images{rest:(/.*)?}", "/v1/images{rest}"),
            ("/a:b/{c:[0-9]{2}}/d", "/a:b/{c}/d"),
        ] {
            assert_eq!(route_label(pattern), expected);
        }
    }
}
