//! A process of a test, and what it prints.

use super::poll::{poll, until, until_some};
use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Out,
    Err,
}

type Lines = Arc<Mutex<Vec<(Stream, String)>>>;

/// A command that runs until SIGTERM.
pub struct Running {
    child: Child,
    lines: Lines,
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = Lines::default();
        collect(Stream::Out, child.stdout.take().unwrap(), &lines);
        collect(Stream::Err, child.stderr.take().unwrap(), &lines);
        Self { child, lines }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The lines printed so far, from standard output and standard error.
    pub fn lines(&self) -> Vec<String> {
        let lines = self.lines.lock().unwrap();
        lines.iter().map(|(_, line)| line.clone()).collect()
    }

    /// The lines printed so far to one stream.
    pub fn lines_of(&self, stream: Stream) -> Vec<String> {
        of_stream(stream, &self.lines.lock().unwrap())
    }

    /// Waits for a line for which `probe` returns a value.
    pub fn line<T>(&self, what: &str, probe: impl Fn(&str) -> Option<T>) -> T {
        poll(|| self.lines().iter().find_map(|line| probe(line)))
            .unwrap_or_else(|| panic!("no line with {what}: {:#?}", self.lines()))
    }

    /// Waits for a line that contains `text`; returns the rest of the line.
    pub fn after(&self, text: &str) -> String {
        self.line(text, |line| {
            line.split_once(text)
                .map(|(_, rest)| rest.trim().to_owned())
        })
    }

    /// Sends SIGTERM and waits; returns the exit code.
    pub fn stop(self) -> Option<i32> {
        self.send("-TERM");
        self.wait()
    }

    /// Sends SIGINT, as Ctrl+C does, and waits; returns the exit code and the lines.
    pub fn interrupt_and_read(self) -> (Option<i32>, Vec<String>) {
        self.send("-INT");
        self.wait_and_read()
    }

    /// Waits until the command ends; returns the exit code and the lines.
    pub fn wait_and_read(self) -> (Option<i32>, Vec<String>) {
        let (code, lines) = self.wait_and_read_streams();
        (code, lines.into_iter().map(|(_, line)| line).collect())
    }

    /// Sends SIGTERM and waits; returns the exit code and the lines of one stream.
    pub fn stop_and_read(self, stream: Stream) -> (Option<i32>, Vec<String>) {
        self.send("-TERM");
        let (code, lines) = self.wait_and_read_streams();
        (code, of_stream(stream, &lines))
    }

    fn wait_and_read_streams(self) -> (Option<i32>, Vec<(Stream, String)>) {
        let lines = Arc::clone(&self.lines);
        let code = self.wait();
        // The lines are complete once both readers have released them.
        until("the output has ended", || Arc::strong_count(&lines) == 1);
        let lines = lines.lock().unwrap().clone();
        (code, lines)
    }

    pub fn send(&self, signal: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status().unwrap();
        assert!(sent.success());
    }

    pub fn wait(mut self) -> Option<i32> {
        until_some("it has ended", || self.child.try_wait().unwrap()).code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // After a successful test the process has already exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn of_stream(stream: Stream, lines: &[(Stream, String)]) -> Vec<String> {
    let of_stream = lines.iter().filter(|(it, _)| *it == stream);
    of_stream.map(|(_, line)| line.clone()).collect()
}

fn collect(stream: Stream, pipe: impl Read + Send + 'static, lines: &Lines) {
    let lines = Arc::clone(lines);
    thread::spawn(move || {
        for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            lines.lock().unwrap().push((stream, line));
        }
    });
}
