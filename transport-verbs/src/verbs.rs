//! The transport between this rank and its peers on other nodes.

use crate::frame::{self, CREDITS, GOODBYE, LEAVES, NUMBERED, PACKET};
use crate::ibv::{BounceBuffers, Completion, Completions, Device, ReceiveBuffers, Shape};
use crate::outbound::Out;
use crate::rail::SENDS;
use crate::wireup::{Common, Wireup};
use crate::{Access, Address, Loss, Registrations, Settings, VerbsError, ready};
use carrousel_connection::{Credits, ORDERED_MAX, Rules};
use carrousel_registration::Policy;
use carrousel_transport::{Arrival, HEAD_MAX, Handler, Header, Name, RankId, Transport};
use rustix::io::Errno;
use std::hash::{BuildHasher, RandomState};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

/// Work requests of all peers together, as far as the device can have so many completions.
const OUTSTANDING: u32 = 8 << 10;
/// Packets at a time that are too large to be copied into a work request.
const BOUNCE_BUFFERS: u32 = 256;
/// Completions that are taken at once.
const BATCH: usize = 16;
/// Between two times at which peers that nothing is posted to are asked whether they live.
const PROBE: Duration = Duration::from_millis(500);

/// The transport between this rank and its peers on other nodes.
#[derive(Debug)]
pub struct Verbs {
    // The queue pairs go first: then nothing is posted any more.
    out: Out,
    completions: Arc<Completions>,
    receives: ReceiveBuffers,
    device: Arc<Device>,
    eager: u64,
    keep: bool,
    reuse: Option<Policy>,
    /// When peers are asked next whether they live; `None` before the first poll.
    probe_at: Option<Duration>,
    /// Whether a notice of completions is to come, or has come and was not taken.
    armed: bool,
}

impl Verbs {
    /// The end of rank `me` of a job of `ranks`.
    ///
    /// # Errors
    /// When there is no device with a port that is up, or the system refuses.
    pub fn new(me: RankId, ranks: u32, settings: &Settings) -> Result<Self, VerbsError> {
        let device = Device::open(&settings.choice)?;
        Self::over(&device, me, ranks, settings)
    }

    /// As [`Verbs::new`], over a device that is open: what is registered with it can be used here. What the device says
    /// by itself is heard by one of those that share it; the others notice by what they post.
    ///
    /// # Errors
    /// As [`Verbs::new`].
    pub fn over(
        device: &Arc<Device>,
        me: RankId,
        ranks: u32,
        settings: &Settings,
    ) -> Result<Self, VerbsError> {
        let name: Name = Box::new(move |name| {
            let rank = RankId(u32::from_le_bytes(name.try_into().ok()?));
            (rank != me && rank.0 < ranks).then_some(rank)
        });
        let key = RandomState::new().hash_one(std::process::id());
        let made = Self::open(device, ranks, key, name, settings)?;
        // A rank is known by its number.
        made.introduce_as(&me.0.to_le_bytes());
        Ok(made)
    }

    /// The end of a process whose peers are not known ahead. They introduce themselves by the texts that are set there by
    /// [`Verbs::introduce_as`], and `name` says which of up to `most` ranks each is, here: from a thread. Peers without a
    /// name, and those that do not know `key`, a number that only the address tells, are not heard.
    ///
    /// # Errors
    /// As [`Verbs::new`].
    pub fn open(
        device: &Arc<Device>,
        most: u32,
        key: u64,
        name: Name,
        settings: &Settings,
    ) -> Result<Self, VerbsError> {
        let size = settings.eager as usize + HEAD_MAX;
        // A window that the receive buffers cannot hold would only be refused by the adapter, again and again.
        // Not counted are buffers that were read and wait to be posted in a batch: for those the adapter has
        // senders wait, and all are posted when there is nothing else to do (IDLE_POSTS_ALL).
        let window = settings.window.clamp(2, ORDERED_MAX);
        // Before a goodbye a peer may say that it leaves; by a second rail comes a second goodbye.
        let words = 1 + u32::from(settings.second().is_some());
        let more = Credits::<Rules>::buffers(window) - u32::from(window) + words;
        let window = (settings.receives.saturating_sub(more).min(window.into()) as u16).max(2);
        let receives = ReceiveBuffers::new(device, settings.receives.max(window.into()), size)?;
        let completions = Arc::new(Completions::new(device, receives.count() + OUTSTANDING)?);
        let room = completions.capacity().saturating_sub(receives.count()).max(3);
        let bounce_buffers = BounceBuffers::new(device, BOUNCE_BUFFERS, size, Access::Own)?;
        let shape = Shape {
            depth: settings.depth.min(device.limits.queue_depth).max(4),
            inline: settings.inline,
            service_level: settings.service_level,
            timeout: settings.timeout,
            retries: settings.retries,
        };
        let common = Common {
            device: Arc::clone(device),
            completions: Arc::clone(&completions),
            receives: Arc::clone(receives.queue()),
            shape,
            window,
            second: settings.second(),
            control_service_level: settings.control_service_level,
            patience: settings.patience,
        };
        let wireup = Wireup::start(common, key, name)?;
        let out = Out::new(device, most, wireup, bounce_buffers, room);
        Ok(Self {
            out,
            completions,
            receives,
            device: Arc::clone(device),
            eager: settings.eager,
            keep: settings.keep,
            reuse: settings.reuse,
            probe_at: None,
            armed: false,
        })
    }

