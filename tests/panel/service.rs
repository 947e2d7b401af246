//! The service as its users start it: the binary on an empty directory, or several nodes if the environment asks for them.

use crate::cluster::Cluster;
use crate::running::Running;
use object_store::ObjectStoreExt as _;
use object_store::aws::AmazonS3Builder;
use std::fs;
use std::process::Command;
use tempfile::TempDir;

pub const TOKEN: &str = "the-admin-token-of-the-browser-tests";

/// A running service. Dropping it kills its processes.
pub struct Service {
    pub url: String,
    // Dropped before what the processes use.
    processes: Vec<Running>,
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
            let process = Running::start(command);
            service.url = process.line("the URL of the panel", |line| {
                let url = line.strip_prefix("Panel: ")?;
                url.strip_suffix("/panel").map(str::to_owned)
            });
            service.processes.push(process);
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
            .current_dir(self.dir.path());
        command
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
        self.processes.clear();
        self.cluster = None;
    }
}
