//! `carrousel verify --explore`: what a browser is served.

use crate::common::Place;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const FILE: &str = "ranks 2\nrank 0\n  r = isend to 1 tag 0 size 64KiB\n  wait r\nrank 1\n  \
                    recv from 0 tag 0 size 64KiB\n";
const HANGS: Duration = Duration::from_secs(60);

/// A server that is gone when the test is over, its port and the path with its secret.
struct Explorer(Child, u16, String);

impl Explorer {
    fn start(place: &Place) -> Self {
        let mut command = place.command();
        command.args(["verify", "file.scn", "--explore"]).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it can be started");
        let mut said = String::new();
        let mut errors = BufReader::new(child.stderr.take().expect("it is piped"));
        errors.read_line(&mut said).expect("it says where it is");
        let url = said.split(' ').find_map(|word| word.strip_prefix("http://127.0.0.1:"));
        let (port, path) = url.and_then(|url| url.split_once('/')).unwrap_or_else(|| panic!("{said}"));
        let port = port.parse().unwrap_or_else(|_| panic!("{said}"));
        Self(child, port, format!("/{path}"))
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.1)).expect("it listens");
        stream.set_read_timeout(Some(HANGS)).expect("it may");
        stream
    }

    /// The answer to these bytes.
    fn answer(&self, request: &str) -> String {
        let (mut stream, mut answer) = (self.connect(), Vec::new());
        stream.write_all(request.as_bytes()).expect("it listens");
        stream.read_to_end(&mut answer).expect("it answers");
        String::from_utf8(answer).expect("it is text")
    }

    fn status(&self, request: &str) -> String {
        self.answer(request).split(' ').nth(1).unwrap_or_default().to_owned()
    }

    fn request(&self, path: &str) -> String {
        format!("GET {}{path} HTTP/1.1\r\nHost: localhost\r\n\r\n", self.2)
    }

    fn page(&self, path: &str) -> String {
        let answer = self.answer(&self.request(path));
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{path}: {answer}");
        body.to_owned()
    }

    fn get(&self, path: &str) -> Value {
        let body = self.page(path);
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"))
    }
}

impl Drop for Explorer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn states_and_steps_are_served_in_words_with_the_lines_of_the_file() {
    let place = Place::new().with("file.scn", FILE);
    let server = Explorer::start(&place);
    // Always the first step that is offered, until there is none.
    let (mut path, mut said) = (String::from("states"), String::new());
    loop {
        let view = server.get(&path);
        said.push_str(view["state"].as_str().expect("a text"));
        said.push('\n');
        assert_eq!(view["chart"].is_null(), path == "states", "{view}");
        let steps = view["steps"].as_array().expect("a list");
        assert_eq!(view["taken"].as_array().map(Vec::len), Some(path.matches('/').count()), "{view}");
        let Some(step) = steps.first() else { break };
        said.push_str(step.as_str().expect("a text"));
        said.push('\n');
        path.push_str("/0");
    }
    for expected in [
        "rank 0 is at line 3 (`r = isend to 1 tag 0 size 64KiB`)",
        "rank 1 is at line 6",
        "rank 0, line 3: `r = isend to 1 tag 0 size 64KiB`: sends RTS to rank 1",
        "in flight:\n  RTS of rank 0's send (line 3) to rank 1",
        "send (line 3): not complete",
        "rank 0 has finished",
        "rank 1 has finished",
    ] {
        assert!(said.contains(expected), "{expected:?} is not in\n{said}");
    }
    for debug in ["Proc {", "Land(", "Handle {", "Step {"] {
        assert!(!said.contains(debug), "{debug:?} is in\n{said}");
    }
    for (path, text) in [("", "<!DOCTYPE html>"), ("page.js", "hashchange"), ("page.css", "#violated")] {
        assert!(server.page(path).contains(text), "{path}");
    }
    for wrong in ["states/9999", "states/x", "states//", "states/-1", "state", "../", "page.html"] {
        assert_eq!(server.status(&server.request(wrong)), "404", "{wrong}");
    }
}

