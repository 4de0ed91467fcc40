//! `carrousel verify --explore`: what a browser is served.

use crate::common::Place;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const FILE: &str = "ranks 2\nrank 0\n  r = isend to 1 tag 0 size 64KiB\n  wait r\nrank 1\n  \
                    recv from 0 tag 0 size 64KiB\n";
const HANGS: Duration = Duration::from_secs(120);

/// A server that is gone when the test is over.
struct Server(Child, u16);

impl Server {
    fn start(place: &Place) -> Self {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a free port");
        let port = free.local_addr().expect("it has an address").port();
        drop(free);
        let mut command = place.command();
        command.args(["verify", "file.scn", "--explore", &port.to_string()]).stderr(Stdio::null());
        Self(command.spawn().expect("it can be started"), port)
    }

    fn connect(&self) -> TcpStream {
        let begin = Instant::now();
        loop {
            match TcpStream::connect((Ipv4Addr::LOCALHOST, self.1)) {
                Ok(stream) => return stream,
                Err(error) => assert!(begin.elapsed() < HANGS, "nobody serves: {error}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn get(&self, path: &str) -> Value {
        let mut stream = self.connect();
        stream.set_read_timeout(Some(HANGS)).expect("it may");
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").expect("it listens");
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        while reader.read_line(&mut line).expect("it answers") > 2 {
            line.clear();
        }
        let mut body = String::new();
        reader.read_to_string(&mut body).expect("it answers");
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn states_and_steps_are_served_in_words_with_the_lines_of_the_file() {
    let place = Place::new().with("file.scn", FILE);
    let server = Server::start(&place);
    let states = server.get("/.states/");
    let first = states[0]["state"].as_str().unwrap_or_default().to_owned();
    assert!(first.contains("rank 0 is at line 3 (`r = isend to 1 tag 0 size 64KiB`)"), "{first}");
    assert!(first.contains("rank 1 is at line 6"), "{first}");
    // Always the first step that is offered, until there is none.
    let mut path = String::from("/.states/0");
    let mut said = first;
    loop {
        let steps = server.get(&path);
        let Some(step) = steps.as_array().and_then(|steps| steps.first()) else { break };
        for field in ["action", "outcome", "state", "svg"] {
            let text = step[field].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "there is no {field}: {step}");
            said.push_str(text);
            said.push('\n');
        }
        path.push_str(&format!("/{}", step["actionIndex"]));
    }
    for expected in [
        "rank 0, line 3: `r = isend to 1 tag 0 size 64KiB`: sends RTS to rank 1",
        "in flight:\n  RTS of rank 0's send (line 3) to rank 1",
        "send (line 3): not complete",
        "rank 0 has finished",
        "rank 1 has finished",
        "<svg",
    ] {
        assert!(said.contains(expected), "{expected:?} is not in\n{said}");
    }
    for debug in ["Proc {", "Land(", "Handle {", "Step {"] {
        assert!(!said.contains(debug), "{debug:?} is in\n{said}");
    }
    let properties = server.get("/.status")["properties"].to_string();
    assert!(properties.contains("deadlock-freedom"), "{properties}");
}
