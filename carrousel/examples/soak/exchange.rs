//! Messages in any order, by every call that sends or receives.

use crate::plan::{Blocking, NEVER, PlannedMessage, Wildcards, content};
use crate::{Counts, pause};
use carrousel::{Any, Communicator, Request, Source, Status, Tag};
use fastrand::Rng;

/// The bytes of a receive's buffer before a message comes: those behind the message must stay so.
const UNTOUCHED: u8 = 0xa5;

/// The pattern of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pattern {
    from: Option<u32>,
    tag: Option<u32>,
    /// The room of its buffer, in bytes.
    bytes: usize,
}

impl Pattern {
    fn source(self) -> Source {
        self.from.map_or_else(|| Any.into(), Into::into)
    }

    fn tag(self) -> Tag {
        self.tag.map_or_else(|| Any.into(), Into::into)
    }
}

/// The result of a receive.
type Got = Option<(Status, Vec<u8>)>;

/// A rank's part of an exchange.
struct Part<'a> {
    communicator: &'a Communicator,
    /// The messages that this rank sends, in this order.
    outgoing: Vec<&'a PlannedMessage>,
    /// The messages that it receives, in the order in which each sender sends them.
    incoming: Vec<&'a PlannedMessage>,
    /// The patterns of its receives, in the order in which they are posted.
    patterns: Vec<Pattern>,
}

/// Carries out an exchange.
pub(crate) fn run(
    communicator: &Communicator,
    messages: &[PlannedMessage],
    (wildcards, blocking): (Wildcards, Blocking),
    rng: &mut Rng,
) -> Result<Counts, String> {
    let me = communicator.rank();
    let outgoing = messages.iter().filter(|message| message.from == me).collect();
    let incoming: Vec<&PlannedMessage> = messages.iter().filter(|message| message.to == me).collect();
    let patterns = patterns(&incoming, wildcards, rng);
    let part = Part { communicator, outgoing, incoming, patterns };
    let got = match (rng.u32(..4), blocking) {
        (0, _) => part.nonblocking(rng)?,
        (1, _) => part.scoped(rng)?,
        (_, Blocking::Sends) => part.blocking_sends(rng)?,
        (_, Blocking::Receives) => part.blocking_receives(rng)?,
    };
    part.check(got)
}

/// Patterns of receives by which every message is received, whichever arrives first.
fn patterns(incoming: &[&PlannedMessage], wildcards: Wildcards, rng: &mut Rng) -> Vec<Pattern> {
    let choice = match wildcards {
        Wildcards::Tag => rng.u32(..2),
        Wildcards::Source => rng.u32(..3),
        Wildcards::Both => rng.u32(..4),
    };
    let any_source = choice >= 2 && wildcards != Wildcards::Tag;
    let any_tag = choice == 1 || choice == 3;
    let class =
        |message: &PlannedMessage| ((!any_source).then_some(message.from), (!any_tag).then_some(message.tag));
    // In any order. Each receive is for a message of a class, and the messages of a class are received in the order
    // of sending.
    let mut order: Vec<&PlannedMessage> = incoming.to_vec();
    rng.shuffle(&mut order);
    let of_class = |message: &&&PlannedMessage| class(message);
    // The class may be from any source: it is not known which of its messages comes first.
    let largest =
        |wanted| incoming.iter().filter(|message| of_class(message) == wanted).map(|m| m.bytes).max();
    let mut taken: Vec<(Option<u32>, Option<u32>)> = Vec::new();
    let mut pattern = |message: &PlannedMessage| {
        let wanted = class(message);
        let at = taken.iter().filter(|other| **other == wanted).count();
        taken.push(wanted);
        let next = incoming.iter().filter(|message| of_class(message) == wanted).nth(at);
        let known = if any_source { largest(wanted) } else { next.map(|message| message.bytes) };
        // Sometimes with room to spare.
        let spare = if rng.u32(..4) == 0 { rng.usize(..300) } else { 0 };
        Pattern { from: wanted.0, tag: wanted.1, bytes: known.unwrap_or(0) + spare }
    };
    order.into_iter().map(&mut pattern).collect()
}

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Send(usize),
    Receive(usize),
    /// A receive that no message matches.
    Never,
}

/// Requests, and the purpose of each.
#[derive(Default)]
struct Requests {
    requests: Vec<Request<u8>>,
    purposes: Vec<Purpose>,
}

impl Requests {
    fn push(&mut self, request: Request<u8>, purpose: Purpose) {
        self.requests.push(request);
        self.purposes.push(purpose);
    }
}

