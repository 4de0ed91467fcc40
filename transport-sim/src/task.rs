//! A rank that a future drives: the executor of one task in virtual time.

use crate::data::{Data, Lent};
use crate::error::SimError;
use crate::mailbox::{Answer, Busy, CallRecord, Command, Ended, Incoming, Mailbox, Outgoing, Place, Start};
use crate::program::Action;
use crate::window_data::InOperation;
use carrousel_rank::{
    Call, Collective, Communicator, Envelope, Handle, Protocol, Rank, RankId, Receive, Send, Status,
    UsageError, mpi,
};
use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// The program of a rank: a future that returns the reason if it has failed.
pub type TaskFuture = Pin<Box<dyn Future<Output = Result<(), String>>>>;

/// How often a task may wake itself without a command to its rank.
const WAKES_MAX: u32 = 10_000;

/// Set when a part of the task is woken by another.
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The state of the present statement, without its calls.
#[derive(Debug)]
enum Kind {
    /// The CPU computes.
    Compute,
    /// Requests begin; `blocking` if the statement waits for them.
    Start { blocking: bool, lent: [Option<Lent>; 2], opened: Vec<Handle> },
    /// Requests are awaited: all of them, or any.
    Wait { requests: Vec<Handle>, any: bool, asked: bool },
    /// A request is tested.
    Test(Handle),
    /// A message is probed for.
    Probe { blocking: bool, found: Option<(Envelope, u64)> },
    /// A receive is cancelled.
    Cancel,
    /// Waits for the end of a request that was dropped.
    Drop(Handle),
}

impl fmt::Debug for Lent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lent").field("keys", &self.keys).finish_non_exhaustive()
    }
}

/// The future of a rank, and its present statement.
pub(crate) struct Task {
    me: u32,
    mailbox: Rc<RefCell<Mailbox>>,
    /// Until it has ended.
    future: Option<TaskFuture>,
    flag: Arc<Flag>,
    /// The present statement, or the last one.
    call: Option<(CallRecord, Place)>,
    kind: Kind,
    refused: Option<UsageError>,
    /// The requests of the present statement that have ended.
    ended: Vec<(Handle, Ended)>,
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("me", &self.me).field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Task {
    pub(crate) fn new(me: u32, mailbox: Rc<RefCell<Mailbox>>, future: TaskFuture) -> Self {
        Self {
            me,
            mailbox,
            future: Some(future),
            flag: Arc::new(Flag(AtomicBool::new(false))),
            call: None,
            kind: Kind::Compute,
            refused: None,
            ended: Vec::new(),
        }
    }

    /// The present statement, or the last one, and its place in the program's source.
    pub(crate) fn call(&self) -> Option<(CallRecord, Place)> {
        self.call
    }

    /// The line of that.
    pub(crate) fn line(&self) -> u32 {
        self.call.map_or(0, |(_, place)| place.line())
    }

    /// The next statement, which has this number; `None` at the end of the program.
    pub(crate) fn next<P: Protocol>(
        &mut self,
        rank: &Rank<P>,
        data: &mut Data,
        number: u32,
        now: u64,
    ) -> Result<Option<Action>, SimError> {
        self.mailbox.borrow_mut().now = now;
        let mut wakes = 0;
        loop {
            let dropped = self.mailbox.borrow_mut().dropped.pop_front();
            if let Some((request, place, receives)) = dropped {
                return Ok(Some(self.end_dropped(request, place, receives)));
            }
            let asked = self
                .mailbox
                .borrow_mut()
                .busy
                .as_mut()
                .and_then(|busy| Some((busy.command.take()?, busy.place)));
            if let Some((command, place)) = asked {
                return Ok(Some(self.begin(command, place, rank, data, number)));
            }
            if self.future.is_none() {
                return Ok(None);
            }
            if self.poll()? {
                continue;
            }
            let mailbox = &mut *self.mailbox.borrow_mut();
            if !mailbox.dropped.is_empty() || mailbox.busy.as_ref().is_some_and(|busy| busy.command.is_some())
            {
                continue;
            }
            // A part of the task has woken another one, without a command to the rank.
            if self.flag.0.swap(false, Ordering::Relaxed) && wakes < WAKES_MAX {
                wakes += 1;
                continue;
            }
            let Some((_, place)) = mailbox.awaited.first().copied() else {
                return Err(SimError::Foreign { rank: self.me });
            };
            let requests: Vec<Handle> = mailbox.awaited.drain(..).map(|(request, _)| request).collect();
            self.call = Some((CallRecord::Wait(requests.len() as u32), place));
            self.kind = Kind::Wait { requests, any: true, asked: false };
            return Ok(Some(Action::Requests));
        }
    }

    /// Polls the future; true if it has ended.
    fn poll(&mut self) -> Result<bool, SimError> {
        let Some(future) = &mut self.future else { return Ok(true) };
        let wakers = {
            let mailbox = &mut *self.mailbox.borrow_mut();
            mailbox.awaited.clear();
            std::mem::take(&mut mailbox.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
        self.flag.0.store(false, Ordering::Relaxed);
        let waker = Waker::from(Arc::clone(&self.flag));
        let mut context = Context::from_waker(&waker);
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut context)));
        let rank = self.me;
        match polled {
            Ok(Poll::Pending) => Ok(false),
            Ok(Poll::Ready(Ok(()))) => {
                self.future = None;
                Ok(true)
            }
            Ok(Poll::Ready(Err(message))) => Err(SimError::Failed { rank, message }),
            Err(panic) => Err(SimError::Panicked { rank, message: what(&*panic) }),
        }
    }

