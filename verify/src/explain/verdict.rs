//! What goes wrong, in a sentence or two, and the rule that it breaks.

use super::names::{Names, bytes};
use super::walk::Walk;
use crate::network::Message;
use crate::program::{Act, Ordinal, Start};
use crate::violation::Note;

/// A violation in words.
pub(super) struct Verdict {
    /// What goes wrong, and which rule says so.
    pub(super) summary: String,
    /// The same in a few words, for the step at which it happens.
    pub(super) here: String,
    /// The ranks whose story it is.
    pub(super) ranks: Vec<u16>,
}

/// The rule that the library promises to keep, whatever the program does.
const ORDER: &str = "Messages of one sender that match the same receive are received in the order in which they \
                     were sent, by receives in the order in which they were posted (MPI-4.1, 3.5).";
const BUFFER: &str = "A buffer belongs to the library from the call that starts an operation until the wait or \
                      the successful test that completes it (MPI-4.1, 3.7.2)";

/// Says what a note means. A deadlock has a telling of its own.
pub(super) fn verdict(names: &Names<'_>, walk: &Walk, note: Note) -> Verdict {
    let say = Say { names, walk };
    match note {
        Note::Stuck => Verdict {
            summary: "Nothing can happen any more.".to_owned(),
            here: String::new(),
            ranks: Vec::new(),
        },
        Note::OutOfRange { at } => say.out_of_range(at),
        Note::Abandoned { at, request } => say.abandoned(at, request),
        Note::WrongReceive { at, message, should, got } => say.wrong_receive(at, message, should, got),
        Note::WrittenTooLate { at, message, receive } => say.written_too_late(at, message, receive),
        Note::WrittenPastEnd { at, message, receive } => say.written_past_end(at, message, receive),
        Note::CompleteTooEarly { at, request } => say.complete_too_early(at, request),
        Note::Impossible { at, from } => say.impossible(at, from),
        Note::TooLong { at, message, receive } => say.too_long(at, message, receive),
        Note::BufferInUse { at, request, written } => say.buffer_in_use(at, request, written),
        Note::OtherMatch { at, receive, message, other } => say.other_match(at, receive, message, other),
        Note::Leak { at, request } => say.leak(at, request),
        Note::Unmatched { at, message } => say.unmatched(at, message),
        Note::TooLongInCollective { at, request } => say.too_long_in_collective(at, request),
        Note::UnmatchedOfCollective { at, from } => say.unmatched_of_collective(at, from),
    }
}

struct Say<'a> {
    names: &'a Names<'a>,
    walk: &'a Walk,
}

