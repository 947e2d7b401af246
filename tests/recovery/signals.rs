//! Signals at bad moments, and a low limit of file descriptors.

use crate::client::Connection;
use crate::test_directory::{BINARY, TestDirectory, signal, until};
use std::fs;
use std::net::TcpListener;
use std::sync::mpsc;

const ROUNDS: usize = 4;

#[test]
fn hostile_091_a_kill_during_the_graceful_shutdown_loses_nothing() {
    let place = TestDirectory::with(&[
        ("JOBS__MAX_RUNS", "100"),
        ("SERVER__SHUTDOWN_GRACE_SECONDS", "300"),
    ]);
    let (mut key, mut jobs) = (None, Vec::<String>::new());
    for round in 0..ROUNDS {
        let mut service = place.serve();
        let key = key.get_or_insert_with(|| service.printed_key().expect("a key"));
        let client = service.client(key);
        for job in &jobs {
            assert_ne!(client.job(job)["status"], "failed", "round {round}");
        }
        jobs.push(client.create_slow("2K"));
        service.terminate();
        until("connections are refused", || {
            Connection::open(&client.address).err()
        });
        service.kill();
    }
    let service = place.serve();
    let client = service.client(&key.expect("a key"));
    for job in &jobs {
        client.job_when(job, "done");
    }
    assert_eq!(client.money().1, "0.00");
    service.stop();
    let verified = place.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

/// Log rotation and habit send SIGHUP. systemd does not restart a service that it has ended.
#[test]
fn a_service_without_a_terminal_survives_sighup() {
    let place = TestDirectory::new();
    let mut service = place.serve();
    let client = service.client(&service.printed_key().expect("a key"));
    signal("HUP", service.pid());
    until("the signal is logged", || {
        service.log().contains("SIGHUP is ignored").then_some(())
    });
    assert!(service.status().is_none(), "{}", service.end());
    client.money();
    service.stop();
}

#[test]
fn a_second_signal_ends_the_grace_period_and_the_run_is_not_counted() {
    let place = TestDirectory::with(&[
        ("SERVER__SHUTDOWN_GRACE_SECONDS", "3600"),
        ("JOBS__MAX_RUNS", "1"),
    ]);
    // A backend that never answers.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    silent.set_nonblocking(true).expect("a listener");
    let called = || until("the backend is called", || silent.accept().ok());
    let address = silent.local_addr().expect("an address");
    let config = format!(
        "[backends.silent]\nkind = \"openai\"\nbase_url = \"http://{address}/v1\"\n\
         [tiers.pro]\nbackends = [{{ name = \"silent\" }}]\n"
    );
    fs::write(place.path("config.toml"), config).expect("a file");
    let mut service = place.serve();
    let client = service.client(&service.printed_key().expect("a key"));
    client.create_slow("1K");
    let first_call = called();
    service.terminate();
    until("connections are refused", || {
        Connection::open(&client.address).err()
    });
    assert!(service.status().is_none(), "{}", service.end());
    let status = until("a later signal ends the service", || {
        service.terminate();
        service.status()
    });
    let log = service.log();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("stopping at once"), "{log}");
    drop(first_call);
    let mut service = place.serve();
    called();
    service.kill();
}

/// A frozen process, like a paused virtual machine: time passes only outside.
#[test]
fn hostile_094_a_frozen_process_continues_after_it_is_resumed() {
    let place = TestDirectory::new();
    let service = place.serve();
    let client = service.client(&service.printed_key().expect("a key"));
    let job = client.create_slow("2K");
    client.job_when(&job, "processing");
    signal("STOP", service.pid());
    let state = format!("/proc/{}/stat", service.pid());
    until("the process is frozen", || {
        let stat = fs::read_to_string(&state).ok()?;
        let (_, rest) = stat.rsplit_once(") ")?;
        rest.starts_with('T').then_some(())
    });
    // A call during the freeze waits, and is answered afterwards.
    let address = client.address.clone();
    let (sender, connected) = mpsc::channel();
    let waiting = std::thread::spawn(move || {
        let mut connection = Connection::open(&address).expect("the system takes it");
        sender.send(()).expect("the test goes on");
        connection
            .call("GET /healthz HTTP/1.1", "")
            .expect("an answer")
            .status
    });
    connected.recv().expect("a connection");
    signal("CONT", service.pid());
    assert_eq!(waiting.join().expect("its thread"), 200);
    client.job_when(&job, "done");
    assert_eq!(client.money(), ("99.866".into(), "0.00".into()));
    service.stop();
}

#[test]
fn hostile_119_with_few_descriptors_the_service_recovers_once_they_are_free() {
    let place = TestDirectory::new();
    let mut command = place.command("sh");
    command.args(["-c", "ulimit -n 256; exec \"$0\" \"$@\"", BINARY]);
    let mut service = place.begin_to_serve(command);
    service.wait_until_ready();
    let client = service.client(&service.printed_key().expect("a key"));
    // More than the process can hold; the others wait in the listen backlog.
    let crowd: Vec<_> = (0..400)
        .map_while(|_| Connection::open(&client.address).ok())
        .collect();
    assert!(crowd.len() > 256, "only {} connections", crowd.len());
    assert!(service.status().is_none(), "{}", service.end());
    drop(crowd);
    let job = client.create_slow("1K");
    client.job_when(&job, "done");
    service.stop();
    let verified = place.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}