    fn end_dropped(&mut self, request: Handle, place: Place, receives: bool) -> Action {
        self.call = Some((CallRecord::Wait(1), place));
        self.kind = Kind::Drop(request);
        match receives {
            true => Action::Calls { calls: [Some(Call::Cancel(request)), None], blocking: true },
            false => Action::Requests,
        }
    }

    fn begin<P: Protocol>(
        &mut self,
        command: Command,
        place: Place,
        rank: &Rank<P>,
        data: &mut Data,
        number: u32,
    ) -> Action {
        self.call = Some((CallRecord::of(&command), place));
        let (kind, action) = match command {
            Command::Compute(ns) => (Kind::Compute, Action::Compute(ns)),
            Command::Start(start, blocking) => {
                let (calls, lent) = calls(start, rank, data);
                (Kind::Start { blocking, lent, opened: Vec::new() }, Action::Calls { calls, blocking })
            }
            Command::Wait(requests) => (Kind::Wait { requests, any: false, asked: true }, Action::Requests),
            Command::Test(request) => (Kind::Test(request), Action::Requests),
            Command::Probe(pattern, blocking) => {
                (Kind::Probe { blocking, found: None }, Action::Probe(pattern))
            }
            Command::Cancel(request) => {
                let calls = [Some(Call::Cancel(request)), None];
                (Kind::Cancel, Action::Calls { calls, blocking: false })
            }
            Command::Create(flags, memory) => {
                data.windows.push(memory);
                (Kind::Compute, Action::Create(flags))
            }
            Command::Window(call, operand) => {
                let call = match operand {
                    Some(operand) => call.named(data.begin_operation(InOperation::new(operand, number))),
                    None => call,
                };
                let kind = Kind::Start { blocking: call.blocking, lent: [None, None], opened: Vec::new() };
                (kind, Action::Window(call))
            }
        };
        self.kind = kind;
        action
    }

    /// Whether the request of the statement goes on after the statement has returned.
    pub(crate) fn starts_request(&self) -> bool {
        self.call.is_some_and(|(call, _)| call.starts_request())
    }

    /// Whether the statement tests instead of waiting.
    pub(crate) fn tests(&self) -> bool {
        matches!(self.kind, Kind::Test(_) | Kind::Probe { blocking: false, .. })
    }

    /// Whether the statement waits for one of its requests only.
    pub(crate) fn waits_for_any(&self) -> bool {
        matches!(self.kind, Kind::Wait { any: true, .. })
    }

    /// The requests of other statements that this one waits for or tests.
    pub(crate) fn look_up(&self, into: &mut Vec<Handle>) {
        match &self.kind {
            Kind::Wait { requests, .. } => into.extend(requests),
            Kind::Test(request) | Kind::Drop(request) => into.push(*request),
            _ => {}
        }
    }

    /// A request has begun.
    pub(crate) fn opened(&mut self, request: Handle, data: &mut Data) {
        if let Kind::Start { lent, opened, .. } = &mut self.kind {
            opened.push(request);
            if let Some(lent) = lent.iter_mut().find_map(Option::take) {
                data.lend(request, lent);
            }
        }
    }

    /// The library refuses a call: the statement ends, and has started no request.
    pub(crate) fn refused(&mut self, error: UsageError, data: &mut Data) {
        self.refused = Some(error);
        if let Kind::Start { lent, .. } = &mut self.kind {
            lent.iter_mut().filter_map(Option::take).for_each(|lent| data.forget(&lent));
        }
    }