impl Part<'_> {
    fn post_send(&self, at: usize, requests: &mut Requests) -> Result<(), String> {
        let message = self.outgoing[at];
        let data = content(message.key, message.bytes);
        let request = match message.synchronous {
            true => self.communicator.issend(data, message.to, message.tag),
            false => self.communicator.isend(data, message.to, message.tag),
        };
        requests.push(request.map_err(|error| error.to_string())?, Purpose::Send(at));
        Ok(())
    }

    fn post_receive(&self, at: usize, requests: &mut Requests) -> Result<(), String> {
        let pattern = self.patterns[at];
        let buffer = vec![UNTOUCHED; pattern.bytes];
        let request = self.communicator.irecv(buffer, pattern.source(), pattern.tag());
        requests.push(request.map_err(|error| error.to_string())?, Purpose::Receive(at));
        Ok(())
    }

    /// Posts a receive that no message will match.
    fn post_never(&self, rng: &mut Rng, requests: &mut Requests) -> Result<(), String> {
        let tag = NEVER + rng.u32(..3);
        let from = if rng.bool() { Any.into() } else { Source::from(rng.u32(..self.communicator.size())) };
        let request = self.communicator.irecv(vec![UNTOUCHED; rng.usize(..100)], from, tag);
        requests.push(request.map_err(|error| error.to_string())?, Purpose::Never);
        Ok(())
    }

    /// All by requests, in any order.
    fn nonblocking(&self, rng: &mut Rng) -> Result<Vec<Got>, String> {
        let mut is_send = [vec![true; self.outgoing.len()], vec![false; self.patterns.len()]].concat();
        rng.shuffle(&mut is_send);
        let (mut sends, mut receives, mut requests) = (0.., 0.., Requests::default());
        for is_send in is_send {
            match rng.u32(..30) {
                0 => self.post_never(rng, &mut requests)?,
                1 => pause(rng),
                2 => drop(requests.requests.last_mut().map(Request::test)),
                _ => {}
            }
            if is_send {
                self.post_send(sends.next().unwrap_or(0), &mut requests)?;
            } else {
                self.post_receive(receives.next().unwrap_or(0), &mut requests)?;
            }
        }
        self.complete(requests, rng)
    }

    /// Receives are posted, then everything is sent by calls that may wait for the receiver.
    fn blocking_sends(&self, rng: &mut Rng) -> Result<Vec<Got>, String> {
        let mut requests = Requests::default();
        for at in 0..self.patterns.len() {
            self.post_receive(at, &mut requests)?;
        }
        if rng.bool() {
            self.post_never(rng, &mut requests)?;
        }
        pause(rng);
        for message in &self.outgoing {
            let data = content(message.key, message.bytes);
            let sent = match message.synchronous {
                true => self.communicator.ssend(&data, message.to, message.tag),
                false => self.communicator.send(&data, message.to, message.tag),
            };
            sent.map_err(|error| error.to_string())?;
        }
        self.complete(requests, rng)
    }

    /// Sends are posted, then everything is received by calls that wait for it, some of them after a probe.
    fn blocking_receives(&self, rng: &mut Rng) -> Result<Vec<Got>, String> {
        let mut requests = Requests::default();
        for at in 0..self.outgoing.len() {
            self.post_send(at, &mut requests)?;
        }
        pause(rng);
        let mut got = Vec::with_capacity(self.patterns.len());
        for pattern in &self.patterns {
            got.push(Some(self.receive(*pattern, rng)?));
        }
        self.complete(requests, rng)?;
        Ok(got)
    }

    /// Receives a message, perhaps after a look at it, or after it was claimed.
    fn receive(&self, pattern: Pattern, rng: &mut Rng) -> Result<(Status, Vec<u8>), String> {
        let communicator = self.communicator;
        let found = match rng.u32(..4) {
            0 => None,
            3 => return self.receive_claimed(pattern, rng),
            1 => {
                Some(communicator.probe(pattern.source(), pattern.tag()).map_err(|error| error.to_string())?)
            }
            _ => loop {
                let found = communicator.iprobe(pattern.source(), pattern.tag());
                match found.map_err(|error| error.to_string())? {
                    Some(found) => break Some(found),
                    None => std::thread::yield_now(),
                }
            },
        };
        let Some(found) = found else {
            let mut buffer = vec![UNTOUCHED; pattern.bytes];
            let status = communicator.recv(&mut buffer, pattern.source(), pattern.tag());
            return Ok((status.map_err(|error| error.to_string())?, buffer));
        };
        // The receive gets the message that the probe has found.
        let mut buffer = vec![UNTOUCHED; found.count::<u8>().map_err(|error| error.to_string())?];
        let status =
            communicator.recv(&mut buffer, found.source, found.tag).map_err(|error| error.to_string())?;
        if status != found {
            return Err(format!("a probe has found {found:?}, and the receive has got {status:?}"));
        }
        Ok((status, buffer))
    }

    /// Claims a message, and receives it.
    fn receive_claimed(&self, pattern: Pattern, rng: &mut Rng) -> Result<(Status, Vec<u8>), String> {
        let told = |error: carrousel::Error| error.to_string();
        let message = self.communicator.mprobe(pattern.source(), pattern.tag()).map_err(told)?;
        let claimed = message.status();
        let mut buffer = vec![UNTOUCHED; claimed.count::<u8>().map_err(told)?];
        let got = if rng.bool() {
            Some(message.recv(&mut buffer).map_err(told)?)
        } else {
            let request = message.irecv(buffer).map_err(told)?;
            pause(rng);
            let ended = request.wait().map_err(told)?;
            buffer = ended.0;
            ended.1
        };
        match got {
            Some(status) if status == claimed => Ok((status, buffer)),
            other => Err(format!("{claimed:?} was claimed, and the receive has got {other:?}")),
        }
    }

    /// Requests that borrow their buffers; some are waited for by name, and the end of the scope waits for the others.
    fn scoped(&self, rng: &mut Rng) -> Result<Vec<Got>, String> {
        let sent: Vec<Vec<u8>> =
            self.outgoing.iter().map(|message| content(message.key, message.bytes)).collect();
        let mut buffers: Vec<Vec<u8>> =
            self.patterns.iter().map(|pattern| vec![UNTOUCHED; pattern.bytes]).collect();
        let mut nothing = [UNTOUCHED; 50];
        let mut statuses = vec![None; self.patterns.len()];
        let ended = self.communicator.scope(|scope| {
            let mut receives = Vec::new();
            let mut never = scope.irecv(&mut nothing, Any, NEVER)?;
            for (at, (buffer, pattern)) in buffers.iter_mut().zip(&self.patterns).enumerate() {
                receives.push((at, scope.irecv(&mut buffer[..], pattern.source(), pattern.tag())?));
            }
            let mut sends = Vec::new();
            for (data, message) in sent.iter().zip(&self.outgoing) {
                sends.push(match message.synchronous {
                    true => scope.issend(&data[..], message.to, message.tag)?,
                    false => scope.isend(&data[..], message.to, message.tag)?,
                });
            }
            pause(rng);
            never.cancel();
            rng.shuffle(&mut receives);
            for (at, mut request) in receives {
                while rng.bool() && !request.test() {}
                statuses[at] = request.wait()?;
            }
            rng.shuffle(&mut sends);
            sends.truncate(rng.usize(..=sends.len()));
            carrousel::wait_all(sends)?;
            Ok(())
        });
        ended.map_err(|error| error.to_string())?;
        if nothing != [UNTOUCHED; 50] {
            return Err("a receive that was cancelled has written to its buffer".to_owned());
        }
        Ok(statuses.into_iter().zip(buffers).map(|(status, buffer)| Some((status?, buffer))).collect())
    }

    /// Waits for requests, in one of many ways. Returns the results of the receives, by place.
    fn complete(&self, requests: Requests, rng: &mut Rng) -> Result<Vec<Got>, String> {
        let Requests { mut requests, mut purposes } = requests;
        let mut got: Vec<Got> = vec![None; self.patterns.len()];
        for (request, _) in
            requests.iter_mut().zip(&purposes).filter(|(_, purpose)| **purpose == Purpose::Never)
        {
            request.cancel();
        }
        let way = rng.u32(..5);
        while !requests.is_empty() {
            let (at, ended) = match way {
                0 => (0, requests.remove(0).wait()),
                1 => {
                    let at = rng.usize(..requests.len());
                    (at, requests.remove(at).wait())
                }
                2 => {
                    carrousel::wait_any(&mut requests).ok_or("there is a request, and nothing to wait for")?
                }
                3 => {
                    let at = loop {
                        if let Some(at) = requests.iter_mut().position(Request::test) {
                            break at;
                        }
                    };
                    (at, requests.remove(at).wait())
                }
                _ => (0, carrousel::block_on(requests.remove(0))),
            };
            let (buffer, status) = ended.map_err(|error| error.to_string())?;
            match (purposes.remove(at), status) {
                (Purpose::Never, None) => {}
                (Purpose::Never, Some(status)) => {
                    return Err(format!("a receive of what nobody sends has got {status:?}"));
                }
                (Purpose::Send(sent), None) => {
                    let message = self.outgoing[sent];
                    if buffer != content(message.key, message.bytes) {
                        return Err(format!("sending {message:?} has changed its buffer"));
                    }
                }
                (Purpose::Send(sent), Some(status)) => {
                    return Err(format!("a send of {:?} has got {status:?}", self.outgoing[sent]));
                }
                (Purpose::Receive(receive), status) => {
                    let status = status.ok_or("a receive has ended without a message")?;
                    got[receive] = Some((status, buffer));
                }
            }
        }
        Ok(got)
    }

    /// Checks that each receive has got its message. Receives get the messages of each sender in the order of
    /// sending, as far as they match, in the order in which the receives were posted.
    fn check(&self, got: Vec<Got>) -> Result<Counts, String> {
        let mut left = self.incoming.clone();
        let mut counts = Counts::default();
        for (pattern, got) in self.patterns.iter().zip(got) {
            let (status, buffer) = got.ok_or("a receive has ended without a message")?;
            let of_tag = |message: &PlannedMessage| pattern.tag.is_none_or(|tag| message.tag == tag);
            let is_next = |message: &&PlannedMessage| message.from == status.source && of_tag(message);
            let at = left.iter().position(is_next);
            let Some(at) = at else {
                return Err(format!("{pattern:?} has got {status:?}, which nobody sends"));
            };
            let message = left.remove(at);
            if pattern.from.is_some_and(|from| from != status.source) {
                return Err(format!("{pattern:?} has got {status:?}"));
            }
            check(message, status, &buffer).map_err(|wrong| format!("{pattern:?}: {wrong}"))?;
            counts.add(message.bytes);
        }
        match left.first() {
            None => Ok(counts),
            Some(message) => Err(format!("{message:?} was not received")),
        }
    }
}