    /// The device that these settings choose, and what is done with it, in words.
    ///
    /// # Errors
    /// As [`Device::open`].
    pub fn describe(settings: &Settings) -> Result<String, VerbsError> {
        let device = Device::open(&settings.choice)?;
        let kept = Registrations::new(&device, settings.keep, settings.reuse).describe();
        let second =
            |level| format!("; packets without data go by second queue pairs, of service level {level}");
        let second = settings.second().map(second).unwrap_or_default();
        Ok(format!("{}; {kept}{second}", device.describe()))
    }

    /// What peers need to connect.
    pub fn address(&self) -> Address {
        self.out.wireup.address()
    }

    /// Sets what this process says of itself to peers, before its address is told to any.
    pub fn introduce_as(&self, text: &[u8]) {
        self.out.wireup.introduce_as(text);
    }

    /// The device.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// For the memory of the application that its operations are about.
    pub fn registrations(&self) -> Registrations {
        Registrations::new(&self.device, self.keep, self.reuse)
    }

    /// The most data, in bytes, that a packet can have.
    pub fn largest_eager(&self) -> u64 {
        self.eager
    }

    /// Looks once a period whether connected peers still acknowledge.
    #[inline]
    fn probe(&mut self, now: Duration) {
        if self.probe_at.is_none_or(|at| now >= at) {
            self.probe_now(now);
        }
    }

    #[cold]
    fn probe_now(&mut self, now: Duration) {
        // The first poll begins the first period.
        if self.probe_at.replace(now + PROBE).is_some() {
            self.out.probe();
        }
    }

    /// Says to all peers that the application of this process receives no message any more. Packets are taken as before.
    pub fn leave(&mut self) {
        self.out.say(LEAVES, false);
    }

    /// Says to all peers that this process has sent all of its messages, and needs no more of theirs: that it ends is no
    /// loss. A barrier of all ranks comes before it.
    pub fn finish(&mut self) {
        self.out.say(GOODBYE, true);
    }

    /// The peers that have not [finished](Verbs::finish), and have not acknowledged everything that was posted. The end of
    /// this transport would lose it.
    pub fn unacknowledged(&mut self) -> Vec<RankId> {
        self.out.drain()
    }

    /// Sleeps until something may have arrived, at most for `timeout`, and takes it as [`Transport::poll`] does. What
    /// comes before it sleeps is noticed.
    pub fn sleep(&mut self, now: Duration, handler: &mut impl Handler<Out>, timeout: Duration) -> usize {
        if !self.armed {
            let armed = self.completions.arm();
            self.armed = self.succeeds(armed);
        }
        // What has come before that is not announced.
        let taken = self.poll(now, handler);
        if taken > 0 {
            return taken;
        }
        let bell = self.out.wireup.bell().as_fd();
        let ready = if self.out.has_failed() {
            // What was to be readable may be gone; there is still the bell.
            ready::wait([bell], Some(timeout)).map(|[bell]| [false, bell])
        } else {
            ready::wait([self.completions.readable(), bell], Some(timeout))
        };
        let failed = |why: Errno| VerbsError::System { what: "waiting for completions", why: why.into() };
        match ready.map_err(failed) {
            Ok([completions, bell]) => {
                if completions {
                    self.armed = false;
                    let noticed = self.completions.noticed();
                    self.succeeds(noticed);
                }
                if bell {
                    self.out.wireup.heard();
                }
            }
            Err(error) => self.out.device_failed(&error),
        }
        self.poll(now, handler)
    }

    /// Whether something of the device has succeeded; if not, then all peers are lost.
    fn succeeds(&mut self, result: Result<(), VerbsError>) -> bool {
        result.inspect_err(|error| self.out.device_failed(error)).is_ok()
    }
}

