//! The interface of a task to its rank, in virtual time.

use crate::mailbox::{
    Answer, Busy, CollectiveCall, Command, Ended, Incoming, Mailbox, Outgoing, Place, Start,
};
use carrousel_rank::{Communicator, Envelope, Handle, Pattern, Source, TagSelector, UsageError};
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// The interface of a task to its rank, in virtual time. A call that is awaited costs as much as in a scenario.
///
/// A rank executes one call at a time. A call takes effect when it is first polled, and goes on to its end even if
/// its future is dropped. Each call has the `place` in the application's source that reports name.
#[derive(Clone, Debug)]
pub struct Port(pub(crate) Rc<RefCell<Mailbox>>);

impl Port {
    /// The number of the rank.
    pub fn rank(&self) -> u32 {
        self.0.borrow().me
    }

    /// The number of ranks.
    pub fn size(&self) -> u32 {
        self.0.borrow().ranks
    }

    /// Virtual nanoseconds since the start.
    pub fn now_ns(&self) -> u64 {
        self.0.borrow().now
    }

    /// The CPU is busy for this many nanoseconds.
    pub async fn compute(&self, ns: u64, place: Place) {
        self.ask(Command::Compute(ns), place).await;
    }

    /// Sends, and waits until the bytes may be changed.
    ///
    /// # Errors
    /// If there is no such rank or tag.
    pub async fn send(&self, message: Outgoing, place: Place) -> Result<Ended, UsageError> {
        last(self.ask(Command::Start(Start::Send(message), true), place).await)
    }

    /// Receives.
    ///
    /// # Errors
    /// If there is no such rank or tag.
    pub async fn receive(&self, message: Incoming, place: Place) -> Result<Ended, UsageError> {
        last(self.ask(Command::Start(Start::Receive(message), true), place).await)
    }

    /// Sends and receives at the same time; returns the end of the receive.
    ///
    /// # Errors
    /// If there is no such rank or tag.
    pub async fn exchange(&self, out: Outgoing, into: Incoming, place: Place) -> Result<Ended, UsageError> {
        last(self.ask(Command::Start(Start::Exchange(out, into), true), place).await)
    }

    /// Takes part in a collective, and waits until this rank's part is done.
    ///
    /// # Errors
    /// When the collective contradicts itself.
    pub async fn collective(&self, collective: CollectiveCall, place: Place) -> Result<Ended, UsageError> {
        last(self.ask(Command::Start(Start::Collective(collective), true), place).await)
    }

    /// Starts a send.
    ///
    /// # Errors
    /// If there is no such rank or tag.
    pub async fn start_send(&self, message: Outgoing, place: Place) -> Result<Flight, UsageError> {
        let answer = self.ask(Command::Start(Start::Send(message), false), place).await;
        self.flight(answer, place, false)
    }

    /// Starts a receive.
    ///
    /// # Errors
    /// If there is no such rank or tag.
    pub async fn start_receive(&self, message: Incoming, place: Place) -> Result<Flight, UsageError> {
        let answer = self.ask(Command::Start(Start::Receive(message), false), place).await;
        self.flight(answer, place, true)
    }

    /// Enters a collective.
    ///
    /// # Errors
    /// When the collective contradicts itself.
    pub async fn start_collective(
        &self,
        collective: CollectiveCall,
        place: Place,
    ) -> Result<Flight, UsageError> {
        let answer = self.ask(Command::Start(Start::Collective(collective), false), place).await;
        self.flight(answer, place, false)
    }

    /// Waits until all of these have ended. Awaiting them afterwards costs nothing.
    pub async fn wait_all(&self, flights: impl IntoIterator<Item = &Flight>, place: Place) {
        let open = flights.into_iter().filter(|flight| !flight.over).map(|flight| flight.handle);
        let open = open.collect();
        self.ask(Command::Wait(open), place).await;
    }

    /// Whether a request is complete.
    pub async fn test(&self, flight: &Flight, place: Place) -> bool {
        let ended = flight.over || self.0.borrow().ended.contains_key(&flight.handle);
        ended || matches!(self.ask(Command::Test(flight.handle), place).await, Answer::Tested(true))
    }

    /// Asks for a receive to be cancelled; does nothing for other requests.
    pub async fn cancel(&self, flight: &Flight, place: Place) {
        let ended = flight.over || self.0.borrow().ended.contains_key(&flight.handle);
        if flight.receives && !ended {
            self.ask(Command::Cancel(flight.handle), place).await;
        }
    }

