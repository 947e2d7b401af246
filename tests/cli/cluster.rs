//! Three processes as one service: they share a database and a bucket, and HAProxy sends each call to the next one.

use crate::bucket::Bucket;
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};
use tempfile::TempDir;
use tintype_postgres::testing::{Database, free_port, server};

/// The variable with the number of nodes of a test service.
const NODES: &str = "TINTYPE_TEST_NODES";
/// The configuration that deployments start from. It has three nodes.
const BALANCER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/proxy/haproxy.cfg");
const BUCKET: &str = "s3://pictures/here";
/// Far longer than a busy machine lets a process stand still.
const DEAD_AFTER_SECONDS: u64 = 60;
const TIMEOUT: Duration = Duration::from_secs(60);

/// What the nodes of one service share. Their processes must end before it is dropped.
pub struct Cluster {
    /// The address of the load balancer.
    address: String,
    /// The addresses at which the nodes must listen.
    pub nodes: [String; 3],
    database: Database<'static>,
    bucket: Bucket,
    directory: TempDir,
    balancer: Option<Child>,
}

impl Cluster {
    /// `None` if the environment does not ask for three nodes.
    pub fn requested() -> Option<Self> {
        let nodes = env::var(NODES).ok()?;
        assert!(["1", "3"].contains(&nodes.as_str()), "{NODES} is {nodes}");
        (nodes == "3").then(Self::new)
    }

    fn new() -> Self {
        let server = server().expect("PostgreSQL's programs are not there");
        let [address, nodes @ ..] = [(); 4].map(|()| format!("127.0.0.1:{}", free_port()));
        Self {
            address,
            nodes,
            database: server.database(),
            bucket: Bucket::start(),
            directory: tempfile::tempdir().expect("a directory"),
            balancer: None,
        }
    }

    /// The environment of the nodes, and of commands on their records.
    pub fn variables(&self) -> Vec<(&str, String)> {
        let owned = |(name, value): (&'static str, &str)| (name, value.to_owned());
        let bucket = self.bucket.variables().map(owned);
        let dead_after = DEAD_AFTER_SECONDS.to_string();
        let own = [
            ("TINTYPE__CLUSTER__DEAD_AFTER_SECONDS", dead_after),
            ("TINTYPE__SERVER__DRAIN_SECONDS", "0".into()),
            (
                "TINTYPE_SECRET",
                "what-the-nodes-of-a-test-have-in-common".into(),
            ),
            ("TINTYPE__STORAGE__URL", self.database.url()),
            ("TINTYPE__STORAGE__OBJECTS", BUCKET.into()),
            (
                "TINTYPE__SERVER__PUBLIC_URL",
                format!("http://{}", self.address),
            ),
            ("TINTYPE__SERVER__TRUSTED_PROXIES", "[\"127.0.0.1\"]".into()),
        ];
        own.into_iter().chain(bucket).collect()
    }

    /// Starts the load balancer before the nodes, which are all ready.
    pub fn balance(&mut self) {
        let mut text = fs::read_to_string(BALANCER).expect("its configuration");
        let mut set = |from: &str, to: &str, places: usize| {
            assert_eq!(text.matches(from).count(), places, "{from} in {text}");
            text = text.replace(from, to);
        };
        set("bind 127.0.0.1:8000", &format!("bind {}", self.address), 1);
        set("balance leastconn", "balance roundrobin", 1);
        let missed_checks = format!("fall {DEAD_AFTER_SECONDS}");
        set("fall 2", &missed_checks, 1);
        for (port, node) in (8081..).zip(&self.nodes) {
            // For calls, and for the panel.
            set(&format!("127.0.0.1:{port}"), node, 2);
        }
        let path = self.directory.path().join("haproxy.cfg");
        fs::write(&path, text).expect("a file");
        let process = Command::new("haproxy")
            .arg("-f")
            .arg(&path)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let process = process.expect("haproxy: install the package of this name");
        let process = self.balancer.insert(process);
        let deadline = Instant::now() + TIMEOUT;
        while TcpStream::connect(&self.address).is_err() {
            let ended = process.try_wait().expect("its status");
            assert_eq!(ended, None, "HAProxy has ended");
            assert!(Instant::now() < deadline, "HAProxy does not listen");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(balancer) = &mut self.balancer {
            // It may have ended already.
            let _ = balancer.kill();
            let _ = balancer.wait();
        }
    }
}
