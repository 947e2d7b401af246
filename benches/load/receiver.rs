//! A webhook receiver that answers at once or never, and records the delay of each delivery after its due time.

use crate::stdin;
use actix_web::{App, HttpResponse, HttpServer, web};
use anyhow::Context as _;
use parking_lot::Mutex;
use std::time::Instant;
use tintype_storage::domain::ids::moment_of;
use tintype_storage::domain::time::Timestamp;
use uuid::Uuid;

/// The deliveries at the receivers that answer.
#[derive(Default)]
struct Arrivals {
    first: Option<Instant>,
    last: Option<Instant>,
    delays: Vec<i64>,
}

impl Arrivals {
    fn note(&mut self, body: &[u8]) {
        let now = Instant::now();
        self.first.get_or_insert(now);
        self.last = Some(now);
        if let Some(due) = due(body) {
            self.delays.push(Timestamp::now().millis() - due.millis());
        }
    }

    /// Count, rate per second, and the median and 99th percentile of the delays in milliseconds.
    fn report(&mut self) -> String {
        self.delays.sort_unstable();
        let count = self.delays.len();
        let took = match (self.first, self.last) {
            (Some(first), Some(last)) => (last - first).as_secs_f64(),
            _ => 0.0,
        };
        let at = |share: f64| {
            let index = ((count as f64 * share) as usize).min(count.saturating_sub(1));
            self.delays.get(index).copied().unwrap_or(0)
        };
        let rate = if took > 0.0 { count as f64 / took } else { 0.0 };
        format!("{count} {rate:.0} {} {}", at(0.5), at(0.99))
    }
}

/// The jobs of this benchmark start, end and become due in one millisecond, which their ids carry.
fn due(body: &[u8]) -> Option<Timestamp> {
    let name = b"\"job_id\":\"";
    let at = body.windows(name.len()).position(|it| it == name)? + name.len();
    moment_of(&Uuid::try_parse_ascii(body.get(at..at + 36)?).ok()?)
}

/// Serves until standard input closes. `GET /report` returns the figures.
pub fn run() -> anyhow::Result<()> {
    actix_web::rt::System::new().block_on(async {
        let arrivals = web::Data::new(Mutex::new(Arrivals::default()));
        let server = HttpServer::new(move || {
            App::new()
                .app_data(arrivals.clone())
                .route("/ok/{n}", web::post().to(answer))
                .route("/hang/{n}", web::post().to(hang))
                .route("/report", web::get().to(report))
        });
        let server = server
            .workers(1)
            .disable_signals()
            .shutdown_timeout(0)
            .bind("127.0.0.1:0")?;
        println!("{}", server.addrs().first().context("no address")?);
        let server = server.run();
        let handle = server.handle();
        actix_web::rt::spawn(server);
        stdin::wait_until_closed().await;
        handle.stop(false).await;
        Ok(())
    })
}

async fn answer(body: web::Bytes, arrivals: web::Data<Mutex<Arrivals>>) -> HttpResponse {
    arrivals.lock().note(&body);
    HttpResponse::NoContent().finish()
}

async fn hang() -> HttpResponse {
    std::future::pending().await
}

async fn report(arrivals: web::Data<Mutex<Arrivals>>) -> String {
    arrivals.lock().report()
}
