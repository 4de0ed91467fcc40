//! The calls of rank 0 with several partners. A partner makes the calls of a rank with one peer, see
//! `calls`.

use crate::benchmark::DATA;
use crate::benchmark::WINDOW;
use crate::calls::RankInMeasurement;
use carrousel::Error;
use std::time::Instant;

impl RankInMeasurement<'_> {
    /// A message to each partner in turn, then one from each: all connections are busy at once, as in the tests
    /// with pre-established connections of speculative-rendezvous 3. Half of the time, by their number.
    pub(crate) fn round_robin(&mut self, calls: u32) -> Result<f64, Error> {
        let Self { world, connections, size, .. } = *self;
        let began = Instant::now();
        for _ in 0..calls {
            let outgoing = self.outgoing.bytes();
            let mut left = self.incoming.bytes_mut();
            world.scope(|scope| {
                for partner in 1..=connections {
                    scope.isend(outgoing, partner, DATA)?;
                }
                for partner in 1..=connections {
                    // There are as many places as partners; were there fewer, the rest would get none.
                    let (place, rest) = left.split_at_mut_checked(size).unwrap_or_default();
                    world.recv(place, partner, DATA)?;
                    left = rest;
                }
                Ok(())
            })?;
        }
        Ok(began.elapsed().as_secs_f64() / 2.0 / f64::from(connections))
    }

    /// A window of sends to each partner, in turns, then an acknowledgement from each.
    pub(crate) fn fan_out(&mut self, calls: u32) -> Result<f64, Error> {
        let Self { world, connections, .. } = *self;
        let began = Instant::now();
        for _ in 0..calls {
            let outgoing = self.outgoing.bytes();
            world.scope(|scope| {
                for _ in 0..WINDOW {
                    for partner in 1..=connections {
                        scope.isend(outgoing, partner, DATA)?;
                    }
                }
                Ok(())
            })?;
            for partner in 1..=connections {
                self.take_token(partner)?;
            }
        }
        Ok(began.elapsed().as_secs_f64())
    }
}
