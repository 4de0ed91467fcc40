//! Measures messages between two ranks on different nodes, for `cargo xtask guest bench`.
//!
//! `carrousel run -n 2 --hosts a,b -- nodes [latency] [eager] [early_receive] [early_send] [bandwidth]`
//!
//! Its twin for MPI, call by call, is xtask/peers/nodes.c: who changes one changes both. Only ours measures what ends with
//! `_copied`, in turn with what does not. Rank 0 prints one JSON object a line. Rounds are counted, not timed: on emulated
//! nodes a second is a long time, and both ranks know when they are done.

use carrousel::{Communicator, Error};
use carrousel_bench::Summary;
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
/// What the receiver computes, and by how much later than it a sender comes that is late.
const COMPUTE: Duration = Duration::from_millis(200);
const LATE: Duration = Duration::from_millis(10);
const DATA: u32 = 1;
const TOKEN: u32 = 2;
const TIMES: u32 = 3;

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
    /// Copied, unless the library is told otherwise: who waits for an acknowledgement does nothing meanwhile.
    Send,
}

/// A measurement.
type Measure = fn(&mut Node<'_>) -> Result<(), Error>;

/// In this order: in `bandwidth` announcing a receive never pays, and a library that learns that would carry it on.
const MEASUREMENTS: [(&str, Measure); 5] = [
    ("latency", |node| node.round_trips(SMALL, ["latency"], [Way::Isend])),
    ("eager", |node| {
        let (names, ways) = (["eager", "eager_held"], [Way::Isend, Way::Send]);
        EAGER.into_iter().try_for_each(|size| node.round_trips(size, names, ways))
    }),
    ("early_receive", |node| node.early_receive()),
    ("early_send", |node| node.early_send()),
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
                self.print(&format!("{name}{copied}"), size, times, "us");
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
                        scope.isend(outgoing, *peer, DATA)?;
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
        self.print("bandwidth", MI, &mut rates, "MB/s");
        Ok(())
    }

    /// Irecv, tell the sender, compute, wait; the sender comes late: what is left for the wait, and what the send
    /// takes.
    fn early_receive(&mut self) -> Result<(), Error> {
        let mut times = Vec::with_capacity(EXCHANGES);
        for index in 0..=EXCHANGES {
            let stamp = self.stamp(index);
            self.world.barrier()?;
            let took = if self.leads {
                self.take_token()?;
                compute(LATE);
                let began = Instant::now();
                self.world.send(&self.outgoing, self.peer, DATA)?;
                began.elapsed()
            } else {
                let Self { world, peer, incoming, .. } = self;
                let took = world.scope(|scope| {
                    let request = scope.irecv(&mut incoming[..MI], *peer, DATA)?;
                    world.send::<u8>(&[], *peer, TOKEN)?;
                    compute(COMPUTE);
                    let began = Instant::now();
                    request.wait()?;
                    Ok(began.elapsed())
                })?;
                assert_eq!(self.incoming[MI - 1], stamp, "what came is not what was sent");
                took
            };
            if index > 0 {
                times.push(took.as_secs_f64() * 1e3);
            }
        }
        self.print("early_receive_held", MI, &mut times, "ms");
        if !self.leads {
            return self.world.send(&times, self.peer, TIMES);
        }
        self.world.recv(&mut times, self.peer, TIMES)?;
        self.print("early_receive_wait", MI, &mut times, "ms");
        Ok(())
    }

    /// Isend, tell the receiver, wait; the receiver posts upon that and computes: how long the sender is held.
    fn early_send(&mut self) -> Result<(), Error> {
        let mut times = Vec::with_capacity(EXCHANGES);
        for index in 0..=EXCHANGES {
            let stamp = self.stamp(index);
            self.world.barrier()?;
            let began = Instant::now();
            let Self { world, leads, peer, outgoing, incoming } = self;
            if *leads {
                world.scope(|scope| {
                    let request = scope.isend(outgoing, *peer, DATA)?;
                    world.send::<u8>(&[], *peer, TOKEN)?;
                    request.wait()
                })?;
            } else {
                world.recv::<u8>(&mut [], *peer, TOKEN)?;
                world.scope(|scope| {
                    let request = scope.irecv(&mut incoming[..MI], *peer, DATA)?;
                    compute(COMPUTE);
                    request.wait()
                })?;
                assert_eq!(incoming[MI - 1], stamp, "what came is not what was sent");
            }
            if index > 0 {
                times.push(began.elapsed().as_secs_f64() * 1e3);
            }
        }
        self.print("early_send_held", MI, &mut times, "ms");
        Ok(())
    }

    /// Puts a mark into the last byte of what is sent.
    fn stamp(&mut self, index: usize) -> u8 {
        let stamp = index as u8 + 1;
        self.outgoing[MI - 1] = stamp;
        stamp
    }

    /// The median, as `cargo xtask` reads it.
    fn print(&self, bench: &str, size: usize, values: &mut [f64], unit: &str) {
        if let Some(Summary { median, count, .. }) = Summary::of(values).filter(|_| self.leads) {
            println!(
                r#"{{"bench": "{bench}", "size": {size}, "value": {median}, "unit": "{unit}", "repetitions": {count}}}"#
            );
        }
    }
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
    let (outgoing, incoming) = (vec![1; MI], vec![1; WINDOW * MI]);
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
