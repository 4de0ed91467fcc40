//! A violation in a sentence or two, with the rule that is broken.

use super::execution::{ExecutedStep, Execution};
use super::names::Names;
use super::wording::bytes;
use crate::action::{Action, Choice};
use crate::network::Message;
use crate::program::{Act, Ordinal, Sought, Start};
use crate::violation::ViolationKind;
use carrousel_rank::{Communicator, Source, mpi};

/// A violation in words.
pub(super) struct Diagnosis {
    /// What goes wrong, and the rule that is broken.
    pub(super) summary: String,
    /// The same in a few words, for the step at which it happens: the last one of the path, or what `evidence` says.
    pub(super) here: String,
    /// The ranks that take part.
    pub(super) ranks: Vec<u16>,
}

/// The rule that the library promises to keep, whatever the program does.
const ORDER: &str = "Messages of one sender that match the same receive are received in the order in which they \
                     were sent, by receives in the order in which they were posted (MPI-4.1, 3.5).";
const BUFFER: &str = "A buffer belongs to the library from the call that starts an operation until the wait or \
                      the successful test that completes it (MPI-4.1, 3.7.2)";

/// Puts a violation into words. Deadlocks are told by `stuck`.
pub(super) fn diagnosis(names: &Names<'_>, execution: &Execution, kind: ViolationKind) -> Diagnosis {
    let say = Diagnoser { names, execution };
    match kind {
        ViolationKind::Stuck => Diagnosis {
            summary: "Nothing can happen any more.".to_owned(),
            here: String::new(),
            ranks: Vec::new(),
        },
        ViolationKind::OutOfRange { at } => say.out_of_range(at),
        ViolationKind::EpochUsage { at, error } => say.epoch_usage(at, &error.to_string()),
        ViolationKind::LockedWhileExposed { at, origin } => say.locked_while_exposed(at, origin),
        ViolationKind::ExposedWhileLocked { at, holder } => say.exposed_while_locked(at, holder),
        ViolationKind::AccessBetweenFences { at, access } => say.access_between_fences(at, access),
        ViolationKind::EpochLeftOpen { at, epoch } => say.epoch_left_open(at, epoch),
        ViolationKind::GroupsDiffer { origin, target, window } => say.groups_differ(origin, target, window),
        ViolationKind::FencesDiffer { at, other, window } => say.fences_differ(at, other, window),
        ViolationKind::RequestWithoutLock { at, access } => say.request_without_lock(at, access),
        ViolationKind::Asserted { at, broken } => say.asserted(at, broken),
        ViolationKind::Race { at, first, second } => say.race(at, first, second),
        ViolationKind::LockedTwice { at, origin, holder } => say.locked_twice(at, origin, holder),
        ViolationKind::BufferInAccess { at, access, written } => say.buffer_in_access(at, access, written),
        ViolationKind::Abandoned { at, request } => say.abandoned(at, request),
        ViolationKind::WrongReceive { at, message, should, got } => {
            say.wrong_receive(at, message, should, got)
        }
        ViolationKind::WrittenTooLate { at, message, receive } => say.written_too_late(at, message, receive),
        ViolationKind::WrittenPastEnd { at, message, receive } => say.written_past_end(at, message, receive),
        ViolationKind::CompleteTooEarly { at, request } => say.complete_too_early(at, request),
        ViolationKind::Impossible { at, from } => say.impossible(at, from),
        ViolationKind::TooLong { at, message, receive } => say.too_long(at, message, receive),
        ViolationKind::BufferInUse { at, request, written } => say.buffer_in_use(at, request, written),
        ViolationKind::OtherMatch { at, receive, message, other } => {
            say.other_match(at, receive, message, other)
        }
        ViolationKind::Leak { at, request } => say.leak(at, request),
        ViolationKind::Unmatched { at, message } => say.unmatched(at, message),
        ViolationKind::TooLongInCollective { at, request } => say.too_long_in_collective(at, request),
        ViolationKind::UnmatchedOfCollective { at, from, communicator } => {
            say.unmatched_of_collective(at, from, communicator)
        }
    }
}

/// Finds the words.
pub(super) struct Diagnoser<'a> {
    pub(super) names: &'a Names<'a>,
    pub(super) execution: &'a Execution,
}

