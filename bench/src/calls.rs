//! The measured calls of the library, one function for each pattern of them.
//!
//! The same patterns, call by call, are in xtask/peers/pt2pt.c for other libraries: a change of one is a change of
//! both. `exchange` has one more of them. Not there are those of rank 0 with several partners, in `connections`, and
//! those in new memory, in `fresh`. Each function does its work `calls` times, on every rank that takes part, and returns the seconds
//! that count on the rank whose clock does.

use crate::benchmark::{DATA, REVERSED, WINDOW};
use crate::buffer::Buffer;
use crate::clock::compute;
use crate::fresh::Fresh;
use crate::{Benchmark, Case, Step};
use carrousel::{Any, Communicator, Error, Scope};
use std::time::{Duration, Instant};

/// The tag of messages without any bytes, that only tell.
const TOKEN: u32 = 2;
/// The first of the tags of messages that are received in another order than they were sent in.
const REVERSED_TAG: u32 = 3;

/// One rank in a measurement: its peers and its buffers.
#[derive(Debug)]
pub(crate) struct RankInMeasurement<'a> {
    pub(crate) world: &'a Communicator,
    /// The other rank of the pair, or one of the partners; none for a rank that is left over.
    pub(crate) peer: Option<u32>,
    /// Partners of rank 0, where there may be several.
    pub(crate) connections: u32,
    /// Whether this rank is the one that sends in what has a direction.
    pub(crate) leads: bool,
    pub(crate) size: usize,
    /// The buffer that all messages are sent from; with a place for each of the messages of an overlap.
    pub(crate) outgoing: Buffer,
    /// The buffer that messages come into; with a place for each of a window, of rank 0's partners, or of an overlap,
    /// where there are such.
    pub(crate) incoming: Buffer,
    /// Memory instead of both, where some of it has to be new.
    fresh: Option<Fresh>,
    /// How long each rank computes in `overlap`, and the one that computes in `hidden_send` and `hidden_receive`.
    pub(crate) compute: Duration,
}

impl<'a> RankInMeasurement<'a> {
    /// The part of this rank. On failure, how many bytes there are not.
    pub(crate) fn new(world: &'a Communicator, step: Step) -> Result<Self, usize> {
        let (benchmark, me) = (step.benchmark, world.rank());
        let size = usize::try_from(step.size).unwrap_or(usize::MAX);
        let (peer, leads) = match step.connections {
            Some(partners) => ((me <= partners).then_some(u32::from(me == 0)), me == 0),
            None => (Some(me ^ 1), me.is_multiple_of(2)),
        };
        let connections = step.connections.unwrap_or(1);
        let places = match benchmark {
            Benchmark::MultiLatency if leads => connections as usize,
            _ if benchmark.is_windowed() => WINDOW,
            Benchmark::Reversed => REVERSED,
            _ => step.case.map_or(1, Case::messages),
        };
        let outgoing_places = step.case.map_or(1, Case::messages);
        let buffer = |bytes: usize| Buffer::new(bytes).ok_or(bytes);
        Ok(Self {
            world,
            peer: peer.filter(|peer| *peer < world.size()),
            connections,
            leads,
            size,
            outgoing: buffer(outgoing_places.saturating_mul(size))?,
            incoming: buffer(places.saturating_mul(size))?,
            fresh: benchmark.reused_percent().map(|percent| Fresh::new(size, percent)),
            compute: Duration::ZERO,
        })
    }

    /// From the next batch on, so many percent of the messages are in memory that was used before; where that
    /// is measured.
    pub(crate) fn reuse(&mut self, percent: usize) {
        if let Some(fresh) = &mut self.fresh {
            fresh.percent = percent;
        }
    }

    /// Takes part in `calls` calls. 0 where this rank has no part.
    pub(crate) fn run(&mut self, benchmark: Benchmark, calls: u32) -> Result<f64, Error> {
        match benchmark {
            Benchmark::Allreduce => return self.sum(calls),
            Benchmark::Barrier => return self.meet(calls),
            _ => {}
        }
        let Some(peer) = self.peer else { return Ok(0.0) };
        match benchmark {
            Benchmark::Latency => self.ping_pong(peer, calls),
            Benchmark::ReuseNone | Benchmark::ReuseHalf | Benchmark::ReuseFull | Benchmark::ReuseRatio => {
                let Self { world, leads, fresh, .. } = self;
                fresh.as_mut().map_or(Ok(0.0), |fresh| fresh.ping_pong(world, peer, *leads))
            }
            Benchmark::MultiLatency if self.leads => self.round_robin(calls),
            Benchmark::MultiLatency => self.ping_pong(peer, calls),
            Benchmark::MultiBandwidth if self.leads => self.fan_out(calls),
            Benchmark::MultiBandwidth => self.one_way(peer, calls),
            Benchmark::Bandwidth | Benchmark::MessageRate | Benchmark::MultiPair => self.one_way(peer, calls),
            Benchmark::Bibandwidth => self.both_ways(peer, calls),
            Benchmark::Stream => self.stream(peer, calls),
            Benchmark::Reversed => self.reversed(peer, calls),
            Benchmark::Sendrecv => self.exchanged(peer, calls),
            Benchmark::HiddenSend => self.sender_computes(peer, calls),
            Benchmark::HiddenReceive => self.receiver_computes(peer, calls),
            // An overlap is no time of a batch: see `RankInMeasurement::exchange`.
            Benchmark::Overlap | Benchmark::Allreduce | Benchmark::Barrier => Ok(0.0),
        }
    }