#[test]
fn only_who_knows_the_address_is_served_and_only_under_this_hosts_name() {
    let place = Place::new().with("file.scn", FILE);
    let [server, other] = [Explorer::start(&place), Explorer::start(&place)];
    assert!(server.2.len() == 34 && server.2 != other.2, "{} {}", server.2, other.2);
    let with = |path: &str, rest: &str| server.status(&format!("GET {path} HTTP/1.1\r\n{rest}\r\n"));
    assert_eq!(with(&server.2, "Host: localhost\r\n"), "200");
    for path in ["/", "/states", "/.states/", &other.2, &server.2[..33], &server.2.to_uppercase()] {
        assert_eq!(with(path, "Host: localhost\r\n"), "403", "{path}");
    }
    for host in ["evil.example", "127.0.0.1.evil.example", "10.0.0.1"] {
        assert_eq!(with(&server.2, &format!("Host: {host}\r\n")), "421", "{host}");
    }
    assert_eq!(with(&server.2, ""), "400");
    for open in ["0.0.0.0:0", "10.0.0.1:80", "[::]:0"] {
        let ran = place.run(&format!("verify file.scn --explore {open}")).status(2);
        ran.complains("is open to other hosts").complains("ssh -L");
    }
}

#[test]
fn a_request_of_any_size_is_refused_and_the_server_goes_on() {
    let place = Place::new().with("file.scn", FILE);
    let server = Explorer::start(&place);
    let head = format!("GET {} HTTP/1.1\r\nHost: localhost\r\n", server.2);
    for (rest, status) in [
        ("Content-Length: 99999999999999\r\n\r\n".to_owned(), "413"),
        ("Content-Length: 99999999999999999999999999\r\n\r\n".to_owned(), "413"),
        (format!("Content-Length: 100000\r\n\r\n{}", "x".repeat(100_000)), "413"),
        ("Content-Length: -1\r\n\r\n".to_owned(), "400"),
        ("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(), "501"),
        ("a: b\r\n".repeat(10_000), "431"),
        (format!("a: {}", "b".repeat(100_000)), "431"),
    ] {
        assert_eq!(server.status(&format!("{head}{rest}")), status, "{rest:.60}");
    }
    assert_eq!(server.status(&"x".repeat(100_000)), "414");
    assert_eq!(server.status(&format!("GET /{} HTTP/1.1\r\n", "x".repeat(100_000))), "414");
    assert_eq!(server.status(&format!("{}\r\n", head.replace("GET", "POST"))), "405");
    assert_eq!(server.status("\0\0\0\0\r\n\r\n"), "400");
    assert_eq!(server.get("states")["violated"], serde_json::json!([]));
}

#[test]
fn connections_that_say_nothing_do_not_keep_others_out() {
    let place = Place::new().with("file.scn", FILE);
    let server = Explorer::start(&place);
    // Far more than are open at one time, half of them with the beginning of a request.
    let silent: Vec<TcpStream> = (0..300)
        .map(|number| {
            let mut stream = server.connect();
            if number % 2 == 0 {
                // The one that makes room for another may be closed by now.
                let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: local");
            }
            stream
        })
        .collect();
    let begin = Instant::now();
    assert!(server.page("").contains("<!DOCTYPE html>"));
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    let threads = std::fs::read_to_string(format!("/proc/{}/status", server.0.id())).expect("it runs");
    let threads = threads.lines().find_map(|line| line.strip_prefix("Threads:")).expect("it is told");
    let threads: usize = threads.trim().parse().expect("a number");
    assert!(threads < 200, "{threads} threads");
    drop(silent);
}

#[test]
fn a_request_that_does_not_come_is_given_up() {
    let place = Place::new().with("file.scn", FILE);
    let server = Explorer::start(&place);
    let begin = Instant::now();
    let answer = server.answer("GET / HTTP/1.1\r\n");
    assert!(answer.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{answer}");
    assert!(begin.elapsed() >= Duration::from_secs(5), "{:?}", begin.elapsed());
}