impl Say<'_> {
    fn out_of_range(&self, at: u16) -> Verdict {
        let why = self.names.fault(at).unwrap_or("a value leaves its range");
        let place =
            self.names.fault_at(at).map_or(String::new(), |pc| format!(" {}", self.names.place(at, pc)));
        Verdict {
            summary: format!("Rank {at} cannot go on{place}: {why}."),
            here: format!("cannot go on: {why}"),
            ranks: vec![at],
        }
    }

    fn abandoned(&self, at: u16, request: Ordinal) -> Verdict {
        let own = self.names.request_in_full(at, request);
        let peer = match self.names.start(at, request) {
            Some(Start::Send { to, .. }) => format!("rank {to} has received it"),
            Some(Start::Collective { .. }) => "all ranks have entered it".to_owned(),
            _ => "its message has come".to_owned(),
        };
        let rule = match self.names.start(at, request) {
            Some(Start::Collective { .. }) => {
                "Once every rank has entered a collective, it completes (MPI-4.1, 6.14)."
            }
            _ => "Once a send and a receive match, both complete, whatever else happens (MPI-4.1, 3.5).",
        };
        Verdict {
            summary: format!(
                "Rank {at} waits forever for its {own}, though {peer}: the library has forgotten it. {rule}"
            ),
            here: format!("waits forever for its {}", self.names.request(at, request)),
            ranks: vec![at],
        }
    }

    fn wrong_receive(
        &self,
        at: u16,
        message: Message,
        should: Option<Ordinal>,
        got: Option<Ordinal>,
    ) -> Verdict {
        // What came out of the network last is the message in question, where that is known.
        let last = self.walk.beats.last().and_then(|beat| beat.landed);
        let message = last.and_then(|landed| self.walk.flights[landed].message).unwrap_or(message);
        let subject = self.names.message(message);
        let owner = got.and_then(|got| self.owner(at, got)).filter(|owner| *owner != message);
        let (goes, mut here) = match (got, owner) {
            (Some(got), Some(owner)) => {
                let owner = self.names.message(owner);
                (
                    format!(
                        "goes to rank {at}'s {}, which is for {owner}",
                        self.names.request_in_full(at, got)
                    ),
                    format!("{} is for {owner}", self.names.request(at, got)),
                )
            }
            (Some(got), None) => (
                format!("goes to rank {at}'s {}", self.names.request_in_full(at, got)),
                format!("it is not for {}", self.names.request(at, got)),
            ),
            (None, _) => {
                (format!("is not given to any receive of rank {at}"), "no receive gets it".to_owned())
            }
        };
        let belongs = match should {
            Some(should) if got == Some(should) => "with a wrong status".to_owned(),
            Some(should) => {
                here = format!("it is for {}", self.names.request(at, should));
                format!("but it belongs to its {}", self.names.request_in_full(at, should))
            }
            None => "and the receive that should get it is not posted yet".to_owned(),
        };
        Verdict {
            summary: format!("The library breaks MPI's order: {subject} {goes}, {belongs}. {ORDER}"),
            here,
            ranks: vec![at, message.from],
        }
    }

    /// The message that MPI's rule has given a receive.
    fn owner(&self, at: u16, receive: Ordinal) -> Option<Message> {
        let here = self.walk.beats.iter().filter(|beat| beat.at == at);
        here.filter_map(|beat| beat.matched)
            .find(|(matched, _)| *matched == receive)
            .map(|(_, message)| message)
    }

    fn written_too_late(&self, at: u16, message: Message, receive: Option<Ordinal>) -> Verdict {
        let into = match receive {
            Some(receive) => {
                format!("rank {at}'s {}, which is complete already", self.names.request_in_full(at, receive))
            }
            None => format!("memory of rank {at} whose receive is complete and released"),
        };
        Verdict {
            summary: format!(
                "The data of {} is written into {into}: the program may be using that memory for something else. \
                 {BUFFER}, and no longer.",
                self.names.message(message)
            ),
            here: "this memory is the program's again".to_owned(),
            ranks: vec![at, message.from],
        }
    }

    fn written_past_end(&self, at: u16, message: Message, receive: Ordinal) -> Verdict {
        let sizes = self.sizes(at, message, receive);
        Verdict {
            summary: format!(
                "The data of {} is written past the end of rank {at}'s {}{sizes}. Nothing is ever written outside \
                 of a receive's buffer, even if its message is too long (MPI-4.1, 3.2.4).",
                self.names.message(message),
                self.names.request_in_full(at, receive)
            ),
            here: "this is past the end of the buffer".to_owned(),
            ranks: vec![at, message.from],
        }
    }

    fn complete_too_early(&self, at: u16, request: Ordinal) -> Verdict {
        Verdict {
            summary: format!(
                "Rank {at}'s {} is complete while its data is still being moved. {BUFFER}; completing it gives the \
                 buffer back to the program.",
                self.names.request_in_full(at, request)
            ),
            here: format!("the buffer of its {} is still in use", self.names.request(at, request)),
            ranks: vec![at],
        }
    }

    fn impossible(&self, at: u16, from: u16) -> Verdict {
        let summary = if at == from {
            format!(
                "Rank {at}'s library gives one of its receives a message that MPI's order does not give it. {ORDER}"
            )
        } else {
            format!(
                "Rank {at}'s library refuses a packet of rank {from} as impossible: the two ends no longer agree on \
                 which message goes to which receive. {ORDER}"
            )
        };
        Verdict { summary, here: "this cannot be".to_owned(), ranks: vec![at, from] }
    }

    /// `: 8KiB into 4KiB`.
    fn sizes(&self, at: u16, message: Message, receive: Ordinal) -> String {
        match (self.names.start(message.from, message.send), self.names.start(at, receive)) {
            (Some(Start::Send { len, .. }), Some(Start::Receive { len: room, .. })) => {
                format!(": {} into {}", bytes(*len), bytes(*room))
            }
            _ => String::new(),
        }
    }

    fn too_long(&self, at: u16, message: Message, receive: Ordinal) -> Verdict {
        let sizes = self.sizes(at, message, receive);
        let sent = self.names.request_in_full(message.from, message.send);
        Verdict {
            summary: format!(
                "A message is longer than its receive{sizes}. Rank {}'s {sent} is matched by rank {at}'s {}. A \
                 message may be shorter than its receive, but not longer (MPI-4.1, 3.2.4).",
                message.from,
                self.names.request_in_full(at, receive)
            ),
            here: "the message does not fit".to_owned(),
            ranks: vec![at, message.from],
        }
    }

    fn too_long_in_collective(&self, at: u16, request: Ordinal) -> Verdict {
        let own = self.names.request_in_full(at, request);
        Verdict {
            summary: format!(
                "A message is longer than what rank {at} expects in its {own}: the ranks do not agree on its size, as \
                 they have to (MPI-4.1, chapter 6)."
            ),
            here: "the message does not fit".to_owned(),
            ranks: vec![at],
        }
    }

    fn unmatched_of_collective(&self, at: u16, from: u16) -> Verdict {
        let name = self.names.collective(from);
        Verdict {
            summary: format!(
                "All ranks can end their programs while a message of rank {from}'s {name} is at rank {at}, which has \
                 not taken part in it, or with another size. All ranks have to call the same collectives in the same \
                 order (MPI-4.1, 6.14)."
            ),
            here: format!("a message of rank {from}'s {name} is left over at rank {at}"),
            ranks: vec![at, from],
        }
    }

    fn buffer_in_use(&self, at: u16, request: Ordinal, written: bool) -> Verdict {
        let pc =
            self.walk.beats.last().filter(|beat| beat.at == at).and_then(|beat| beat.pc).map(usize::from);
        let act = pc.and_then(|pc| self.names.act(at, pc));
        let writes = match act {
            Some(Act::Touch { write, .. }) => *write,
            Some(Act::Start(start)) => matches!(self.names.start(at, *start), Some(Start::Receive { .. })),
            _ => false,
        };
        let buffer = self.names.start(at, request).and_then(Start::buffer).map(|(buffer, _)| buffer);
        let buffer = buffer
            .map_or("a buffer".to_owned(), |buffer| format!("buffer `{}`", self.names.buffer(at, buffer)));
        let verb = if writes { "writes" } else { "reads" };
        let place = pc.map_or(String::new(), |pc| format!(" {}", self.names.place(at, pc)));
        let using = if written { "is being written by" } else { "is being read by" };
        let exception = if written { "" } else { "; until then it may be read, but not written" };
        Verdict {
            summary: format!(
                "Rank {at} {verb} {buffer}{place} while it {using} its {}. {BUFFER}{exception}.",
                self.names.request_in_full(at, request)
            ),
            here: format!("the buffer is still in use by its {}", self.names.request(at, request)),
            ranks: vec![at],
        }
    }

    fn other_match(&self, at: u16, receive: Ordinal, message: Message, other: Message) -> Verdict {
        let line = |message: Message| self.names.message(message);
        Verdict {
            summary: format!(
                "Rank {at}'s {} gets {} here, and {} in another execution. MPI orders the messages of one sender, not \
                 those of different ones: which comes first is a race (MPI-4.1, 3.5).",
                self.names.request_in_full(at, receive),
                line(message),
                line(other)
            ),
            here: format!("elsewhere it gets {}", line(other)),
            ranks: vec![at, message.from, other.from],
        }
    }

    fn leak(&self, at: u16, request: Ordinal) -> Verdict {
        let mut why = String::new();
        if let Some((name, line)) = self.names.bound_again(at, request) {
            why = format!(" Its name `{name}` is bound again at line {line}.");
        } else if self.is_tested(at, request) {
            why = " A test may fail, and then nothing completes it.".to_owned();
        }
        Verdict {
            summary: format!(
                "Rank {at} can end its program without having completed its {}.{why} Every request has to be \
                 completed by a wait or a successful test (MPI-4.1, 11.2.2).",
                self.names.request_in_full(at, request)
            ),
            here: format!("the program ends, its {} is still open", self.names.request(at, request)),
            ranks: vec![at],
        }
    }

    fn is_tested(&self, at: u16, request: Ordinal) -> bool {
        let steps = self.names.program(at).map_or(&[][..], |program| &program.steps);
        steps.iter().any(|step| step.act == Act::Test(request))
    }

    fn unmatched(&self, at: u16, message: Message) -> Verdict {
        let sent = match self.names.start(message.from, message.send) {
            Some(Start::Send { .. }) => {
                format!("rank {}'s {}", message.from, self.names.request_in_full(message.from, message.send))
            }
            _ => "a message".to_owned(),
        };
        Verdict {
            summary: format!(
                "All ranks can end their programs while the message of {sent} is at rank {at} and nobody has received \
                 it. Every message that is sent has to be received (MPI-4.1, 11.2.2)."
            ),
            here: format!("{} is left over at rank {at}", self.names.message(message)),
            ranks: vec![at, message.from],
        }
    }
}
