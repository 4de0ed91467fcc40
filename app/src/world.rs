//! A rank, real or simulated, as its program sees it.

use crate::request::{Request, received};
use carrousel::{CallSite, Communicator, Element, Error, RankOrTag, Source, Status, Tag};
use carrousel_rank::{TagSelector, check_mpi_tag, mpi};
use carrousel_transport_sim::{Ended, Incoming, Outgoing, Port};
use std::future::Future;
use std::panic::Location;
use std::time::{Duration, Instant};
use zerocopy::IntoBytes;

/// All ranks of the job, as one of them sees them. Cheap to clone.
#[derive(Clone, Debug)]
pub struct World(pub(crate) WorldKind);

/// The two kinds of ranks.
#[derive(Clone, Debug)]
pub(crate) enum WorldKind {
    /// A process, or a thread, and the time at which it began.
    Real(Communicator, Instant),
    /// A task.
    Simulated(Port),
}

/// A message to send, in the form of the simulator.
pub(crate) fn outgoing<T: Element>(data: &[T], to: u32, tag: u32, synchronous: bool) -> Outgoing {
    Outgoing { to, tag, data: data.as_bytes().to_vec(), synchronous }
}

/// A receive into `buffer`, in the form of the simulator.
pub(crate) fn incoming<T: Element>(buffer: &[T], from: impl Into<Source>, tag: impl Into<Tag>) -> Incoming {
    Incoming { from: from.into().into(), tag: tag.into().into(), room: size_of_val(buffer) }
}

/// The same for a blocking receive, which cannot be cancelled.
fn got<T: Element>(ended: &Ended, buffer: &mut [T]) -> Result<Status, Error> {
    received(ended, buffer)?.ok_or(Error::Internal("a receive has ended without a message"))
}

impl World {
    /// The ranks of a communicator, for real.
    pub(crate) fn real(communicator: Communicator) -> Self {
        Self(WorldKind::Real(communicator, Instant::now()))
    }

    /// The number of this rank, from 0.
    pub fn rank(&self) -> u32 {
        match &self.0 {
            WorldKind::Real(world, _) => world.rank(),
            WorldKind::Simulated(port) => port.rank(),
        }
    }

    /// The number of ranks.
    pub fn size(&self) -> u32 {
        match &self.0 {
            WorldKind::Real(world, _) => world.size(),
            WorldKind::Simulated(port) => port.size(),
        }
    }

    /// Whether time is virtual.
    pub fn is_simulated(&self) -> bool {
        matches!(self.0, WorldKind::Simulated(_))
    }

    /// The time since the rank began (`MPI_Wtime`); virtual if it is simulated.
    pub fn now(&self) -> Duration {
        match &self.0 {
            WorldKind::Real(_, begin) => begin.elapsed(),
            WorldKind::Simulated(port) => Duration::from_nanos(port.now_ns()),
        }
    }

    /// Keeps the processor busy for this time.
    #[track_caller]
    pub fn compute(&self, time: Duration) -> impl Future<Output = ()> {
        let place = Location::caller();
        async move {
            match &self.0 {
                WorldKind::Real(..) => {
                    let begin = Instant::now();
                    while begin.elapsed() < time {
                        std::hint::spin_loop();
                    }
                }
                WorldKind::Simulated(port) => {
                    let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
                    port.compute(ns, place).await;
                }
            }
        }
    }