impl Diagnoser<'_> {
    fn out_of_range(&self, at: u16) -> Diagnosis {
        let why = self.names.fault(at).unwrap_or("a value leaves its range");
        let place =
            self.names.fault_at(at).map_or(String::new(), |pc| format!(" {}", self.names.place(at, pc)));
        Diagnosis {
            summary: format!("Rank {at} cannot go on{place}: {why}."),
            here: format!("cannot go on: {why}"),
            ranks: vec![at],
        }
    }

    fn abandoned(&self, at: u16, request: Ordinal) -> Diagnosis {
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
        Diagnosis {
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
    ) -> Diagnosis {
        // The item that came out of the network last has the message in question, if that is known.
        let last = self.execution.steps.last().and_then(|step| step.landed);
        let message = last.and_then(|landed| self.execution.sent[landed].message).unwrap_or(message);
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
        Diagnosis {
            summary: format!("The library breaks MPI's order: {subject} {goes}, {belongs}. {ORDER}"),
            here,
            ranks: vec![at, message.from],
        }
    }

    /// The message that the oracle has given a receive.
    fn owner(&self, at: u16, receive: Ordinal) -> Option<Message> {
        let here = self.execution.steps.iter().filter(|step| step.at == at);
        here.filter_map(|step| step.matched)
            .find(|(matched, _)| *matched == receive)
            .map(|(_, message)| message)
    }

    fn written_too_late(&self, at: u16, message: Message, receive: Option<Ordinal>) -> Diagnosis {
        let into = match receive {
            Some(receive) => {
                format!("rank {at}'s {}, which is complete already", self.names.request_in_full(at, receive))
            }
            None => format!("memory of rank {at} whose receive is complete and released"),
        };
        Diagnosis {
            summary: format!(
                "The data of {} is written into {into}: the program may be using that memory for something else. \
                 {BUFFER}, and no longer.",
                self.names.message(message)
            ),
            here: "this memory is the program's again".to_owned(),
            ranks: vec![at, message.from],
        }
    }

    fn written_past_end(&self, at: u16, message: Message, receive: Ordinal) -> Diagnosis {
        let sizes = self.sizes(at, message, receive);
        Diagnosis {
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

    fn complete_too_early(&self, at: u16, request: Ordinal) -> Diagnosis {
        Diagnosis {
            summary: format!(
                "Rank {at}'s {} is complete while its data is still being moved. {BUFFER}; completing it gives the \
                 buffer back to the program.",
                self.names.request_in_full(at, request)
            ),
            here: format!("the buffer of its {} is still in use", self.names.request(at, request)),
            ranks: vec![at],
        }
    }

    fn impossible(&self, at: u16, from: u16) -> Diagnosis {
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
        Diagnosis { summary, here: "this cannot be".to_owned(), ranks: vec![at, from] }
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

    fn too_long(&self, at: u16, message: Message, receive: Ordinal) -> Diagnosis {
        let sizes = self.sizes(at, message, receive);
        let sent = self.names.request_in_full(message.from, message.send);
        Diagnosis {
            summary: format!(
                "A message is longer than its receive{sizes}. Rank {}'s {sent} is matched by rank {at}'s {}. A \
                 message may be shorter than its receive, but not longer (MPI-4.1, 3.2.4).{}",
                message.from,
                self.names.request_in_full(at, receive),
                self.other_than_probed(at, receive, message)
            ),
            here: "the message does not fit".to_owned(),
            ranks: vec![at, message.from],
        }
    }

    /// Of a receive behind a probe: that it has got another message than the probe found. Otherwise nothing.
    fn other_than_probed(&self, at: u16, receive: Ordinal, message: Message) -> String {
        let found = || {
            let start = self.names.step_of(at, receive)?;
            let is_probe = |pc: &usize| matches!(self.names.act(at, *pc), Some(Act::Probe { .. }));
            let pc = (0..start).rev().find(is_probe)?;
            let is_between = |pc: usize| matches!(self.names.act(at, pc), Some(Act::Start(_)));
            (!(pc + 1..start).any(is_between)).then_some(())?;
            Some((pc, self.probed(at, pc)?))
        };
        match found() {
            Some((pc, probed)) if probed != message => format!(
                " The probe {} found {}, but this receive took another message than the probe found: only a receive of the \
                 probe's `source(NAME)` and `tag(NAME)` is sure to get that one.",
                self.names.place(at, pc),
                self.names.message(probed)
            ),
            _ => String::new(),
        }
    }

    /// The message that a probe found.
    fn probed(&self, at: u16, pc: usize) -> Option<Message> {
        let Some(Act::Probe { sought: Sought::Known(communicator, source, tag), .. }) =
            self.names.act(at, pc)
        else {
            return None;
        };
        let is_it = |step: &&ExecutedStep| step.at == at && step.pc.map(usize::from) == Some(pc);
        let last = self.execution.steps.iter().position(|step| is_it(&step))?;
        let chosen = match self.execution.steps[last].action {
            Action::Step { choice: Choice::From(from), .. } => Some(from),
            _ => None,
        };
        let mut there: Vec<Message> = Vec::new();
        for step in self.execution.steps.iter().take(last).filter(|step| step.at == at) {
            there.extend(step.kept);
            there.retain(|message| step.matched.is_none_or(|(_, matched)| matched != *message));
        }
        let fits = |message: &&Message| match self.names.start(message.from, message.send) {
            Some(Start::Send { tag: sent, communicator: other, .. }) => {
                let is_from = match source {
                    Source::Rank(from) => from.0 == u32::from(message.from),
                    Source::Any => chosen.is_none_or(|from| from == message.from),
                };
                is_from && other == communicator && tag.matches(mpi::tag(*sent))
            }
            _ => false,
        };
        there.iter().find(fits).copied()
    }

    fn too_long_in_collective(&self, at: u16, request: Ordinal) -> Diagnosis {
        let own = self.names.request_in_full(at, request);
        Diagnosis {
            summary: format!(
                "A message is longer than what rank {at} expects in its {own}: the ranks do not agree on its size, as \
                 they have to (MPI-4.1, chapter 6)."
            ),
            here: "the message does not fit".to_owned(),
            ranks: vec![at],
        }
    }

    fn unmatched_of_collective(&self, at: u16, from: u16, communicator: Communicator) -> Diagnosis {
        let name = self.names.collective(from, communicator);
        Diagnosis {
            summary: format!(
                "All ranks can end their programs while a message of rank {from}'s {name} is at rank {at}, which has \
                 not taken part in it, or with another size. All ranks have to call the same collectives in the same \
                 order (MPI-4.1, 6.14)."
            ),
            here: format!("a message of rank {from}'s {name} is left over at rank {at}"),
            ranks: vec![at, from],
        }
    }

    /// Where the last step of a rank's program is: ``at line 5 (`put w to 1 size 8`)``.
    pub(super) fn place_of_last(&self, at: u16) -> String {
        self.last_step(at).map_or(String::new(), |pc| format!(" {}", self.names.place(at, pc)))
    }

    fn last_step(&self, at: u16) -> Option<usize> {
        let last = self.execution.steps.last().filter(|step| step.at == at);
        last.and_then(|step| step.pc).map(usize::from)
    }

    /// What the last step of a rank's program does with a buffer, and where it is.
    pub(super) fn last_use(&self, at: u16) -> (&'static str, String) {
        let writes = match self.last_step(at).and_then(|pc| self.names.act(at, pc)) {
            Some(Act::Touch { write, .. }) => *write,
            Some(Act::Start(start)) => {
                self.names.start(at, *start).and_then(Start::buffer).is_some_and(|(_, write)| write)
            }
            Some(Act::Access(access)) => {
                let accesses = self.names.program(at).map_or(&[][..], |program| &program.accesses);
                accesses.get(usize::from(*access)).is_some_and(|access| access.transfer.kind.reads())
            }
            _ => false,
        };
        (if writes { "writes" } else { "reads" }, self.place_of_last(at))
    }

    fn buffer_in_use(&self, at: u16, request: Ordinal, written: bool) -> Diagnosis {
        let (verb, place) = self.last_use(at);
        let buffer = self.names.start(at, request).and_then(Start::buffer).map(|(buffer, _)| buffer);
        let buffer = buffer
            .map_or("a buffer".to_owned(), |buffer| format!("buffer `{}`", self.names.buffer(at, buffer)));
        let using = if written { "is being written by" } else { "is being read by" };
        let exception = if written { "" } else { "; until then it may be read, but not written" };
        Diagnosis {
            summary: format!(
                "Rank {at} {verb} {buffer}{place} while it {using} its {}.{} {BUFFER}{exception}.",
                self.names.request_in_full(at, request),
                self.wait_to_come(at, request)
            ),
            here: format!("the buffer is still in use by its {}", self.names.request(at, request)),
            ranks: vec![at],
        }
    }

    /// `` It is waited for only later, at line 7 (`wait r`).``: of a request that a rank has not waited for yet.
    fn wait_to_come(&self, at: u16, request: Ordinal) -> String {
        let Some(last) = self.last_step(at) else { return String::new() };
        match self.names.wait_from(at, last, request) {
            Some(wait) => format!(" It is waited for only later, {}.", self.names.place(at, wait)),
            None => " No statement waits for it.".to_owned(),
        }
    }

    fn other_match(&self, at: u16, receive: Ordinal, message: Message, other: Message) -> Diagnosis {
        let line = |message: Message| self.names.message(message);
        Diagnosis {
            summary: format!(
                "Rank {at}'s {} gets {} here, and {} in another execution. MPI orders the messages of one sender, not \
                 those of different ones: which comes first is a race (MPI-4.1, 3.5).{}",
                self.names.request_in_full(at, receive),
                line(message),
                line(other),
                self.other_than_probed(at, receive, message)
            ),
            here: format!("elsewhere it gets {}", line(other)),
            ranks: vec![at, message.from, other.from],
        }
    }

    fn leak(&self, at: u16, request: Ordinal) -> Diagnosis {
        let mut why = String::new();
        if let Some((name, line)) = self.names.bound_again(at, request) {
            why = format!(" Its name `{name}` is bound again at line {line}.");
        } else if self.is_tested(at, request) {
            why = " A test may fail, and then nothing completes it.".to_owned();
        }
        Diagnosis {
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

    /// ` 9 messages are sent to rank 0, which receives 8.`: if that is so however the ranks take turns.
    fn too_few_receives(&self, at: u16, message: Message) -> String {
        let Some(Start::Send { communicator, .. }) = self.names.start(message.from, message.send) else {
            return String::new();
        };
        let programs: Vec<_> = (0..self.names.ranks()).filter_map(|rank| self.names.program(rank)).collect();
        if programs.iter().any(|program| !program.later.is_empty()) {
            return String::new();
        }
        let is_sent = |start: &&Start| matches!(start, Start::Send { to, communicator: of, .. } if (*to, of) == (u32::from(at), communicator));
        let is_received =
            |start: &&Start| matches!(start, Start::Receive { communicator: of, .. } if of == communicator);
        let sent: usize = programs.iter().map(|program| program.starts.iter().filter(is_sent).count()).sum();
        let own = self.names.program(at);
        let received = own.map_or(0, |program| program.starts.iter().filter(is_received).count());
        match sent {
            1 => format!(" It is the only one that is sent to rank {at}, which receives none."),
            _ if received == 0 => format!(" {sent} messages are sent to rank {at}, which receives none."),
            _ if received < sent => {
                format!(" {sent} messages are sent to rank {at}, which receives {received}.")
            }
            _ => String::new(),
        }
    }

    fn unmatched(&self, at: u16, message: Message) -> Diagnosis {
        let sent = match self.names.start(message.from, message.send) {
            Some(Start::Send { .. }) => {
                format!("rank {}'s {}", message.from, self.names.request_in_full(message.from, message.send))
            }
            _ => "a message".to_owned(),
        };
        Diagnosis {
            summary: format!(
                "All ranks can end their programs while the message of {sent} is at rank {at} and nobody has received \
                 it.{} Every message that is sent has to be received (MPI-4.1, 11.2.2).",
                self.too_few_receives(at, message)
            ),
            here: format!("{} is left over at rank {at}", self.names.message(message)),
            ranks: vec![at, message.from],
        }
    }
}
