//! Measures messages between two ranks on different nodes, for `cargo xtask guest bench`.
//!
//! `carrousel run -n 2 --hosts a,b -- nodes [latency] [eager] [overlap] [bandwidth]`
//!
//! Its twin for MPI, call by call, is xtask/peers/nodes.c, with overlap.h: a change of one is a change of both. Only
//! ours measures what ends with `_copied`, in turn with what does not. Rank 0 prints one JSON object a line. Rounds are
//! counted, not timed: on emulated nodes a second is a long time, and both ranks know when they are done.

use carrousel::{Communicator, Error, ScopedRequest};
use carrousel_bench::{Case, Summary};
use std::env;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const MI: usize = 1 << 20;
const SMALL: usize = 8;
/// Sizes of messages that are sent eagerly, and are not copied into a work request.
const EAGER: [usize; 4] = [512, 4 << 10, 9000, 16 << 10];
/// Enough for a library that learns which buffers are used often.
const WARM_PINGS: usize = 500;
const PINGS: usize = 1000;
/// So many of one way, then as many of the next: what disturbs one disturbs the others.
const TURN: usize = 20;
const WINDOW: usize = 16;
const WINDOWS: usize = 2;
const EXCHANGES: usize = 5;
/// What both ranks compute, in which two messages of 1 MiB pass on a busy machine, too; and by how much later than the
/// other rank the late one begins. Nodes share no clock: both begin by the barrier. A packet takes some milliseconds to a
/// node that computes, where a thread of its kernel emulates the adapter: what is early has arrived before the late one
/// begins.
const COMPUTE: Duration = Duration::from_millis(300);
const LATE: Duration = Duration::from_millis(20);
const DATA: u32 = 1;
const TOKEN: u32 = 2;
const TIMES: u32 = 3;

/// The most messages of an overlap.
const MESSAGES: usize = 2;

/// What a rank's calls take in one exchange of an overlap: those that start a request, then the waits.
type Took = [f64; 2 * MESSAGES];

/// A rank, with its buffers: their pages are there before anything is measured.
struct Node<'a> {
    world: &'a Communicator,
    leads: bool,
    peer: u32,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
}

/// How a ping is sent.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// From where it is, if its buffer is used often enough and a table says when that is.
    Isend,
    /// Copied, unless the library is told otherwise: a rank that waits for an acknowledgement does nothing meanwhile.
    Send,
}

