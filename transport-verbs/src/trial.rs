//! Messages to see what they cost: copied, and sent from where they are.

use crate::ibv::{Device, Slots};
use crate::{Access, Out, Settings, Verbs, VerbsError};
use carrousel_transport::{
    Arrival, Context, Handler, OnlyKeys, Outbound, Packet, Payload, RankId, Tag, Transport,
};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, thread};

/// Longer than a message within a device takes.
const PATIENCE: Duration = Duration::from_secs(20);
const RANKS: [RankId; 2] = [RankId(0), RankId(1)];

/// Two ranks in this process, over one device, and messages between them, all from the same memory, which is registered.
#[derive(Debug)]
pub struct LoanTrial {
    // They go before the memory that they send.
    ranks: [(Verbs, Count); 2],
    memory: Slots,
}

/// What has come.
#[derive(Debug, Default)]
struct Count {
    messages: u64,
    memory: OnlyKeys,
}

impl Handler<Out> for Count {
    type Regions = OnlyKeys;

    fn regions(&mut self) -> &mut OnlyKeys {
        &mut self.memory
    }

    fn arrival(&mut self, arrival: Arrival, _: &(impl Payload + ?Sized), _: &mut Out) {
        if matches!(arrival, Arrival::Packet { .. }) {
            self.messages += 1;
        }
    }
}

impl LoanTrial {
    /// Connects the ranks, for messages of at most so many bytes.
    ///
    /// # Errors
    /// When the system refuses, or the device does not reach itself.
    pub fn new(device: &Arc<Device>, size: usize) -> Result<Self, VerbsError> {
        let settings = Settings { eager: size as u64, ..Settings::default() };
        let end = |rank: RankId| Ok((Verbs::over(device, rank, 2, &settings)?, Count::default()));
        let mut ranks = [end(RANKS[0])?, end(RANKS[1])?];
        let addresses = [ranks[0].0.address(), ranks[1].0.address()];
        for (at, (verbs, _)) in ranks.iter_mut().enumerate() {
            verbs.out().connect(RANKS[1 - at], &addresses[1 - at]);
        }
        let mut trial = Self { ranks, memory: Slots::new(device, 1, size, Access::Own)? };
        trial.send(0, false)?;
        Ok(trial)
    }

    /// Sends a message, and returns when it has come and its memory may be changed.
    ///
    /// # Errors
    /// When it does not come.
    ///
    /// # Panics
    /// When it is larger than was asked for.
    pub fn send(&mut self, len: usize, lent: bool) -> Result<(), VerbsError> {
        let [(sender, _), (_, count)] = &mut self.ranks;
        let (out, before) = (sender.out(), count.messages);
        let data = self.memory.bytes(0, len);
        let packet = Packet::Eager { tag: Tag(0), len: data.len() as u64 };
        let is_lent = if lent {
            let name = (self.memory.sge(0, len).key, 0);
            out.lend(RANKS[1], Context::MESSAGES, &packet, data, name)
        } else {
            out.send(RANKS[1], Context::MESSAGES, &packet, data);
            false
        };
        self.drive(is_lent, before)
    }

    /// Until another message has come, and what is lent is given back.
    fn drive(&mut self, mut is_lent: bool, before: u64) -> Result<(), VerbsError> {
        let mut began = None;
        while is_lent || self.ranks[1].1.messages == before {
            let mut count = 0;
            for (verbs, counted) in &mut self.ranks {
                count += verbs.poll(counted);
            }
            let out = self.ranks[0].0.out();
            is_lent &= out.returned().is_none();
            if count > 0 {
                continue;
            }
            let lost = out.loss_of(RANKS[1]).map(ToString::to_string);
            let late = began.get_or_insert_with(Instant::now).elapsed() > PATIENCE;
            if let Some(why) = lost.or_else(|| late.then(|| "it does not come".to_owned())) {
                let what = "sending a message within the device";
                return Err(VerbsError::System { what, why: io::Error::other(why) });
            }
            // The kernel may need this processor for it.
            thread::yield_now();
        }
        Ok(())
    }
}
