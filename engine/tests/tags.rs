//! Tags of 64 bits, masks of ignored bits, and the 8 bytes that travel with a message, from end to end.
#![allow(unsafe_code, reason = "the endpoint's memory is lent by pointer")]

use carrousel_engine::{CallContext, Endpoint, Found, LocalJob, SendEnvelope, SendKind};
use carrousel_rank::{
    Communicator, Context, Envelope, Handle, RankId, Source, Status, Tag, TagSelector, mpi,
};
use carrousel_transport_shm::Settings;

const WORLD: CallContext = CallContext { communicator: Communicator::WORLD, site: None };

/// Bits of the tags that the receives ignore, above those of MPI's tags, and one that they do not ignore.
const IGNORED: u64 = 1 << 63 | 1 << 40 | 1 << 32;
const COMPARED: u64 = 1 << 62;
/// The tag of the messages, and another one that the receives do not accept.
const SENT: Tag = Tag(COMPARED | 1 << 63 | 1 << 32 | 7);
const OTHER: Tag = Tag(SENT.0 & !COMPARED);
const ACCEPTED: TagSelector = TagSelector::new(Tag(COMPARED | 1 << 40 | 7), IGNORED);

/// On both sides of the threshold of eager messages.
const SIZES: [usize; 3] = [0, 100, 100_000];
const DATA: [Option<u64>; 3] = [None, Some(0), Some(0xfedc_ba98_7654_3210)];

/// When the receive comes, and how it finds the message.
#[derive(Clone, Copy, Debug)]
enum Receiver {
    Early,
    Late,
    Probes,
    Claims,
}

/// Two ranks, driven by one thread.
struct Pair([Endpoint; 2]);

impl Pair {
    fn new(settings: Settings) -> Self {
        let job = LocalJob::new(2);
        Self([0, 1].map(|me| job.shm(me, settings).expect("there is memory")))
    }

    /// Gives both ranks progress until there is a result.
    fn until<T>(&mut self, mut result: impl FnMut(&mut Self) -> Option<T>) -> T {
        for _ in 0..1_000_000 {
            if let Some(result) = result(self) {
                return result;
            }
            self.0.iter_mut().for_each(|endpoint| _ = endpoint.poll());
        }
        panic!("it waits for ever")
    }

    /// Lets everything arrive.
    fn settle(&mut self) {
        for _ in 0..100 {
            self.0.iter_mut().for_each(|endpoint| _ = endpoint.poll());
        }
    }

    /// Starts a send of rank 0.
    fn send(&mut self, bytes: &[u8], envelope: SendEnvelope, kind: SendKind) -> Option<Handle> {
        // SAFETY: the callers keep the bytes, and do not change them, until they have ended the request.
        unsafe { self.0[0].send(bytes, WORLD.caller(), envelope, kind) }.expect("there is such a rank")
    }

    /// Starts a receive of a rank.
    fn receive(&mut self, at: RankId, bytes: &mut [u8], from: Source, tag: TagSelector) -> Handle {
        // SAFETY: the callers keep the bytes, and do not use them, until they have ended the request.
        unsafe { self.0[at.0 as usize].receive(bytes, WORLD.caller(), from, tag) }
            .expect("there is such a rank")
    }

    /// Waits for a request of a rank.
    fn wait(&mut self, at: RankId, request: Handle) -> Status {
        let ended = self.until(|pair| pair.0[at.0 as usize].finish(request, |status| *status));
        ended.expect("both ranks are there")
    }
}

fn content(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + at / 251) as u8).collect()
}