/// Takes one completion of a receive.
#[inline]
fn received(
    completion: &Completion,
    receives: &mut ReceiveBuffers,
    handler: &mut impl Handler<Out>,
    out: &mut Out,
) -> Result<(), VerbsError> {
    let slot = completion.id() as u32;
    if completion.failure().is_none()
        && let Some(rank) = out.sender(completion.pair())
    {
        let bytes = receives.bytes(slot, completion.len());
        if let Err(loss) = accept(rank, completion.immediate(), bytes, handler, out) {
            out.lose(rank, loss);
        }
    }
    receives.done(slot)
}

/// Takes one frame.
#[inline]
fn accept(
    from: RankId,
    immediate: u32,
    bytes: &[u8],
    handler: &mut impl Handler<Out>,
    out: &mut Out,
) -> Result<(), Loss> {
    let (kind, credits) = frame::parts(immediate);
    if credits > 0 {
        out.credited(from, credits)?;
    }
    match kind {
        PACKET => take(from, header(bytes)?, handler, out),
        CREDITS => {}
        kind if kind & NUMBERED != 0 => return accept_numbered(from, kind & !NUMBERED, bytes, handler, out),
        word => return hear(from, word, out),
    }
    Ok(())
}

/// Takes a word of a peer that is about to end.
#[cold]
#[inline(never)]
fn hear(from: RankId, word: u16, out: &mut Out) -> Result<(), Loss> {
    match word {
        LEAVES => out.leaves(from),
        GOODBYE => out.finished(from),
        other => return Err(Loss::Nonsense(format!("a frame of kind {other}"))),
    }
    Ok(())
}

/// The header of a packet, and what is behind it.
#[inline]
fn header(bytes: &[u8]) -> Result<(Header, &[u8]), Loss> {
    match bytes.split_first_chunk() {
        Some((header, payload)) => Ok((Header::from_bytes(*header), payload)),
        None => Err(too_short(bytes.len())),
    }
}

#[cold]
fn too_short(len: usize) -> Loss {
    Loss::Nonsense(format!("a packet of {len} bytes, which is shorter than a header"))
}

/// Takes a packet whose turn it is.
#[inline]
fn take(from: RankId, (packet, payload): (Header, &[u8]), handler: &mut impl Handler<Out>, out: &mut Out) {
    // Before the packet is looked at: what follows from it can carry the credit.
    out.took(from);
    handler.arrival(Arrival::Packet { from, context: packet.context(), packet }, payload, out);
}

/// Takes a packet that has come by one of two rails, when its turn has come.
#[cold]
fn accept_numbered(
    from: RankId,
    number: u16,
    bytes: &[u8],
    handler: &mut impl Handler<Out>,
    out: &mut Out,
) -> Result<(), Loss> {
    let packet = header(bytes)?;
    let direction = packet.0.direction();
    if out.is_next(from, direction, number, bytes)? {
        take(from, packet, handler, out);
        // What comes of a packet may lose the peer: then nothing more is ready.
        while let Some(bytes) = out.ready(from, direction) {
            take(from, header(&bytes)?, handler, out);
        }
    }
    Ok(())
}

impl Out {
    /// Reports losses, then completions: a completion cannot say that it is one of a failure, so the loss
    /// has to be known by then. What is posted meanwhile has to wait for the next time.
    #[cold]
    fn report<H: Handler<Self>>(&mut self, handler: &mut H) -> usize {
        let mut count = 0;
        while let Some(rank) = self.to_report.pop_front() {
            count += 1;
            handler.arrival(Arrival::Lost(rank), &[] as &[u8], self);
        }
        for _ in 0..self.done.len() {
            let Some(arrival) = self.done.pop_front() else { break };
            count += 1;
            handler.arrival(arrival, &[] as &[u8], self);
        }
        count
    }
}

impl Transport for Verbs {
    type Out = Out;

    #[inline]
    fn out(&mut self) -> &mut Out {
        &mut self.out
    }

    fn next_poll(&self) -> Option<Duration> {
        self.probe_at
    }

    fn poll(&mut self, now: Duration, handler: &mut impl Handler<Out>) -> usize {
        let Self { out, completions, receives, .. } = self;
        let mut count = out.poll_wireup();
        let mut room = [const { MaybeUninit::<Completion>::uninit() }; BATCH];
        let taken = completions.poll(&mut room).and_then(|taken| {
            for completion in taken {
                if completion.id() & SENDS != 0 {
                    out.complete(completion);
                } else {
                    received(completion, receives, handler, out)?;
                }
            }
            if taken.len() < BATCH {
                // There is nothing better to do.
                receives.refill(true)?;
            }
            Ok(taken.len())
        });
        match taken {
            Ok(taken) => count += taken,
            Err(error) => out.device_failed(&error),
        }
        count += out.flush();
        if !out.to_report.is_empty() || !out.done.is_empty() {
            count += out.report(handler);
        }
        if count == 0 {
            self.probe(now);
        }
        count
    }
}
