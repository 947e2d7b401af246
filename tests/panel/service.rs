//! The service as its users start it: the binary on an empty directory, or several nodes if the environment asks for them.

use crate::cluster::Cluster;
use object_store::ObjectStoreExt as _;
use object_store::aws::AmazonS3Builder;
use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const TOKEN: &str = "the-admin-token-of-the-browser-tests";
const PATIENCE: Duration = Duration::from_secs(120);

/// A running service. Dropping it kills its processes.
pub struct Service {
    pub url: String,
    processes: Vec<Child>,
    cluster: Option<Cluster>,
    dir: TempDir,
}

impl Service {
    /// Starts the service and waits until it prints its URL.
    pub fn start(settings: &[(&str, &str)]) -> Self {
        Self::start_with(Cluster::requested(), settings)
    }

    /// Starts a single process whatever the environment asks for.
    pub fn start_alone(settings: &[(&str, &str)]) -> Self {
        Self::start_with(None, settings)
    }

    fn start_with(mut cluster: Option<Cluster>, settings: &[(&str, &str)]) -> Self {
        let mut service = Self {
            url: String::new(),
            processes: Vec::new(),
            cluster: None,
            dir: tempfile::tempdir().expect("a temporary directory"),
        };
        let listen = match &cluster {
            Some(cluster) => cluster.nodes.to_vec(),
            None => vec!["127.0.0.1:0".to_owned()],
        };
        for listen in listen {
            let mut command = service.serve(&listen);
            command
                .envs(cluster.iter().flat_map(Cluster::variables))
                .envs(settings.iter().copied());
            service.start_process(command);
        }
        if let Some(cluster) = &mut cluster {
            cluster.balance();
        }
        service.cluster = cluster;
        service
    }

    fn serve(&self, listen: &str) -> Command {
        let number = self.processes.len();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tintype"));
        command
            .args(["serve", "--listen", listen, "--data-dir"])
            .arg(self.dir.path().join(format!("data-{number}")))
            .env("TINTYPE_ADMIN_TOKEN", TOKEN)
            .env("TINTYPE__EGRESS__ALLOW", "[\"127.0.0.0/8\"]")
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    fn start_process(&mut self, mut command: Command) {
        let said = self.dir.path().join("said");
        command.stdout(File::create(&said).expect("a file"));
        self.processes.push(command.spawn().expect("the binary"));
        let deadline = Instant::now() + PATIENCE;
        self.url = loop {
            let text = fs::read_to_string(&said).unwrap_or_default();
            let panel = text.lines().find_map(|line| {
                let url = line.strip_prefix("Panel: ")?;
                url.strip_suffix("/panel").map(str::to_owned)
            });
            match panel {
                Some(url) => break url,
                None => assert!(Instant::now() < deadline, "the service said: {text}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        };
    }

    /// Deletes the image of a job that had one run, as retention does.
    pub async fn remove_image(&self, job: &str) {
        match &self.cluster {
            Some(cluster) => {
                // Another test may have installed it.
                let _ = rustls::crypto::ring::default_provider().install_default();
                let mut bucket = AmazonS3Builder::new().with_bucket_name("pictures");
                for (name, value) in cluster.variables() {
                    if let Ok(key) = name.to_lowercase().parse() {
                        bucket = bucket.with_config(key, value);
                    }
                }
                let key = format!("here/results/{job}.1.png");
                let bucket = bucket.build().expect("a bucket");
                bucket.delete(&key.into()).await.expect("an image");
            }
            None => {
                let path = format!("data-0/objects/results/{job}.png");
                fs::remove_file(self.dir.path().join(path)).expect("an image");
            }
        }
    }

    /// Kills the processes.
    pub fn end(&mut self) {
        for process in &mut self.processes {
            // It may have exited already.
            let _ = process.kill();
            let _ = process.wait();
        }
        self.cluster = None;
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.end();
    }
}
