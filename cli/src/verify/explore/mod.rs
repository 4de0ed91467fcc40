//! `carrousel verify --explore`: a server of states for a browser on this host.
//!
//! **Promises.** Only who knows the address that the command prints gets states: it goes on with a secret of 128 bits, and
//! leads to this host only. A connection that takes its time, or says nothing, delays no other for long: each has a
//! thread of its own, there are at most [`CONNECTIONS_MAX`], and the one that has not asked for longest makes room.
//! **Leaves to others.** The states: `carrousel_verify::explorer`. What a request may be: `http`.

mod http;

use crate::failure::Failure;
use carrousel_verify::explorer::Explore;
use http::{Answer, Refusal};
use std::collections::VecDeque;
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Connections that are open at one time.
const CONNECTIONS_MAX: usize = 64;
/// How long to wait when the system gives no connection: it has no descriptors left, most likely.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a new connection waits for the room that another makes.
const ROOM: Duration = Duration::from_secs(1);

/// What a browser is given: at the secret, at the secret and each of these names, and at `states/0/1/...`.
const PAGES: [(&str, &str, &str); 3] = [
    ("", "text/html; charset=utf-8", include_str!("page.html")),
    ("page.css", "text/css; charset=utf-8", include_str!("page.css")),
    ("page.js", "text/javascript; charset=utf-8", include_str!("page.js")),
];

/// A server that has an address.
pub(super) struct Server {
    listener: TcpListener,
    /// The address, with the secret.
    pub(super) url: String,
    prefix: String,
}

impl Server {
    /// Listens at an address of this host.
    pub(super) fn listen(address: SocketAddr) -> Result<Self, Failure> {
        if !address.ip().is_loopback() {
            return Err(Failure::wrong(format_args!("{address} is open to other hosts, and states are shown to this one"))
                .with_help(
                    "name a port alone; from elsewhere, reach it by `ssh -L 3000:127.0.0.1:3000` and `--explore 3000`",
                ));
        }
        let cannot = |error| {
            Failure::wrong(format_args!("cannot serve at {address}: {error}"))
                .with_help("leave the port out, for one that is free")
        };
        let listener = TcpListener::bind(address).map_err(cannot)?;
        let bound = listener.local_addr().map_err(cannot)?;
        let prefix = format!("/{}/", secret()?);
        Ok(Self { listener, url: format!("http://{bound}{prefix}"), prefix })
    }

    /// Serves states for as long as this process lives.
    pub(super) fn serve(self, states: Box<dyn Explore>) {
        let states: Arc<dyn Explore> = states.into();
        let (prefix, crowd): (Arc<str>, Arc<Crowd>) = (self.prefix.into(), Arc::default());
        for (stream, number) in self.listener.incoming().zip(0..) {
            let Ok(stream) = stream else {
                thread::sleep(PAUSE);
                continue;
            };
            if !crowd.enter(number, &stream) {
                continue;
            }
            let (crowd, prefix, states) = (Arc::clone(&crowd), Arc::clone(&prefix), Arc::clone(&states));
            let leave = Arc::clone(&crowd);
            let handle = move || {
                let _leaving = Leaving(&crowd, number);
                handle(&stream, number, &prefix, &*states, &crowd);
            };
            if thread::Builder::new().name("explorer".to_owned()).spawn(handle).is_err() {
                leave.leave(number);
                thread::sleep(PAUSE);
            }
        }
    }
}

/// 128 random bits, as they stand in an address.
fn secret() -> Result<String, Failure> {
    let (path, mut bytes) = (Path::new("/dev/urandom"), [0; 16]);
    File::open(path)
        .and_then(|mut from| from.read_exact(&mut bytes))
        .map_err(|error| Failure::of_file("read", path, &error))?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// The connections that are open, and whom to tell when there are fewer.
#[derive(Default)]
struct Crowd(Mutex<Connections>, Condvar);

#[derive(Default)]
struct Connections {
    open: usize,
    /// Connections that have not asked for anything yet, the oldest first.
    silent: VecDeque<(u64, TcpStream)>,
}

impl Crowd {
    fn lock(&self) -> MutexGuard<'_, Connections> {
        // Each change is whole before anything can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is room for a connection: the one that has not asked for longest is closed for it.
    fn enter(&self, number: u64, stream: &TcpStream) -> bool {
        let mut connections = self.lock();
        if connections.open >= CONNECTIONS_MAX {
            // Its thread reads from it, and ends by that.
            if let Some((_, oldest)) = connections.silent.pop_front() {
                let _ = oldest.shutdown(Shutdown::Both);
            }
            let is_full = |connections: &mut Connections| connections.open >= CONNECTIONS_MAX;
            let waited = self.1.wait_timeout_while(connections, ROOM, is_full);
            connections = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let has_room = connections.open < CONNECTIONS_MAX;
        match stream.try_clone() {
            Ok(copy) if has_room => connections.silent.push_back((number, copy)),
            _ => {
                http::refuse(stream, Refusal::CROWDED);
                return false;
            }
        }
        connections.open += 1;
        true
    }

    /// The connection has asked.
    fn has_asked(&self, number: u64) {
        self.lock().silent.retain(|(other, _)| *other != number);
    }

    fn leave(&self, number: u64) {
        self.has_asked(number);
        self.lock().open -= 1;
        self.1.notify_all();
    }
}

/// Leaves the crowd when its thread ends, however it does.
struct Leaving<'a>(&'a Crowd, u64);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.leave(self.1);
    }
}

fn handle(stream: &TcpStream, number: u64, prefix: &str, states: &dyn Explore, crowd: &Crowd) {
    let request = match http::read(stream) {
        Ok(Some(request)) => request,
        Ok(None) => return,
        Err(refusal) => {
            return http::answer(stream, &Answer::Refused(refusal), false);
        }
    };
    let Some(page) = request.path.strip_prefix(prefix) else {
        return http::answer(stream, &Answer::Refused(Refusal::FORBIDDEN), request.head_only);
    };
    // From here on it is somebody who knows the secret.
    crowd.has_asked(number);
    let made;
    let found = match PAGES.iter().find(|(name, ..)| *name == page) {
        Some((_, kind, text)) => Answer::Page(kind, text.as_bytes()),
        None => match state(page, states) {
            Some(json) => {
                made = json;
                Answer::Page("application/json", &made)
            }
            None => Answer::Refused(Refusal::UNKNOWN),
        },
    };
    http::answer(stream, &found, request.head_only);
}

/// The state of `states/0/1/...`, behind these steps.
fn state(page: &str, states: &dyn Explore) -> Option<Vec<u8>> {
    let steps = page.strip_prefix("states")?;
    let steps = steps.strip_suffix('/').unwrap_or(steps);
    let path: Option<Vec<usize>> = match steps.strip_prefix('/') {
        Some(steps) => steps.split('/').map(|step| step.parse().ok()).collect(),
        None => steps.is_empty().then(Vec::new),
    };
    serde_json::to_vec(&states.view(&path?)?).ok()
}