/// A message from rank 0 to rank `to`, behind one that its receive does not accept.
fn exchange(
    pair: &mut Pair,
    to: RankId,
    receiver: Receiver,
    len: usize,
    data: Option<u64>,
    kind: SendKind,
    from: Source,
) {
    let case = format!("{receiver:?}, {len} bytes with {data:?} to {to} from {from:?}, {kind:?}");
    let (bytes, mut got) = (content(len), vec![0; len]);
    let at = to.0 as usize;
    let envelope = Envelope { source: RankId(0), tag: SENT, context: Context::MESSAGES };
    let expected = Found { envelope, data, bytes: len as u64 };
    let early = matches!(receiver, Receiver::Early).then(|| {
        let request = pair.receive(to, &mut got, from, ACCEPTED);
        pair.settle();
        request
    });
    let other = pair.send(&[1], SendEnvelope { to, tag: OTHER, data: Some(1) }, SendKind::Standard);
    let sent = pair.send(&bytes, SendEnvelope { to, tag: SENT, data }, kind);
    let received = match receiver {
        Receiver::Early => early.expect("it has begun"),
        Receiver::Late => {
            pair.settle();
            pair.receive(to, &mut got, from, ACCEPTED)
        }
        Receiver::Probes => {
            let probe = |pair: &mut Pair| pair.0[at].probe_now(WORLD.caller(), from, ACCEPTED);
            let found = pair.until(|pair| probe(pair).expect("the sender is there"));
            assert_eq!(found, expected, "{case}");
            pair.receive(to, &mut got, from, ACCEPTED)
        }
        Receiver::Claims => {
            let claim = |pair: &mut Pair| pair.0[at].claim_now(WORLD.caller(), from, ACCEPTED);
            let claimed = pair.until(|pair| claim(pair).expect("the sender is there"));
            assert_eq!(claimed.found, expected, "{case}");
            // SAFETY: the bytes are kept, and not used, until the request has ended.
            unsafe { pair.0[at].receive_claimed(&raw mut got[..], WORLD.caller(), claimed.request) }
                .expect("it was claimed")
        }
    };
    let status = pair.wait(to, received);
    assert_eq!((status.message, status.data), (Some((RankId(0), SENT)), data), "{case}");
    assert_eq!((status.len, status.failure), (len as u64, None), "{case}");
    assert!(got == bytes, "{case}");
    // The other message has waited for a receive of its own.
    let mut one = [0];
    let received = pair.receive(to, &mut one, from, TagSelector::exact(OTHER));
    assert_eq!(pair.wait(to, received).data, Some(1), "{case}");
    for request in [sent, other].into_iter().flatten() {
        pair.wait(RankId(0), request);
    }
}

/// By every kind of send, to the peer and to the rank itself, with copies between processes and without them.
#[test]
fn a_message_is_received_by_the_bits_of_its_tag_that_are_compared_and_brings_its_data() {
    for direct in [true, false] {
        let mut pair = Pair::new(Settings { direct, ..Settings::default() });
        for receiver in [Receiver::Early, Receiver::Late, Receiver::Probes, Receiver::Claims] {
            for (to, len, data) in [0, 1]
                .into_iter()
                .flat_map(|to| SIZES.into_iter().map(move |len| (RankId(to), len)))
                .flat_map(|(to, len)| DATA.into_iter().map(move |data| (to, len, data)))
            {
                for kind in [SendKind::Standard, SendKind::Blocking, SendKind::Synchronous] {
                    for from in [Source::Rank(RankId(0)), Source::Any] {
                        exchange(&mut pair, to, receiver, len, data, kind, from);
                    }
                }
            }
        }
    }
}

#[test]
fn an_mpi_receive_of_any_tag_takes_no_message_with_higher_bits() {
    for len in SIZES {
        let mut pair = Pair::new(Settings::default());
        let (to, any) = (RankId(1), Source::Any);
        let (bytes, mut got, mut late) = (content(len), vec![0; len], vec![0; len]);
        let of_mpi = pair.receive(to, &mut got, any, mpi::ANY_TAG);
        pair.settle();
        let high = pair.send(&bytes, SendEnvelope { to, tag: SENT, data: Some(5) }, SendKind::Standard);
        // It is there, and is not taken, neither by the early receive nor by a probe or a claim.
        let found =
            pair.until(|pair| pair.0[1].probe_now(WORLD.caller(), any, ACCEPTED).expect("it is there"));
        assert_eq!((found.envelope.tag, found.data), (SENT, Some(5)));
        assert!(!pair.0[1].test(of_mpi), "{len} bytes");
        assert_eq!(pair.0[1].probe_now(WORLD.caller(), any, mpi::ANY_TAG), Ok(None));
        assert_eq!(pair.0[1].claim_now(WORLD.caller(), any, mpi::ANY_TAG), Ok(None));
        let low = pair.send(&bytes, SendEnvelope::new(to, mpi::TAG_UB), SendKind::Standard);
        assert_eq!(pair.wait(to, of_mpi).message, Some((RankId(0), mpi::TAG_UB)));
        let masked = pair.receive(to, &mut late, any, TagSelector::new(Tag(0), u64::MAX));
        assert_eq!(pair.wait(to, masked).message, Some((RankId(0), SENT)));
        assert!(got == bytes && late == bytes, "{len} bytes");
        for request in [high, low].into_iter().flatten() {
            pair.wait(RankId(0), request);
        }
    }
}
