//! A receiver of webhooks in this process, which notes the job of each delivery.

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
    /// Where webhooks are sent to, at any path.
    pub address: SocketAddr,
    noted: Arc<Noted>,
}

#[derive(Default)]
struct Noted {
    count: AtomicU64,
    /// Deliveries of each job.
    jobs: Mutex<HashMap<String, u32>>,
}

impl Receipts {
    /// Starts the receiver on a thread of its own, where it serves until the process ends.
    pub fn start() -> anyhow::Result<Arc<Self>> {
        let noted = Arc::new(Noted::default());
        let (send, started) = mpsc::channel();
        let shared = web::Data::from(Arc::clone(&noted));
        thread::spawn(move || serve(shared, &send));
        let address = started.recv().context("the receiver did not start")?;
        Ok(Arc::new(Self { address, noted }))
    }

    /// Deliveries so far.
    pub fn count(&self) -> u64 {
        self.noted.count.load(Ordering::Relaxed)
    }

    /// Jobs so far.
    pub fn jobs(&self) -> usize {
        self.noted.jobs.lock().len()
    }

    /// Deliveries of each job.
    pub fn take(&self) -> HashMap<String, u32> {
        std::mem::take(&mut self.noted.jobs.lock())
    }
}

fn serve(noted: web::Data<Noted>, send: &mpsc::Sender<SocketAddr>) -> anyhow::Result<()> {
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

async fn note(body: web::Bytes, noted: web::Data<Noted>) -> HttpResponse {
    let Some(job) = wire::job_id(&body) else {
        return HttpResponse::BadRequest().finish();
    };
    *noted.jobs.lock().entry(job.to_owned()).or_default() += 1;
    noted.count.fetch_add(1, Ordering::Relaxed);
    HttpResponse::NoContent().finish()
}