    /// A probe has an answer.
    pub(crate) fn found(&mut self, message: Option<(Envelope, u64)>) {
        if let Kind::Probe { found, .. } = &mut self.kind {
            *found = message;
        }
    }

    /// A request has ended.
    pub(crate) fn released(&mut self, request: Handle, status: Status, data: &mut Data) {
        let ended = Ended { status, bytes: data.end(request) };
        match &self.kind {
            Kind::Start { .. } => self.ended.push((request, ended)),
            Kind::Drop(_) => {}
            _ => {
                self.mailbox.borrow_mut().ended.insert(request, ended);
            }
        }
    }

    /// The statement returns: its future gets the answer.
    pub(crate) fn end(&mut self) {
        let kind = std::mem::replace(&mut self.kind, Kind::Compute);
        let answer = match (self.refused.take(), kind) {
            (Some(error), _) => Answer::Refused(error),
            (None, Kind::Wait { asked: false, .. } | Kind::Drop(_)) => return,
            (None, Kind::Start { blocking: true, opened, .. }) => {
                let mut ended = std::mem::take(&mut self.ended);
                ended.sort_by_key(|(request, _)| opened.iter().position(|other| other == request));
                Answer::Ended(ended.into_iter().map(|(_, ended)| ended).collect())
            }
            (None, Kind::Start { blocking: false, opened, .. }) => {
                opened.first().map_or(Answer::Done, |request| Answer::Opened(*request))
            }
            (None, Kind::Test(request)) => Answer::Tested(self.mailbox.borrow().ended.contains_key(&request)),
            (None, Kind::Probe { found, .. }) => Answer::Found(found),
            (None, Kind::Compute | Kind::Wait { .. } | Kind::Cancel) => Answer::Done,
        };
        let busy = &mut self.mailbox.borrow_mut().busy;
        match busy {
            Some(Busy { abandoned: false, answer: place, .. }) => *place = Some(answer),
            _ => *busy = None,
        }
    }
}

/// The calls that start requests. The rank owns their bytes from now on.
fn calls<P: Protocol>(
    start: Start,
    rank: &Rank<P>,
    data: &mut Data,
) -> ([Option<Call>; 2], [Option<Lent>; 2]) {
    match start {
        Start::Send(message) => {
            let (call, lent) = send(message, data);
            ([Some(call), None], [Some(lent), None])
        }
        Start::Receive(message) => {
            let (call, lent) = receive(message, data);
            ([Some(call), None], [Some(lent), None])
        }
        Start::Exchange(out, into) => {
            let (send, sends) = send(out, data);
            let (receive, receives) = receive(into, data);
            ([Some(send), Some(receive)], [Some(sends), Some(receives)])
        }
        Start::Collective(collective) => {
            // A call that contradicts itself is refused when it is made.
            let scratch = rank.schedule(&collective.call).map_or(0, |schedule| schedule.scratch_len());
            let [source, target, scratch] = [collective.source, collective.target, vec![0; scratch as usize]]
                .map(|bytes| data.register(bytes));
            let call = Collective { source, target, scratch, ..collective.call };
            let keys = [source, target, scratch].map(|memory| memory.key).to_vec();
            let lent = Lent { keys, back: Some(target.key), op: collective.op };
            ([Some(Call::Collective(call)), None], [Some(lent), None])
        }
    }
}

fn send(Outgoing { to, tag, data: bytes, synchronous }: Outgoing, data: &mut Data) -> (Call, Lent) {
    let (len, memory) = (bytes.len() as u64, data.register(bytes));
    let (to, tag, communicator) = (RankId(to), mpi::tag(tag), Communicator::WORLD);
    let call = Call::Send(Send { to, tag, communicator, len, memory, synchronous, data: None });
    (call, Lent { keys: vec![memory.key], back: None, op: None })
}

fn receive(Incoming { from, tag, room }: Incoming, data: &mut Data) -> (Call, Lent) {
    let (len, memory) = (room as u64, data.register(vec![0; room]));
    let call = Call::Receive(Receive { from, tag, communicator: Communicator::WORLD, len, memory });
    (call, Lent { keys: vec![memory.key], back: Some(memory.key), op: None })
}

/// What a panic says.
fn what(panic: &(dyn Any + std::marker::Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "it does not say why".to_owned())
}
