//! The handshake by which two ends that know each other's datagram address make a connection.

use core::marker::PhantomData;

/// The rules of the handshake, one function each, so that the checker can have a type with one rule off.
pub trait HandshakeRules {
    /// A hello without an answer is sent again.
    fn tell_again() -> bool {
        true
    }
    /// An end that does not know that it was heard gets an answer, however often it sends a hello.
    fn answer_always() -> bool {
        true
    }
    /// An end sends nothing over the connection before the peer says that it has connected its queue pair. A queue
    /// pair that is not connected drops what arrives, and the sender would take the peer for dead.
    fn up_when_heard() -> bool {
        true
    }
    /// A packet of the peer counts as a hello. The peer sends no packet before it is connected, and once it is up, it
    /// may never send a hello again.
    fn packet_is_word() -> bool {
        true
    }
    /// A queue pair is connected once. A second hello would connect it anew, and lose the packets that it has
    /// received.
    fn connect_once() -> bool {
        true
    }
}

/// A patience that never ends.
pub const FOR_EVER: u16 = u16::MAX;

/// A message of the handshake from one end to the other. It also names the sender's queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hello {
    /// The sender has heard the other end, and has connected its queue pair to that end's.
    pub heard: bool,
    /// The sender knows that the other end has heard it: no answer is needed.
    pub sure: bool,
}

/// The actions of a driver, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Progress {
    /// Connect the queue pair to the one that the present hello names.
    pub connect: bool,
    /// The connection is up: packets may be sent.
    pub up: bool,
    /// Send this hello to the peer.
    pub tell: Option<Hello>,
    /// The peer does not answer: it is lost.
    pub give_up: bool,
}

/// One end of a connection that is being made. At first its queue pair exists, and is connected to none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Handshake<R> {
    /// The peer has named its queue pair, and this end's is connected to it.
    heard: bool,
    /// The peer has said that its queue pair is connected to this end's.
    sure: bool,
    /// Ticks that may pass without an answer; [`FOR_EVER`] is never counted down.
    patience: u16,
    rules: PhantomData<R>,
}

impl<R: HandshakeRules> Handshake<R> {
    /// This end wants a connection. The hello is sent now, and again at every tick; `patience` ticks may pass without
    /// an answer ([`FOR_EVER`]: any number).
    pub fn begin(patience: u16) -> (Self, Progress) {
        let begun = Self { heard: false, sure: false, patience, rules: PhantomData };
        let progress = Progress { tell: Some(begun.hello()), ..Progress::default() };
        (begun, progress)
    }

    /// The peer wants a connection, and its hello comes next. Nothing is sent before.
    pub fn asked(patience: u16) -> Self {
        Self { heard: false, sure: false, patience, rules: PhantomData }
    }

    fn hello(&self) -> Hello {
        Hello { heard: self.heard, sure: self.sure }
    }

    /// Whether packets may be sent.
    pub fn is_up(&self) -> bool {
        self.sure
    }

    /// A hello of the peer has arrived.
    pub fn told(&mut self, hello: Hello) -> Progress {
        let mut progress = Progress { connect: !self.heard || !R::connect_once(), ..Progress::default() };
        let news = !self.heard;
        self.heard = true;
        if (hello.heard || !R::up_when_heard()) && !self.sure {
            self.sure = true;
            progress.up = true;
        }
        // A peer that is not sure has had no answer yet, or the answer was lost.
        if !hello.sure && (R::answer_always() || news) {
            progress.tell = Some(self.hello());
        }
        progress
    }

    /// A packet of the peer has come over the connection.
    pub fn received(&mut self) -> Progress {
        // A packet from before this end has connected does not belong to this connection.
        let up = R::packet_is_word() && self.heard && !self.sure;
        self.sure |= up;
        Progress { up, ..Progress::default() }
    }

    /// A tick: more time has passed than a datagram takes to get there and back.
    pub fn tick(&mut self) -> Progress {
        if self.sure {
            return Progress::default();
        }
        let Some(left) = self.patience.checked_sub(1) else {
            return Progress { give_up: true, ..Progress::default() };
        };
        if self.patience != FOR_EVER {
            self.patience = left;
        }
        Progress { tell: R::tell_again().then(|| self.hello()), ..Progress::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rules;

    const TELLS: fn(bool, bool) -> Option<Hello> = |heard, sure| Some(Hello { heard, sure });

    #[test]
    fn one_end_begins() {
        let (mut one, begun) = Handshake::<Rules>::begin(3);
        let mut other = Handshake::<Rules>::asked(3);
        let answer = other.told(begun.tell.expect("it is told"));
        assert_eq!(answer, Progress { connect: true, tell: TELLS(true, false), ..Progress::default() });
        let last = one.told(answer.tell.expect("it is answered"));
        assert_eq!(last, Progress { connect: true, up: true, tell: TELLS(true, true), give_up: false });
        let end = other.told(last.tell.expect("the other one is not sure"));
        assert_eq!(end, Progress { up: true, ..Progress::default() });
        assert_eq!(one.tick(), Progress::default());
    }

    #[test]
    fn both_begin() {
        let (mut one, first) = Handshake::<Rules>::begin(3);
        let (mut other, second) = Handshake::<Rules>::begin(3);
        let to_other = one.told(second.tell.expect("it is told"));
        let to_one = other.told(first.tell.expect("it is told"));
        assert!(!one.is_up() && !other.is_up());
        assert!(one.told(to_one.tell.expect("it is answered")).up);
        assert!(other.told(to_other.tell.expect("it is answered")).up);
    }

    #[test]
    fn nobody_answers() {
        let (mut one, _) = Handshake::<Rules>::begin(2);
        let ticks = [(); 3].map(|()| one.tick());
        assert_eq!(ticks[0].tell, TELLS(false, false));
        assert_eq!(ticks[1].tell, TELLS(false, false));
        assert_eq!(ticks[2], Progress { give_up: true, ..Progress::default() });
    }

    #[test]
    fn who_is_patient_for_ever_does_not_change() {
        let (mut one, _) = Handshake::<Rules>::begin(FOR_EVER);
        let before = one.clone();
        assert_eq!(one.tick().tell, TELLS(false, false));
        assert_eq!(one, before);
    }

    #[test]
    fn a_packet_says_that_the_peer_is_connected() {
        let mut other = Handshake::<Rules>::asked(0);
        assert_eq!(other.received(), Progress::default(), "it is of another connection");
        other.told(Hello { heard: false, sure: false });
        assert_eq!(other.received(), Progress { up: true, ..Progress::default() });
        assert_eq!(other.received(), Progress::default());
        assert_eq!(other.tick(), Progress::default(), "it does not give up");
    }

    #[test]
    fn what_comes_twice_is_answered_and_connects_nothing() {
        let mut other = Handshake::<Rules>::asked(3);
        let hello = Hello { heard: false, sure: false };
        let first = other.told(hello);
        let second = other.told(hello);
        assert_eq!(second, Progress { connect: false, ..first });
    }
}