/// Checks that a receive has got this message.
fn check(message: &PlannedMessage, status: Status, buffer: &[u8]) -> Result<(), String> {
    let expected = Status { source: message.from, tag: message.tag, bytes: message.bytes as u64 };
    if status != expected {
        return Err(format!("{status:?}, expected {expected:?}"));
    }
    let (data, behind) = buffer.split_at(message.bytes.min(buffer.len()));
    let wanted = content(message.key, message.bytes);
    if data != wanted {
        let at = data.iter().zip(&wanted).position(|(found, wanted)| found != wanted).unwrap_or(data.len());
        let wrong = data.iter().zip(&wanted).filter(|(found, wanted)| found != wanted).count();
        return Err(format!("{wrong} bytes of {message:?} are wrong, the first one at {at}"));
    }
    match behind.iter().position(|byte| *byte != UNTOUCHED) {
        None => Ok(()),
        Some(at) => Err(format!("{message:?} has changed byte {at} behind its end")),
    }
}

/// Messages whose receives are cancelled. Each receive has got its message, or the message can be received again.
pub(crate) fn race(
    communicator: &Communicator,
    messages: &[PlannedMessage],
    rng: &mut Rng,
) -> Result<Counts, String> {
    let me = communicator.rank();
    let text = |error: carrousel::Error| error.to_string();
    let mut sends = Vec::new();
    let mut receives = Vec::new();
    for message in messages {
        if message.to == me {
            let buffer = vec![UNTOUCHED; message.bytes];
            receives.push((message, communicator.irecv(buffer, message.from, message.tag).map_err(text)?));
        }
        if message.from == me {
            pause(rng);
            let data = content(message.key, message.bytes);
            let request = match message.synchronous {
                true => communicator.issend(data, message.to, message.tag),
                false => communicator.isend(data, message.to, message.tag),
            };
            sends.push(request.map_err(text)?);
        }
    }
    let mut counts = Counts::default();
    for (message, mut request) in receives {
        if rng.bool() {
            pause(rng);
        }
        request.cancel();
        let (buffer, status) = request.wait().map_err(text)?;
        match status {
            Some(status) => check(message, status, &buffer)?,
            None => {
                if buffer.iter().any(|byte| *byte != UNTOUCHED) {
                    return Err(format!("a cancelled receive of {message:?} has written to its buffer"));
                }
                let mut buffer = vec![UNTOUCHED; message.bytes];
                let status = communicator.recv(&mut buffer, message.from, message.tag).map_err(text)?;
                check(message, status, &buffer)?;
            }
        }
        counts.add(message.bytes);
    }
    carrousel::wait_all(sends).map_err(text)?;
    Ok(counts)
}
