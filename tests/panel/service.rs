//! The service as its users start it: the binary on an empty directory.

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const TOKEN: &str = "the-admin-token-of-the-browser-tests";
const PATIENCE: Duration = Duration::from_secs(120);

/// A running service. Dropping it kills the process.
pub struct Service {
    pub url: String,
    child: Child,
    dir: TempDir,
}

impl Service {
    /// Starts the service and waits until it prints its URL.
    pub fn start(settings: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let said = dir.path().join("said");
        let child = Command::new(env!("CARGO_BIN_EXE_tintype"))
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(dir.path().join("data"))
            .env("TINTYPE_ADMIN_TOKEN", TOKEN)
            .env("TINTYPE__EGRESS__ALLOW", "[\"127.0.0.0/8\"]")
            .envs(settings.iter().copied())
            .current_dir(dir.path())
            .stdin(Stdio::null())
            .stdout(File::create(&said).expect("a file"))
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary");
        let deadline = Instant::now() + PATIENCE;
        let url = loop {
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
        Self { url, child, dir }
    }
}

impl Service {
    /// Deletes the image of a job, as retention does.
    pub fn remove_picture(&self, job: &str) {
        let path = format!("data/objects/results/{job}.png");
        fs::remove_file(self.dir.path().join(path)).expect("a picture");
    }

    /// Kills the process.
    pub fn end(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.end();
    }
}