    /// Computes `work`. In a simulation, that takes `time` of the rank's processor, however long it really takes; in
    /// a real run, `time` is ignored.
    #[track_caller]
    pub fn compute_as<T>(&self, time: Duration, work: impl FnOnce() -> T) -> impl Future<Output = T> {
        let place = Location::caller();
        async move {
            let value = work();
            if let WorldKind::Simulated(port) = &self.0 {
                port.compute(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), place).await;
            }
            value
        }
    }

    /// Sends `data` to rank `to`, and returns once it may be changed (`MPI_Send`).
    ///
    /// # Errors
    /// If there is no such rank or tag (at most 2^31-1), or the peer is gone.
    #[track_caller]
    pub fn send<T: Element>(
        &self,
        data: &[T],
        to: impl Into<RankOrTag>,
        tag: impl Into<RankOrTag>,
    ) -> impl Future<Output = Result<(), Error>> {
        self.blocking_send(data, RankOrTag::of(to), RankOrTag::of(tag), false)
    }

    /// As [`World::send`], but returns only once the receive has begun (`MPI_Ssend`).
    ///
    /// # Errors
    /// As [`World::send`].
    #[track_caller]
    pub fn ssend<T: Element>(
        &self,
        data: &[T],
        to: impl Into<RankOrTag>,
        tag: impl Into<RankOrTag>,
    ) -> impl Future<Output = Result<(), Error>> {
        self.blocking_send(data, RankOrTag::of(to), RankOrTag::of(tag), true)
    }

    #[track_caller]
    fn blocking_send<T: Element>(
        &self,
        data: &[T],
        to: u32,
        tag: u32,
        synchronous: bool,
    ) -> impl Future<Output = Result<(), Error>> {
        let place = Location::caller();
        async move {
            match &self.0 {
                WorldKind::Real(world, _) if synchronous => {
                    world.at(CallSite::Source(place)).ssend(data, to, tag)
                }
                WorldKind::Real(world, _) => world.at(CallSite::Source(place)).send(data, to, tag),
                WorldKind::Simulated(port) => {
                    port.send(outgoing(data, to, tag, synchronous), place).await?;
                    Ok(())
                }
            }
        }
    }

    /// Receives a message into the beginning of `buffer` (`MPI_Recv`). `from` is a rank or
    /// [`Any`](crate::Any), and so is `tag`.
    ///
    /// # Errors
    /// If there is no such rank or tag, the message is longer than the buffer, or the peer is gone.
    #[track_caller]
    pub fn recv<T: Element>(
        &self,
        buffer: &mut [T],
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> impl Future<Output = Result<Status, Error>> {
        let place = Location::caller();
        async move {
            match &self.0 {
                WorldKind::Real(world, _) => world.at(CallSite::Source(place)).recv(buffer, from, tag),
                WorldKind::Simulated(port) => {
                    got(&port.receive(incoming(buffer, from, tag), place).await?, buffer)
                }
            }
        }
    }

    /// Sends `data` and receives into `buffer` at the same time (`MPI_Sendrecv`).
    ///
    /// # Errors
    /// As [`World::send`] and [`World::recv`].
    #[track_caller]
    pub fn sendrecv<T: Element, U: Element>(
        &self,
        data: &[T],
        to: impl Into<RankOrTag>,
        send_tag: impl Into<RankOrTag>,
        buffer: &mut [U],
        from: impl Into<Source>,
        recv_tag: impl Into<Tag>,
    ) -> impl Future<Output = Result<Status, Error>> {
        let (to, send_tag) = (RankOrTag::of(to), RankOrTag::of(send_tag));
        let place = Location::caller();
        async move {
            match &self.0 {
                WorldKind::Real(world, _) => {
                    world.at(CallSite::Source(place)).sendrecv(data, to, send_tag, buffer, from, recv_tag)
                }
                WorldKind::Simulated(port) => {
                    let out = outgoing(data, to, send_tag, false);
                    let into = incoming(buffer, from, recv_tag);
                    got(&port.exchange(out, into, place).await?, buffer)
                }
            }
        }
    }

    /// Starts a standard send of `data` (`MPI_Isend`), which comes back when the request is awaited.
    ///
    /// # Errors
    /// If there is no such rank or tag.
    #[track_caller]
    pub fn isend<T: Element>(
        &self,
        data: Vec<T>,
        to: impl Into<RankOrTag>,
        tag: impl Into<RankOrTag>,
    ) -> impl Future<Output = Result<Request<T>, Error>> {
        self.start_send(data, RankOrTag::of(to), RankOrTag::of(tag), false)
    }

    /// Starts a synchronous send of `data` (`MPI_Issend`): complete only once its receive has begun.
    ///
    /// # Errors
    /// If there is no such rank or tag.
    #[track_caller]
    pub fn issend<T: Element>(
        &self,
        data: Vec<T>,
        to: impl Into<RankOrTag>,
        tag: impl Into<RankOrTag>,
    ) -> impl Future<Output = Result<Request<T>, Error>> {
        self.start_send(data, RankOrTag::of(to), RankOrTag::of(tag), true)
    }

    #[track_caller]
    fn start_send<T: Element>(
        &self,
        data: Vec<T>,
        to: u32,
        tag: u32,
        synchronous: bool,
    ) -> impl Future<Output = Result<Request<T>, Error>> {
        let place = Location::caller();
        async move {
            match &self.0 {
                WorldKind::Real(world, _) if synchronous => {
                    world.at(CallSite::Source(place)).issend(data, to, tag).map(Request::real)
                }
                WorldKind::Real(world, _) => {
                    world.at(CallSite::Source(place)).isend(data, to, tag).map(Request::real)
                }
                WorldKind::Simulated(port) => {
                    let flight = port.start_send(outgoing(&data, to, tag, synchronous), place).await?;
                    Ok(Request::simulated(port.clone(), flight, data))
                }
            }
        }
    }

    /// Starts a receive into `buffer` (`MPI_Irecv`), which comes back when the request is awaited.
    ///
    /// # Errors
    /// If there is no such rank or tag.
    #[track_caller]
    pub fn irecv<T: Element>(
        &self,
        buffer: Vec<T>,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> impl Future<Output = Result<Request<T>, Error>> {
        let place = Location::caller();
        async move {
            match &self.0 {
                WorldKind::Real(world, _) => {
                    world.at(CallSite::Source(place)).irecv(buffer, from, tag).map(Request::real)
                }
                WorldKind::Simulated(port) => {
                    let flight = port.start_receive(incoming(&buffer, from, tag), place).await?;
                    Ok(Request::simulated(port.clone(), flight, buffer))
                }
            }
        }
    }

    /// Waits until such a message can be received, and does not receive it (`MPI_Probe`).
    ///
    /// # Errors
    /// If there is no such rank or tag.
    #[track_caller]
    pub fn probe(
        &self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> impl Future<Output = Result<Status, Error>> {
        let place = Location::caller();
        async move {
            match &self.0 {
                WorldKind::Real(world, _) => world.at(CallSite::Source(place)).probe(from, tag),
                WorldKind::Simulated(port) => {
                    let found = look(port, from, tag.into().into(), true, place).await?;
                    found.ok_or(Error::Internal("a probe has ended without a message"))
                }
            }
        }
    }

    /// Whether such a message can be received now (`MPI_Iprobe`). Makes progress.
    ///
    /// # Errors
    /// If there is no such rank or tag.
    #[track_caller]
    pub fn iprobe(
        &self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> impl Future<Output = Result<Option<Status>, Error>> {
        let place = Location::caller();
        async move {
            match &self.0 {
                WorldKind::Real(world, _) => world.at(CallSite::Source(place)).iprobe(from, tag),
                WorldKind::Simulated(port) => look(port, from, tag.into().into(), false, place).await,
            }
        }
    }
}

/// Probes in the simulator.
async fn look(
    port: &Port,
    from: impl Into<Source>,
    tag: TagSelector,
    blocking: bool,
    place: &'static Location<'static>,
) -> Result<Option<Status>, Error> {
    check_mpi_tag(tag.tag())?;
    let found = port.probe(from.into().into(), tag, blocking, place).await;
    Ok(found.map(|(envelope, bytes)| Status {
        source: envelope.source.0,
        tag: mpi::number(envelope.tag),
        bytes,
    }))
}
