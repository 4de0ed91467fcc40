//! The handshake agrees with ends that keep everything that they were ever told, over a network that does what it
//! likes.

use carrousel_connection::{FOR_EVER, Handshake, Hello, Progress, Rules};
use proptest::collection::vec;
use proptest::prelude::*;

/// The inputs of an end.
#[derive(Clone, Copy, PartialEq)]
enum Came {
    Hello(Hello),
    Packet,
    Tick,
}

/// An end, and the state that should follow from its whole past.
struct End {
    handshake: Handshake<Rules>,
    patience: u16,
    past: Vec<Came>,
    has_given_up: bool,
}

impl End {
    fn begun(patience: u16) -> (Self, Progress) {
        let (handshake, progress) = Handshake::begin(patience);
        (Self { handshake, patience, past: Vec::new(), has_given_up: false }, progress)
    }

    fn asked(patience: u16) -> Self {
        let handshake = Handshake::asked(patience);
        Self { handshake, patience, past: Vec::new(), has_given_up: false }
    }

    fn has_heard(&self) -> bool {
        self.past.iter().any(|came| matches!(came, Came::Hello(_)))
    }

    fn is_sure(&self) -> bool {
        // A packet counts once the peer has told which queue pair it is from.
        let first = self.past.iter().position(|came| matches!(came, Came::Hello(_)));
        self.past.iter().enumerate().any(|(at, came)| match came {
            Came::Hello(hello) => hello.heard,
            Came::Packet => first.is_some_and(|first| first < at),
            Came::Tick => false,
        })
    }

    /// Ticks that came before the end was sure; those behind that do not count.
    fn waited(&self) -> usize {
        self.past.iter().filter(|came| matches!(came, Came::Tick)).count()
    }

    /// Compares the handshake's answer with what follows from the past.
    fn take(&mut self, came: Came) -> Progress {
        let (had_heard, was_sure) = (self.has_heard(), self.is_sure());
        if !(was_sure && came == Came::Tick) {
            self.past.push(came);
        }
        let hello = Hello { heard: self.has_heard(), sure: self.is_sure() };
        let up = !was_sure && hello.sure;
        let too_long = self.patience != FOR_EVER && self.waited() > usize::from(self.patience);
        let expected = match came {
            Came::Hello(told) => {
                Progress { connect: !had_heard, up, tell: (!told.sure).then_some(hello), give_up: false }
            }
            Came::Packet => Progress { up, ..Progress::default() },
            Came::Tick if was_sure => Progress::default(),
            Came::Tick if too_long => Progress { give_up: true, ..Progress::default() },
            Came::Tick => Progress { tell: Some(hello), ..Progress::default() },
        };
        let progress = match came {
            Came::Hello(told) => self.handshake.told(told),
            Came::Packet => self.handshake.received(),
            Came::Tick => self.handshake.tick(),
        };
        assert_eq!(progress, expected);
        assert_eq!(self.handshake.is_up(), hello.sure);
        self.has_given_up = progress.give_up;
        progress
    }
}

#[derive(Clone, Copy, Debug)]
enum Input {
    Tick(usize),
    /// The n-th datagram to this end arrives, and stays if it was doubled.
    Deliver(usize, usize, bool),
    Lose(usize, usize),
    /// A packet comes to this end, even if the peer has sent none.
    Packet(usize),
}

struct Pair {
    ends: [End; 2],
    /// To each end.
    told: [Vec<Hello>; 2],
}

impl Pair {
    fn new(patience: u16, both: bool) -> Self {
        let (one, first) = End::begun(patience);
        let (other, second) =
            if both { End::begun(patience) } else { (End::asked(patience), Progress::default()) };
        Self {
            ends: [one, other],
            told: [second.tell.into_iter().collect(), first.tell.into_iter().collect()],
        }
    }

    fn take(&mut self, at: usize, came: Came) {
        if !self.ends[at].has_given_up {
            self.told[1 - at].extend(self.ends[at].take(came).tell);
        }
    }

    fn apply(&mut self, input: Input) {
        match input {
            Input::Tick(at) => self.take(at, Came::Tick),
            Input::Packet(at) => self.take(at, Came::Packet),
            Input::Deliver(at, which, stays) if !self.told[at].is_empty() => {
                let which = which % self.told[at].len();
                let hello = if stays { self.told[at][which] } else { self.told[at].swap_remove(which) };
                self.take(at, Came::Hello(hello));
            }
            Input::Lose(at, which) if !self.told[at].is_empty() => {
                let which = which % self.told[at].len();
                self.told[at].swap_remove(which);
            }
            Input::Deliver(..) | Input::Lose(..) => {}
        }
    }
}

fn input() -> impl Strategy<Value = Input> {
    let end = || 0..2_usize;
    prop_oneof![
        3 => end().prop_map(Input::Tick),
        4 => (end(), any::<usize>(), any::<bool>()).prop_map(|(at, n, stays)| Input::Deliver(at, n, stays)),
        3 => (end(), any::<usize>()).prop_map(|(at, n)| Input::Lose(at, n)),
        1 => end().prop_map(Input::Packet),
    ]
}

fn patience() -> impl Strategy<Value = u16> {
    prop_oneof![0..6_u16, Just(FOR_EVER)]
}

proptest! {
    #[test]
    fn follows_from_all_that_was_told(patience in patience(), both: bool, inputs in vec(input(), 0..60)) {
        let mut pair = Pair::new(patience, both);
        for input in inputs {
            pair.apply(input);
        }
    }

    #[test]
    fn once_no_more_is_lost_both_are_up_and_silent(both: bool, inputs in vec(input(), 0..60)) {
        let mut pair = Pair::new(FOR_EVER, both);
        for input in inputs {
            pair.apply(input);
        }
        // One tick each gets there, or the datagrams that are on their way do.
        for at in [0, 1] {
            pair.apply(Input::Tick(at));
            while let Some(at) = pair.told.iter().position(|told| !told.is_empty()) {
                pair.apply(Input::Deliver(at, 0, false));
            }
        }
        prop_assert!(pair.ends.iter().all(|end| end.handshake.is_up()));
        pair.apply(Input::Tick(0));
        pair.apply(Input::Tick(1));
        prop_assert!(pair.told.iter().all(Vec::is_empty));
    }
}