/// A measurement.
type Measure = fn(&mut Node<'_>) -> Result<(), Error>;

/// In this order: in `bandwidth` announcing a receive never pays, and a library that learns that would carry it on.
const MEASUREMENTS: [(&str, Measure); 4] = [
    ("latency", |node| node.round_trips(SMALL, ["latency"], [Way::Isend])),
    ("eager", |node| {
        let (names, ways) = (["eager", "eager_held"], [Way::Isend, Way::Send]);
        EAGER.into_iter().try_for_each(|size| node.round_trips(size, names, ways))
    }),
    ("overlap", |node| Case::ALL.into_iter().try_for_each(|case| node.overlap(case))),
    ("bandwidth", |node| node.bandwidth()),
];

impl Node<'_> {
    fn give_token(&self) -> Result<(), Error> {
        self.world.send::<u8>(&[], self.peer, TOKEN)
    }

    fn take_token(&self) -> Result<(), Error> {
        self.world.recv::<u8>(&mut [], self.peer, TOKEN).map(|_| ())
    }

    /// Half a round trip of `size` bytes, and how long the send holds its rank, as far as there are names for them;
    /// [once](Self::ping) for every way, which take turns.
    fn round_trips<const NAMES: usize, const WAYS: usize>(
        &mut self,
        size: usize,
        names: [&str; NAMES],
        ways: [Way; WAYS],
    ) -> Result<(), Error> {
        let mut times = ways.map(|_| [(); 2].map(|()| Vec::with_capacity(PINGS)));
        for index in (0..WARM_PINGS + PINGS).step_by(TURN) {
            for (way, [halves, held]) in ways.iter().zip(&mut times) {
                for _ in 0..TURN {
                    let [took, held_for] = self.ping(size, *way)?.map(|time| time.as_secs_f64() * 1e6);
                    if index >= WARM_PINGS {
                        halves.push(took / 2.0);
                        held.push(held_for);
                    }
                }
            }
        }
        for (way, times) in ways.iter().zip(&mut times) {
            let copied = if *way == Way::Send { "_copied" } else { "" };
            for (name, times) in names.iter().zip(times) {
                self.print(&format!("{name}{copied}"), "", size, times, "us");
            }
        }
        Ok(())
    }

    /// Send and recv, or recv and send. An isend is waited for then. How long that takes, and of that the send and its end.
    fn ping(&mut self, size: usize, way: Way) -> Result<[Duration; 2], Error> {
        let Self { world, leads, peer, outgoing, incoming } = self;
        let (outgoing, incoming) = (&outgoing[..size], &mut incoming[..size]);
        let began = Instant::now();
        let (mut posted, mut received) = (began, began);
        world.scope(|scope| {
            let send = || match way {
                Way::Isend => scope.isend(outgoing, *peer, DATA).map(|_| ()),
                Way::Send => world.send(outgoing, *peer, DATA),
            };
            if *leads {
                send()?;
                posted = Instant::now();
            }
            world.recv(incoming, *peer, DATA)?;
            received = Instant::now();
            if !*leads {
                send()?;
            }
            Ok(())
        })?;
        Ok([began.elapsed(), (posted - began) + received.elapsed()])
    }

    /// A window of isend to a window of irecv, then an acknowledgement; the first one connects.
    fn bandwidth(&mut self) -> Result<(), Error> {
        let mut rates = Vec::with_capacity(WINDOWS);
        for index in 0..=WINDOWS {
            self.world.barrier()?;
            let began = Instant::now();
            let Self { world, leads, peer, outgoing, incoming } = self;
            // A scope ends when all of its requests have.
            world.scope(|scope| {
                for place in incoming.chunks_exact_mut(MI) {
                    if *leads {
                        scope.isend(&outgoing[..MI], *peer, DATA)?;
                    } else {
                        scope.irecv(place, *peer, DATA)?;
                    }
                }
                Ok(())
            })?;
            if self.leads {
                self.take_token()?
            } else {
                self.give_token()?
            }
            if index > 0 {
                rates.push((WINDOW * MI) as f64 / 1e6 / began.elapsed().as_secs_f64());
            }
        }
        self.print("bandwidth", "", MI, &mut rates, "MB/s");
        Ok(())
    }

    /// Irecv at one rank, isend at the other, which is late or early; both compute, and both wait: what each of these
    /// calls takes. Nothing else enters the library in between. The first exchange connects.
    fn overlap(&mut self, case: Case) -> Result<(), Error> {
        let mut times: Vec<[Took; 2]> = Vec::with_capacity(EXCHANGES);
        for index in 0..=EXCHANGES {
            let took = self.exchange(case, index as u8 + 1)?;
            let mut received = took;
            if self.leads {
                self.world.recv(&mut received, self.peer, TIMES)?;
            } else {
                self.world.send(&took, self.peer, TIMES)?;
            }
            if index > 0 {
                times.push([received, took]);
            }
        }
        for call in case.calls() {
            let (side, wait) = (usize::from(call.kind.is_sender()), usize::from(call.kind.is_wait()));
            let at = wait * MESSAGES + call.message;
            let mut of_call: Vec<f64> = times.iter().map(|took| took[side][at]).collect();
            let about = format!(r#""case": "{}", "call": "{}", "#, case.name(), call.name());
            self.print("overlap", &about, MI, &mut of_call, "ms");
        }
        Ok(())
    }

    /// This rank's part in an exchange.
    fn exchange(&mut self, case: Case, stamp: u8) -> Result<Took, Error> {
        self.outgoing.chunks_exact_mut(MI).for_each(|place| place[MI - 1] = stamp);
        self.world.barrier()?;
        let Self { world, leads, peer, outgoing, incoming } = self;
        let late = *leads == case.receiver_is_early();
        let took = world.scope(|scope| {
            let mut places = incoming.chunks_exact_mut(MI);
            compute(if late { LATE } else { Duration::ZERO });
            overlapped(case, |message| match places.next() {
                Some(place) if !*leads => scope.irecv(place, *peer, DATA),
                _ => scope.isend(&outgoing[message * MI..][..MI], *peer, DATA),
            })
        })?;
        if !*leads {
            let mut come = incoming.chunks_exact(MI).take(case.messages());
            assert!(come.all(|place| place[MI - 1] == stamp), "what came is not what was sent");
        }
        Ok(took)
    }

    /// The median, as `cargo xtask` reads it; `about` has further members, with a comma behind each.
    fn print(&self, bench: &str, about: &str, size: usize, values: &mut [f64], unit: &str) {
        if let Some(Summary { median, count, .. }) = Summary::of(values).filter(|_| self.leads) {
            println!(
                r#"{{"bench": "{bench}", {about}"size": {size}, "value": {median}, "unit": "{unit}", "repetitions": {count}}}"#
            );
        }
    }
}

/// Starts the requests of a case, computes, and waits for them: what the first calls took, then the waits, in ms.
fn overlapped<'scope>(
    case: Case,
    mut start: impl FnMut(usize) -> Result<ScopedRequest<'scope>, Error>,
) -> Result<Took, Error> {
    let mut took = Took::default();
    let mut requests = [const { None }; MESSAGES];
    for (message, request) in requests.iter_mut().enumerate().take(case.messages()) {
        let began = Instant::now();
        *request = Some(start(message)?);
        took[message] = began.elapsed().as_secs_f64() * 1e3;
    }
    compute(COMPUTE);
    for (message, request) in requests.into_iter().flatten().enumerate() {
        let began = Instant::now();
        request.wait()?;
        took[MESSAGES + message] = began.elapsed().as_secs_f64() * 1e3;
    }
    Ok(took)
}

/// Computes without entering the library.
fn compute(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {}
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let wanted: Vec<String> = env::args().skip(1).collect();
    let job = carrousel::init()?;
    let world = job.world();
    if world.size() != 2 {
        return Err(format!("two ranks are needed, not {}", world.size()).into());
    }
    let rank = world.rank();
    let (outgoing, incoming) = (vec![1; MESSAGES * MI], vec![1; WINDOW * MI]);
    let mut node = Node { world, leads: rank == 0, peer: 1 - rank, outgoing, incoming };
    for (name, measure) in MEASUREMENTS {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            node.world.barrier()?;
            measure(&mut node)?;
        }
    }
    job.finalize()?;
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