    /// Waits until a message can be received, or looks whether one can: returns its sender, its tag, and its bytes.
    pub async fn probe(
        &self,
        from: Source,
        tag: TagSelector,
        blocking: bool,
        place: Place,
    ) -> Option<(Envelope, u64)> {
        let pattern = Pattern { source: from, tag, context: Communicator::WORLD.messages() };
        match self.ask(Command::Probe(pattern, blocking), place).await {
            Answer::Found(found) => found,
            _ => None,
        }
    }

    pub(crate) fn ask(&self, command: Command, place: Place) -> impl Future<Output = Answer> + use<> {
        Ask { mailbox: Rc::clone(&self.0), place, state: AskState::New(Some(command)) }
    }

    pub(crate) fn flight(&self, answer: Answer, place: Place, receives: bool) -> Result<Flight, UsageError> {
        match answer {
            Answer::Opened(handle) => {
                Ok(Flight { mailbox: Rc::clone(&self.0), handle, place, receives, over: false })
            }
            Answer::Refused(error) => Err(error),
            _ => unreachable!("what starts a request is answered by that or a refusal"),
        }
    }
}

/// The end of the last request of a call: that of an exchange is the receive.
fn last(answer: Answer) -> Result<Ended, UsageError> {
    match answer {
        Answer::Ended(mut ended) => Ok(ended.pop().unwrap_or_else(|| unreachable!("one has begun"))),
        Answer::Refused(error) => Err(error),
        _ => unreachable!("a call that waits is answered by its end or a refusal"),
    }
}

/// A call, which the rank begins when it executes no other.
struct Ask {
    mailbox: Rc<RefCell<Mailbox>>,
    place: Place,
    state: AskState,
}

enum AskState {
    /// Not asked yet.
    New(Option<Command>),
    Asked,
    Answered,
}

impl Future for Ask {
    type Output = Answer;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer> {
        let ask = self.get_mut();
        let mailbox = &mut *ask.mailbox.borrow_mut();
        match &mut ask.state {
            AskState::New(command) if mailbox.busy.is_none() => {
                let (command, place) = (command.take(), ask.place);
                mailbox.busy = Some(Busy { command, place, answer: None, abandoned: false });
                ask.state = AskState::Asked;
            }
            AskState::Asked => {
                if let Some(answer) = mailbox.busy.as_mut().and_then(|busy| busy.answer.take()) {
                    mailbox.busy = None;
                    ask.state = AskState::Answered;
                    return Poll::Ready(answer);
                }
            }
            AskState::New(_) | AskState::Answered => {}
        }
        mailbox.wakers.push(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Ask {
    fn drop(&mut self) {
        if let AskState::Asked = self.state {
            let busy = &mut self.mailbox.borrow_mut().busy;
            match busy {
                Some(Busy { answer: Some(_), .. }) => *busy = None,
                Some(busy) => busy.abandoned = true,
                None => {}
            }
        }
    }
}

/// A request that has begun. Awaiting it returns its end.
///
/// If it is dropped before, the rank cancels it if it is a receive, and waits for its end before it does anything
/// else.
#[derive(Debug)]
#[must_use = "a request that is dropped is waited for"]
pub struct Flight {
    mailbox: Rc<RefCell<Mailbox>>,
    handle: Handle,
    place: Place,
    receives: bool,
    /// Whether its result has been taken.
    over: bool,
}

impl Flight {
    /// The end of the request, if the rank has reported it. `None` if it has been taken before.
    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<Option<Ended>> {
        let mailbox = &mut *self.mailbox.borrow_mut();
        if self.over {
            return Poll::Ready(None);
        }
        if let Some(ended) = mailbox.ended.remove(&self.handle) {
            self.over = true;
            return Poll::Ready(Some(ended));
        }
        mailbox.awaited.push((self.handle, self.place));
        mailbox.wakers.push(context.waker().clone());
        Poll::Pending
    }

    /// Waits for its end. `None` if that has been taken before.
    pub fn end(&mut self) -> impl Future<Output = Option<Ended>> {
        poll_fn(|context| self.poll_end(context))
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mailbox = &mut *self.mailbox.borrow_mut();
        if !self.over && mailbox.ended.remove(&self.handle).is_none() {
            mailbox.dropped.push_back((self.handle, self.place, self.receives));
        }
    }
}
