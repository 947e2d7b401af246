//! A webhook receiver in this process that records the job of each delivery.

use crate::wire;
use actix_web::{App, HttpResponse, HttpServer, web};
use anyhow::Context as _;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;

/// The deliveries so far.
pub struct Receipts {
    /// The receiver; any path works.
    pub address: SocketAddr,
    noted: Arc<ReceiptCounts>,
}

#[derive(Default)]
struct ReceiptCounts {
    count: AtomicU64,
    /// Number of deliveries per job.
    jobs: Mutex<HashMap<String, u32>>,
}

impl Receipts {
    /// Starts the receiver on its own thread, where it serves until the process ends.
    pub fn start() -> anyhow::Result<Arc<Self>> {
        let noted = Arc::new(ReceiptCounts::default());
        let (send, started) = mpsc::channel();
        let shared = web::Data::from(Arc::clone(&noted));
        thread::spawn(move || serve(shared, &send));
        let address = started.recv().context("the receiver did not start")?;
        Ok(Arc::new(Self { address, noted }))
    }

    /// Number of deliveries so far.
    pub fn count(&self) -> u64 {
        self.noted.count.load(Ordering::Relaxed)
    }

    /// Number of jobs so far.
    pub fn jobs(&self) -> usize {
        self.noted.jobs.lock().len()
    }

    /// Takes the number of deliveries per job.
    pub fn take(&self) -> HashMap<String, u32> {
        std::mem::take(&mut self.noted.jobs.lock())
    }
}

fn serve(noted: web::Data<ReceiptCounts>, send: &mpsc::Sender<SocketAddr>) -> anyhow::Result<()> {
    actix_web::rt::System::new().block_on(async {
        let server = HttpServer::new(move || {
            App::new()
                .app_data(noted.clone())
                .default_service(web::to(note))
        });
        let server = server.workers(1).disable_signals().bind("127.0.0.1:0")?;
        send.send(*server.addrs().first().context("no address")?)?;
        Ok(server.run().await?)
    })
}

async fn note(body: web::Bytes, noted: web::Data<ReceiptCounts>) -> HttpResponse {
    let Some(job) = wire::job_id(&body) else {
        return HttpResponse::BadRequest().finish();
    };
    *noted.jobs.lock().entry(job.to_owned()).or_default() += 1;
    noted.count.fetch_add(1, Ordering::Relaxed);
    HttpResponse::NoContent().finish()
}