    /// Puts a mark into the last byte of each message that is sent; what is summed is all ones. Brings new memory, where that is
    /// measured; on failure, how many bytes there are not.
    pub(crate) fn stamp(&mut self, benchmark: Benchmark, stamp: u8) -> Result<(), usize> {
        if let Some(fresh) = &mut self.fresh {
            return fresh.renew(stamp);
        }
        if benchmark == Benchmark::Allreduce {
            self.outgoing.bytes_mut().as_chunks_mut().0.fill(1f64.to_le_bytes());
        } else {
            for place in self.outgoing.bytes_mut().chunks_exact_mut(self.size.max(1)) {
                place[place.len() - 1] = stamp;
            }
        }
        Ok(())
    }

    /// Whether the mark, or the sum, is where it should have come to. Looked at after a batch: only the last byte of each
    /// place, which does not change what the caches hold.
    pub(crate) fn has_come(&self, benchmark: Benchmark, stamp: u8) -> bool {
        if benchmark == Benchmark::Allreduce {
            let sum = f64::from(self.world.size()).to_le_bytes();
            return self.incoming.bytes().as_chunks().0.last().is_none_or(|last| *last == sum);
        }
        if let Some(fresh) = &self.fresh {
            return self.peer.is_none() || fresh.have_come(stamp);
        }
        let receives = match benchmark {
            Benchmark::Barrier => false,
            Benchmark::Latency | Benchmark::Bibandwidth | Benchmark::Sendrecv | Benchmark::MultiLatency => {
                true
            }
            Benchmark::HiddenReceive | Benchmark::Reversed => self.leads,
            _ => !self.leads,
        };
        if !receives || self.peer.is_none() || self.size == 0 {
            return true;
        }
        self.incoming.bytes().chunks_exact(self.size).all(|place| place.last() == Some(&stamp))
    }

    fn send(&self, peer: u32) -> Result<(), Error> {
        self.world.send(self.outgoing.bytes(), peer, DATA)
    }

    fn receive(&mut self, peer: u32) -> Result<(), Error> {
        self.world.recv(self.incoming.bytes_mut(), peer, DATA).map(|_| ())
    }

    fn give_token(&self, peer: u32) -> Result<(), Error> {
        self.world.send::<u8>(&[], peer, TOKEN)
    }

    pub(crate) fn take_token(&self, peer: u32) -> Result<(), Error> {
        self.world.recv::<u8>(&mut [], peer, TOKEN).map(|_| ())
    }

    /// Ends a window: its sender knows that it has been received.
    fn acknowledge(&self, peer: u32) -> Result<(), Error> {
        if self.leads { self.take_token(peer) } else { self.give_token(peer) }
    }

    fn ping_pong(&mut self, peer: u32, calls: u32) -> Result<f64, Error> {
        let began = Instant::now();
        for _ in 0..calls {
            if self.leads {
                self.send(peer)?;
            }
            self.receive(peer)?;
            if !self.leads {
                self.send(peer)?;
            }
        }
        Ok(began.elapsed().as_secs_f64() / 2.0)
    }

    fn one_way(&mut self, peer: u32, calls: u32) -> Result<f64, Error> {
        let Self { world, leads, size, .. } = *self;
        let began = Instant::now();
        for _ in 0..calls {
            let (outgoing, incoming) = (self.outgoing.bytes(), self.incoming.bytes_mut());
            // A scope ends when all of its requests have.
            world.scope(|scope| {
                if leads {
                    post_sends(scope, outgoing, peer)
                } else {
                    post_receives(scope, incoming, size, peer)
                }
            })?;
            self.acknowledge(peer)?;
        }
        Ok(began.elapsed().as_secs_f64())
    }

    fn both_ways(&mut self, peer: u32, calls: u32) -> Result<f64, Error> {
        let Self { world, size, .. } = *self;
        let began = Instant::now();
        for _ in 0..calls {
            let (outgoing, incoming) = (self.outgoing.bytes(), self.incoming.bytes_mut());
            world.scope(|scope| {
                post_receives(scope, incoming, size, peer)?;
                post_sends(scope, outgoing, peer)
            })?;
            self.acknowledge(peer)?;
        }
        Ok(began.elapsed().as_secs_f64())
    }

