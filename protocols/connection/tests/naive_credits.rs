//! Credits agree with ends that remember each packet, for any actions in any order.

use carrousel_connection::{Credits, Rules};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::{BTreeSet, VecDeque};

/// A frame: a packet by its number, or none, and the packets whose credits it gives back.
struct Frame {
    packet: Option<u32>,
    given: Vec<u32>,
}

/// The knowledge of an end in its plainest form: which packets, not how many.
struct CreditEnd {
    credits: Credits<Rules>,
    /// Packets that were sent, and have not been given back.
    out: BTreeSet<u32>,
    /// Packets that were taken, and have not been given back.
    taken: Vec<u32>,
    coming: VecDeque<Frame>,
    next: u32,
    delivered: u32,
}

#[derive(Clone, Copy, Debug)]
enum CreditInput {
    Send(usize),
    Take(usize),
    GiveAlone(usize),
    /// A peer that lies: it gives this many credits more than were spent.
    Lie(usize, u16),
}

struct CreditPair {
    window: u16,
    ends: [CreditEnd; 2],
}

impl CreditPair {
    fn new(window: u16) -> Self {
        let end = || CreditEnd {
            credits: Credits::new(window),
            out: BTreeSet::new(),
            taken: Vec::new(),
            coming: VecDeque::new(),
            next: 0,
            delivered: 0,
        };
        Self { window, ends: [end(), end()] }
    }

    fn send(&mut self, at: usize, packet: Option<u32>) {
        let end = &mut self.ends[at];
        let given = std::mem::take(&mut end.taken);
        assert_eq!(usize::from(end.credits.give()), given.len());
        let peer = &mut self.ends[1 - at];
        peer.coming.push_back(Frame { packet, given });
        assert!(
            peer.coming.len() as u32 <= Credits::<Rules>::buffers(self.window),
            "a frame finds no buffer"
        );
    }

    /// Returns whether something was done.
    fn apply(&mut self, input: CreditInput) -> bool {
        let half = usize::from(self.window / 2);
        let end = match input {
            CreditInput::Send(at)
            | CreditInput::Take(at)
            | CreditInput::GiveAlone(at)
            | CreditInput::Lie(at, _) => &mut self.ends[at],
        };
        assert_eq!(usize::from(end.credits.left()), usize::from(self.window) - end.out.len());
        assert_eq!(end.credits.owes(), end.taken.len() >= half);
        match input {
            CreditInput::Send(at) => {
                let may = end.out.len() < usize::from(self.window);
                assert_eq!(end.credits.spend(), may);
                if may {
                    let number = end.next;
                    end.next += 1;
                    end.out.insert(number);
                    self.send(at, Some(number));
                }
                may
            }
            CreditInput::GiveAlone(at) => {
                let owes = end.credits.owes();
                if owes {
                    self.send(at, None);
                }
                owes
            }
            CreditInput::Take(_) => {
                let Some(Frame { packet, given }) = end.coming.pop_front() else { return false };
                end.credits.given(given.len() as u16).expect("an honest peer");
                for number in given {
                    assert!(end.out.remove(&number), "packet {number} is given back twice");
                }
                if let Some(number) = packet {
                    assert_eq!(number, end.delivered, "in order");
                    end.delivered += 1;
                    end.taken.push(number);
                    end.credits.took();
                }
                true
            }
            CreditInput::Lie(_, more) => {
                let before = end.credits.clone();
                assert!(end.credits.given(end.out.len() as u16 + more).is_err());
                assert_eq!(end.credits, before, "an error changes nothing");
                true
            }
        }
    }
}

fn input() -> impl Strategy<Value = CreditInput> {
    let end = || 0..2_usize;
    prop_oneof![
        6 => end().prop_map(CreditInput::Send),
        5 => end().prop_map(CreditInput::Take),
        3 => end().prop_map(CreditInput::GiveAlone),
        1 => (end(), 1..100_u16).prop_map(|(end, more)| CreditInput::Lie(end, more)),
    ]
}

proptest! {
    #[test]
    fn counts_are_those_of_ends_that_remember_each_packet(window in 2..9_u16, inputs in vec(input(), 0..200)) {
        let mut pair = CreditPair::new(window);
        for input in inputs {
            pair.apply(input);
        }
        // Whatever has happened, three more windows get through, if the ends do what they can.
        let goal = pair.ends[0].next + 3 * u32::from(window);
        while pair.ends[1].delivered < goal {
            let moves = [CreditInput::Take(0), CreditInput::Take(1), CreditInput::GiveAlone(0), CreditInput::GiveAlone(1), CreditInput::Send(0)];
            prop_assert!(moves.into_iter().any(|input| pair.apply(input)), "all wait");
        }
    }
}