    /// Each message is taken as it comes; the sender never waits for an answer.
    fn stream(&mut self, peer: u32, calls: u32) -> Result<f64, Error> {
        let began = Instant::now();
        for _ in 0..calls {
            if self.leads {
                self.send(peer)?;
            } else {
                self.world.recv(self.incoming.bytes_mut(), Any, DATA)?;
            }
        }
        self.acknowledge(peer)?;
        Ok(began.elapsed().as_secs_f64())
    }

    /// Messages of different tags, all of which have come when the first receive asks for the last one. Only the receives
    /// count: those of the rank that leads.
    fn reversed(&mut self, peer: u32, calls: u32) -> Result<f64, Error> {
        let Self { world, leads, size, .. } = *self;
        let mut seconds = 0.0;
        for _ in 0..calls {
            if leads {
                self.take_token(peer)?;
                let began = Instant::now();
                let places = self.incoming.bytes_mut();
                for message in (0..REVERSED).rev() {
                    let place = places[message * size..].get_mut(..size).unwrap_or_default();
                    world.recv(place, peer, REVERSED_TAG + message as u32)?;
                }
                seconds += began.elapsed().as_secs_f64();
                self.give_token(peer)?;
            } else {
                let outgoing = self.outgoing.bytes();
                world.scope(|scope| {
                    for message in 0..REVERSED {
                        scope.isend(outgoing, peer, REVERSED_TAG + message as u32)?;
                    }
                    self.give_token(peer)
                })?;
                self.take_token(peer)?;
            }
        }
        Ok(seconds)
    }

    /// Both ranks in one call, each with a message for the other.
    fn exchanged(&mut self, peer: u32, calls: u32) -> Result<f64, Error> {
        let began = Instant::now();
        for _ in 0..calls {
            let (outgoing, incoming) = (self.outgoing.bytes(), self.incoming.bytes_mut());
            self.world.sendrecv(outgoing, peer, DATA, incoming, peer, DATA)?;
        }
        Ok(began.elapsed().as_secs_f64())
    }

    fn sender_computes(&mut self, peer: u32, calls: u32) -> Result<f64, Error> {
        let began = Instant::now();
        for _ in 0..calls {
            if !self.leads {
                self.receive(peer)?;
                continue;
            }
            let outgoing = self.outgoing.bytes();
            self.world.scope(|scope| {
                let request = scope.isend(outgoing, peer, DATA)?;
                compute(self.compute);
                request.wait()
            })?;
        }
        Ok(began.elapsed().as_secs_f64())
    }

    fn receiver_computes(&mut self, peer: u32, calls: u32) -> Result<f64, Error> {
        let began = Instant::now();
        for _ in 0..calls {
            // Here rank 0 receives.
            if !self.leads {
                self.send(peer)?;
                continue;
            }
            let (incoming, time) = (self.incoming.bytes_mut(), self.compute);
            self.world.scope(|scope| {
                let request = scope.irecv(incoming, peer, DATA)?;
                compute(time);
                request.wait()
            })?;
        }
        Ok(began.elapsed().as_secs_f64())
    }

    fn sum(&mut self, calls: u32) -> Result<f64, Error> {
        let (outgoing, incoming) = (self.outgoing.bytes(), self.incoming.bytes_mut());
        let add = |one, other| (f64::from_le_bytes(one) + f64::from_le_bytes(other)).to_le_bytes();
        let began = Instant::now();
        for _ in 0..calls {
            self.world.allreduce(outgoing.as_chunks().0, incoming.as_chunks_mut().0, add)?;
        }
        Ok(began.elapsed().as_secs_f64())
    }

    fn meet(&self, calls: u32) -> Result<f64, Error> {
        let began = Instant::now();
        for _ in 0..calls {
            self.world.barrier()?;
        }
        Ok(began.elapsed().as_secs_f64())
    }
}

/// Starts a window of sends. They share a buffer, which is only read.
fn post_sends<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    outgoing: &'env [u8],
    peer: u32,
) -> Result<(), Error> {
    for _ in 0..WINDOW {
        scope.isend(outgoing, peer, DATA)?;
    }
    Ok(())
}

/// Starts a window of receives, each with a place of its own.
fn post_receives<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    incoming: &'env mut [u8],
    size: usize,
    peer: u32,
) -> Result<(), Error> {
    let mut left = incoming;
    for _ in 0..WINDOW {
        // There are as many places as messages; were there fewer, the rest would get none.
        let (place, rest) = left.split_at_mut_checked(size).unwrap_or_default();
        scope.irecv(place, peer, DATA)?;
        left = rest;
    }
    Ok(())
}
