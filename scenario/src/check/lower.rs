//! Makes of one statement the [`Op`] that it is for one rank.

use std::collections::HashMap;
use std::sync::Arc;

use super::communicators::within;
use super::declarations::unknown_window;
use super::messages::Messages;
use super::values::Values;
use crate::assertions::Assertions;
use crate::ast::{Arg, Expr, Name, Statement};
use crate::combine::Combine;
use crate::ids::{BufferId, CommunicatorId, RequestId, Source, TagSelector, WindowId};
use crate::limits::{BLOCKS_MAX, ITEM_WORK, NAME_PIECE_BYTES};
use crate::model::{Buffer, Program, Scenario, Step};
use crate::op::{Deferred, Hole, Numbers, Op};
use crate::parse::LocatedProblem;
use crate::problem::{Problem, clip, did_you_mean};
use crate::span::Span;
use crate::value::{self, Within};
use crate::verb::{Holds, Verb};

/// The windows by name.
pub(super) struct Windows<'a> {
    scenario: &'a Scenario,
    by_name: HashMap<&'a str, WindowId>,
}

impl<'a> Windows<'a> {
    pub(super) fn new(scenario: &'a Scenario) -> Self {
        let ids = (0..).map(WindowId);
        let names = scenario.windows.iter().map(|window| &*window.name);
        Windows { scenario, by_name: names.zip(ids).collect() }
    }

    pub(super) fn find(&self, name: &Name) -> Result<WindowId, LocatedProblem> {
        let id = self.by_name.get(&*name.text).copied();
        id.ok_or_else(|| unknown_window(name, self.scenario))
    }

    /// Fails if the bytes from `displacement` on are not all inside of `window`.
    fn hold(&self, window: WindowId, displacement: u64, size: u64, at: Span) -> Result<(), LocatedProblem> {
        let window = self.scenario.window(window);
        // Both are below 2^63, so the sum fits.
        let end = displacement + size;
        if end <= window.size {
            return Ok(());
        }
        Err((
            at,
            Problem::OutsideWindow {
                window: clip(&window.name),
                first: displacement,
                last: end.saturating_sub(1),
                size: window.size,
            },
        ))
    }
}

/// A statement for one rank.
pub(super) struct Lowered {
    /// The request that it binds.
    pub(super) bind: Option<RequestId>,
    /// Its communicator.
    pub(super) on: CommunicatorId,
    pub(super) op: Op,
}

/// The names in the statements of one rank so far.
#[derive(Default)]
pub(super) struct Rank<'a> {
    /// With the line of the text.
    labels: HashMap<&'a str, u32>,
    requests: HashMap<&'a str, RequestId>,
    request_names: Vec<Arc<str>>,
    buffers: HashMap<&'a str, BufferId>,
    buffer_list: Vec<Buffer>,
    /// The meaning of the names of requests.
    pub(super) messages: Messages,
}

impl<'a> Rank<'a> {
    /// The statement for this rank. With `skip`, returns `None`; its names are noted all the same.
    pub(super) fn lower(
        &mut self,
        statement: &'a Statement,
        at: Span,
        skip: bool,
        windows: &Windows<'_>,
        values: &mut Values,
    ) -> Result<Option<Lowered>, LocatedProblem> {
        let bind = match &statement.bind {
            Some(name) => Some(self.bind(name, values).map_err(|problem| (name.at, problem))?),
            None => None,
        };
        self.messages.tick();
        let op = match skip {
            true => Ok(None),
            false => Lowering::new(self, statement, windows, values, at).and_then(Lowering::op).map(Some),
        };
        // A wrong statement binds its name all the same.
        self.note(statement, bind);
        op.map(|op| op.map(|(on, op)| Lowered { bind, on, op }))
    }

    /// Notes the names that a statement defines or uses.
    fn note(&mut self, statement: &Statement, bind: Option<RequestId>) {
        match (statement.verb, &*statement.args) {
            (Verb::Wait, [Arg::All]) => self.messages.wait_all(),
            (Verb::Wait, [Arg::Names(names)]) => {
                for id in names.iter().filter_map(|name| self.requests.get(&*name.text)) {
                    self.messages.wait(*id);
                }
            }
            _ => {}
        }
        if let Some(id) = bind {
            self.messages.bind(id, statement.verb);
        }
    }

    /// Notes the label of a statement in line `number`. It is wrong if there is another one.
    pub(super) fn label(
        &mut self,
        label: &'a Name,
        number: u32,
        values: &mut Values,
    ) -> Result<(), LocatedProblem> {
        if let Some(line) = self.labels.insert(&label.text, number) {
            return Err((label.at, Problem::LabelTwice { name: clip(&label.text), line }));
        }
        self.take_names(values).map_err(|problem| (label.at, problem))
    }

    pub(super) fn into_program(mut self, steps: Vec<Step>) -> Program {
        // Copies take no more than they need; shrinking would leave a hole behind each.
        let requests = self.request_names.drain(..).collect();
        Program { steps, requests, buffers: self.buffer_list.drain(..).collect() }
    }

    fn bind(&mut self, name: &'a Name, values: &mut Values) -> Result<RequestId, Problem> {
        let next = RequestId(self.request_names.len() as u32);
        let id = *self.requests.entry(&name.text).or_insert(next);
        if id == next {
            self.take_names(values)?;
            self.request_names.push(Arc::clone(&name.text));
        }
        Ok(id)
    }

    /// Takes memory for the tables of this rank's names.
    fn take_names(&self, values: &mut Values) -> Result<(), Problem> {
        let names = self.labels.len() + self.requests.len() + self.buffers.len();
        values.take_table(names + self.messages.entries())
    }

    fn request(&self, name: &str) -> Result<RequestId, Problem> {
        self.requests.get(name).copied().ok_or_else(|| {
            let help = did_you_mean(name, self.request_names.iter().map(|name| &**name));
            Problem::UnknownRequest { name: clip(name), help }
        })
    }

    fn buffer(&mut self, name: &'a Name, size: u64, values: &mut Values) -> Result<BufferId, Problem> {
        let next = BufferId(self.buffer_list.len() as u32);
        let id = *self.buffers.entry(&name.text).or_insert(next);
        if id == next {
            self.take_names(values)?;
            self.buffer_list.push(Buffer { name: Arc::clone(&name.text), size: 0 });
        }
        let buffer = &mut self.buffer_list[id.0 as usize];
        buffer.size = buffer.size.max(size);
        Ok(id)
    }
}

struct Lowering<'r, 'a> {
    rank: &'r mut Rank<'a>,
    windows: &'r Windows<'r>,
    values: &'r mut Values,
    statement: &'a Statement,
    /// The statement.
    at: Span,
    /// Its communicator, and the ranks that it may name.
    on: CommunicatorId,
    within: Within,
    /// Values that are known only when the program runs, and the names in them.
    holes: Vec<Hole>,
    names: Vec<(Arc<str>, RequestId)>,
    me: Option<u32>,
}

impl<'r, 'a> Lowering<'r, 'a> {
    fn new(
        rank: &'r mut Rank<'a>,
        statement: &'a Statement,
        windows: &'r Windows<'r>,
        values: &'r mut Values,
        at: Span,
    ) -> Result<Self, LocatedProblem> {
        let mut slots = statement.verb.slots().iter().zip(&statement.args);
        let on = slots.find_map(|(slot, arg)| match (slot.holds, arg) {
            (Holds::Communicator, Arg::Name(name)) => Some(name),
            _ => None,
        });
        let (on, within) = within(on, values)?;
        let (holes, names) = (Vec::new(), Vec::new());
        Ok(Lowering { rank, windows, values, statement, at, on, within, holes, names, me: None })
    }

    fn op(mut self) -> Result<(CommunicatorId, Op), LocatedProblem> {
        let outline = self.outline()?;
        if self.holes.is_empty() {
            return Ok((self.on, outline));
        }
        let (mut locals, mut wrong) = (Vec::new(), Ok(()));
        for hole in &self.holes {
            hole.tree.communicators(&mut |name| match self.values.place(name) {
                Ok(place) => locals.push((Arc::clone(name), [place.me, place.size])),
                Err(problem) => wrong = Err((self.at, problem)),
            });
        }
        wrong?;
        let numbers = Numbers { me: self.me, ranks: self.values.ranks(), within: self.within, locals };
        Ok((self.on, Op::Deferred(Arc::new(Deferred::new(outline, self.holes, numbers, self.names)))))
    }

    /// The statement, with 0 for values that are known only when the program runs.
    fn outline(&mut self) -> Result<Op, LocatedProblem> {
        let statement = self.statement;
        let verb = statement.verb;
        let blocking = !verb.starts_request();
        Ok(match (verb, &*statement.args) {
            (Verb::Compute, [time]) => Op::Compute { ns: self.count(time, "a time")? },
            (Verb::Send | Verb::ISend | Verb::SSend | Verb::ISSend, [to, tag, size, buf, _]) => {
                let (to, tag, size) = (self.rank(to)?, self.tag(tag)?, self.size(size)?);
                let synchronous = matches!(verb, Verb::SSend | Verb::ISSend);
                Op::Send { to, tag, size, buf: self.maybe_buffer(buf, size)?, synchronous, blocking }
            }
            (Verb::Recv | Verb::IRecv, [from, tag, size, buf, _]) => {
                let (from, tag, size) = (self.source(from)?, self.selector(tag)?, self.size(size)?);
                Op::Recv { from, tag, size, buf: self.maybe_buffer(buf, size)?, blocking }
            }
            (Verb::SendRecv, [to, send_tag, send_size, from, recv_tag, recv_size, _]) => Op::SendRecv {
                to: self.rank(to)?,
                send_tag: self.tag(send_tag)?,
                send_size: self.size(send_size)?,
                from: self.source(from)?,
                recv_tag: self.selector(recv_tag)?,
                recv_size: self.size(recv_size)?,
            },
            (Verb::Probe, [from, tag, _]) => Op::Probe { from: self.source(from)?, tag: self.selector(tag)? },
            (Verb::Wait, [Arg::All]) => Op::WaitAll,
            (Verb::Wait, [Arg::Names(names)]) => self.wait(names)?,
            (Verb::Test, [Arg::Name(name)]) => Op::Test(self.request(name)?),
            (Verb::Barrier | Verb::IBarrier, [_]) => Op::Barrier { blocking },
            (Verb::Bcast, [root, size, _]) => Op::Bcast { root: self.rank(root)?, size: self.size(size)? },
            (Verb::Reduce, [root, size, _]) => Op::Reduce { root: self.rank(root)?, size: self.size(size)? },
            (Verb::Gather, [root, size, _]) => Op::Gather { root: self.rank(root)?, size: self.size(size)? },
            (Verb::AllReduce, [size, _]) => Op::AllReduce { size: self.size(size)? },
            (Verb::AllGather, [size, _]) => Op::AllGather { size: self.size(size)? },
            (Verb::AllToAll, [size, _]) => Op::AllToAll { size: self.size(size)? },
            (Verb::Read, [Arg::Name(name)]) => Op::ReadBuf(self.buffer(name, 0)?),
            (Verb::Write, [Arg::Name(name)]) => Op::WriteBuf(self.buffer(name, 0)?),
            (_, [Arg::Name(window), args @ ..]) => {
                let window = self.windows.find(window)?;
                self.window_op(verb, window, args, blocking)?
            }
            _ => return Err(self.malformed()),
        })
    }

    /// The statements whose first slot is a window.
    fn window_op(
        &mut self,
        verb: Verb,
        window: WindowId,
        args: &'a [Arg],
        blocking: bool,
    ) -> Result<Op, LocatedProblem> {
        Ok(match (verb, args) {
            (Verb::Load | Verb::Store, [displacement, size]) => {
                let place = size;
                let (displacement, size) = (self.displacement(displacement)?, self.size(size)?);
                self.windows.hold(window, displacement, size, self.place(place))?;
                match verb {
                    Verb::Load => Op::Load { window, displacement, size },
                    _ => Op::Store { window, displacement, size },
                }
            }
            (
                Verb::Put | Verb::Get | Verb::Acc | Verb::GetAcc,
                [target, bytes, at, blocks, distance, buf, op @ ..],
            ) => {
                let target = self.rank(target)?;
                let (size, displacement) = (self.size(bytes)?, self.displacement(at)?);
                let (count, stride) = self.blocks(size, blocks, distance)?;
                if matches!(verb, Verb::Acc | Verb::GetAcc) {
                    aligned("a size", size, self.place(bytes))?;
                    aligned("a displacement", displacement, self.place(at))?;
                    aligned("a stride", stride, self.place(distance))?;
                }
                let too_much = (self.place(bytes), Problem::Overflow);
                let last = stride.checked_mul(u64::from(count.saturating_sub(1)));
                let reach = last.and_then(|last| last.checked_add(if count == 0 { 0 } else { size }));
                // As any other value of a file; so is what is moved, which is not more.
                let reach = reach.filter(|reach| *reach <= i64::MAX as u64).ok_or(too_much)?;
                let all = size * u64::from(count);
                self.windows.hold(window, displacement, reach, self.place(bytes))?;
                let buf = self.maybe_buffer(buf, all)?;
                match verb {
                    Verb::Put => Op::Put { window, target, size, displacement, count, stride, buf },
                    Verb::Get => Op::Get { window, target, size, displacement, count, stride, buf },
                    _ => {
                        let (combine, fetches) = (self.combine(op)?, verb == Verb::GetAcc);
                        Op::Accumulate {
                            window,
                            target,
                            size,
                            displacement,
                            count,
                            stride,
                            combine,
                            fetches,
                            buf,
                        }
                    }
                }
            }
            (Verb::FetchOp | Verb::Cas, [target, displacement, op @ ..]) => {
                const ELEMENT_BYTES: u64 = 8;
                let place = self.place(displacement);
                let target = self.rank(target)?;
                let displacement = self.displacement(displacement)?;
                aligned("a displacement", displacement, place)?;
                self.windows.hold(window, displacement, ELEMENT_BYTES, place)?;
                match verb {
                    Verb::FetchOp => Op::FetchOp { window, target, displacement, combine: self.combine(op)? },
                    _ => Op::CompareSwap { window, target, displacement },
                }
            }
            (Verb::Fence | Verb::IFence, [assertions]) => {
                Op::Fence { window, assertions: self.assertions(assertions)?, blocking }
            }
            (Verb::Start | Verb::IStart, [group, assertions]) => {
                let assertions = self.assertions(assertions)?;
                Op::Start { window, group: self.group(group)?, assertions, blocking }
            }
            (Verb::Post | Verb::IPost, [group, assertions]) => {
                let assertions = self.assertions(assertions)?;
                Op::Post { window, group: self.group(group)?, assertions, blocking }
            }
            (Verb::Complete | Verb::IComplete, []) => Op::Complete { window, blocking },
            (Verb::WaitEpoch | Verb::IWaitEpoch, []) => Op::WaitEpoch { window, blocking },
            (Verb::Lock | Verb::ILock, [target, mode, assertions]) => {
                let exclusive = matches!(mode, Arg::Exclusive);
                let assertions = self.assertions(assertions)?;
                Op::Lock { window, target: self.rank(target)?, exclusive, assertions, blocking }
            }
            (Verb::Unlock | Verb::IUnlock, [target]) => {
                Op::Unlock { window, target: self.rank(target)?, blocking }
            }
            (Verb::LockAll | Verb::ILockAll, [assertions]) => {
                Op::LockAll { window, assertions: self.assertions(assertions)?, blocking }
            }
            (Verb::UnlockAll | Verb::IUnlockAll, []) => Op::UnlockAll { window, blocking },
            (Verb::Flush | Verb::IFlush, [target]) => {
                Op::Flush { window, target: Some(self.rank(target)?), local: false, blocking }
            }
            (Verb::FlushLocal | Verb::IFlushLocal, [target]) => {
                Op::Flush { window, target: Some(self.rank(target)?), local: true, blocking }
            }
            (Verb::FlushAll | Verb::IFlushAll, []) => {
                Op::Flush { window, target: None, local: false, blocking }
            }
            (Verb::FlushLocalAll | Verb::IFlushLocalAll, []) => {
                Op::Flush { window, target: None, local: true, blocking }
            }
            _ => return Err(self.malformed()),
        })
    }

    fn wait(&mut self, names: &[Name]) -> Result<Op, LocatedProblem> {
        let pieces = names.iter().map(|name| (name.text.len() / NAME_PIECE_BYTES) as u64);
        let work = ITEM_WORK * names.len() as u64 + pieces.sum::<u64>();
        self.values.spend(work).map_err(|problem| (self.at, problem))?;
        let requests: Result<_, LocatedProblem> = names.iter().map(|name| self.request(name)).collect();
        requests.map(Op::Wait)
    }

    fn request(&self, name: &Name) -> Result<RequestId, LocatedProblem> {
        self.rank.request(&name.text).map_err(|problem| (name.at, problem))
    }

    fn expr<'e>(&self, arg: &'e Arg) -> Result<&'e Expr, LocatedProblem> {
        match arg {
            Arg::Expr(expr) => Ok(expr),
            _ => Err(self.malformed()),
        }
    }

    fn malformed(&self) -> LocatedProblem {
        (self.at, Problem::MalformedTree)
    }

    /// The place to report that `arg` is wrong. For an absent one, it is the place of the statement.
    fn place(&self, arg: &Arg) -> Span {
        match arg {
            Arg::Expr(expr) => expr.at,
            _ => self.at,
        }
    }

    /// The value of an expression in the range that `range` checks; 0 if it is known only when the program runs.
    fn value<T: Default>(
        &mut self,
        arg: &Arg,
        range: impl Fn(i64) -> Result<T, Problem>,
    ) -> Result<T, LocatedProblem> {
        let expr = self.expr(arg)?;
        match self.values.value(expr)? {
            Some(value) => range(value).map_err(|problem| (expr.at, problem)),
            None => self.defer(arg, expr).map(|()| T::default()),
        }
    }

    /// Notes that the value in a slot is known only when the program runs.
    fn defer(&mut self, arg: &Arg, expr: &Expr) -> Result<(), LocatedProblem> {
        let slot = self.statement.args.iter().position(|other| std::ptr::eq(other, arg));
        let slot = slot.filter(|_| self.statement.verb.defers()).ok_or(self.malformed())?;
        let mut wrong = Ok(());
        expr.tree.received(&mut |_, name| {
            if wrong.is_ok() {
                wrong = self.ask(name, expr.at);
            }
        });
        let tree = wrong.and_then(|()| self.values.keep(&expr.tree)).map_err(|problem| (expr.at, problem))?;
        self.me = self.me.or(self.values.me_of(&expr.tree));
        self.holes.push(Hole { slot, tree });
        Ok(())
    }

    /// The statement uses the message of a name.
    fn ask(&mut self, name: &Arc<str>, at: Span) -> Result<(), Problem> {
        self.values.spend(1)?;
        let id = self.rank.request(name)?;
        self.rank.messages.ask(id, name, at)?;
        self.rank.take_names(self.values)?;
        self.names.push((Arc::clone(name), id));
        Ok(())
    }

    fn rank(&mut self, arg: &Arg) -> Result<u32, LocatedProblem> {
        let within = self.within.clone();
        self.value(arg, |value| within.rank(value))
    }

    fn source(&mut self, arg: &Arg) -> Result<Source, LocatedProblem> {
        match arg {
            Arg::Any => Ok(Source::Any),
            one => self.rank(one).map(Source::Rank),
        }
    }

    fn tag(&mut self, arg: &Arg) -> Result<u32, LocatedProblem> {
        self.value(arg, value::tag)
    }

    fn selector(&mut self, arg: &Arg) -> Result<TagSelector, LocatedProblem> {
        match arg {
            Arg::Any => Ok(TagSelector::Any),
            one => self.tag(one).map(TagSelector::Tag),
        }
    }

    fn count(&mut self, arg: &Arg, what: &'static str) -> Result<u64, LocatedProblem> {
        self.value(arg, |value| value::count(value, what))
    }

    fn size(&mut self, arg: &Arg) -> Result<u64, LocatedProblem> {
        self.count(arg, "a size")
    }

    fn displacement(&mut self, arg: &Arg) -> Result<u64, LocatedProblem> {
        match arg {
            Arg::Absent => Ok(0),
            one => self.count(one, "a displacement"),
        }
    }

    fn maybe_buffer(&mut self, arg: &'a Arg, size: u64) -> Result<Option<BufferId>, LocatedProblem> {
        match arg {
            Arg::Absent => Ok(None),
            Arg::Name(name) => self.buffer(name, size).map(Some),
            _ => Err(self.malformed()),
        }
    }

    fn buffer(&mut self, name: &'a Name, size: u64) -> Result<BufferId, LocatedProblem> {
        self.rank.buffer(name, size, self.values).map_err(|problem| (name.at, problem))
    }

    /// How many blocks of `size` bytes a statement accesses, and how far they are apart.
    fn blocks(&mut self, size: u64, count: &Arg, stride: &Arg) -> Result<(u32, u64), LocatedProblem> {
        let (blocks, distance) = match (count, stride) {
            (Arg::Absent, Arg::Absent) => return Ok((1, size)),
            (Arg::Absent, given) | (given, Arg::Absent) => {
                return Err((self.place(given), Problem::HalfAStride));
            }
            (count, stride) => (self.count(count, "a number of blocks")?, self.count(stride, "a stride")?),
        };
        let few = u32::try_from(blocks).ok().filter(|few| *few <= BLOCKS_MAX);
        let few = few.ok_or_else(|| (self.place(count), Problem::TooManyBlocks { count: blocks }))?;
        if few <= 1 {
            // It has none beside it.
            return Ok((few, size));
        }
        if distance < size {
            return Err((self.place(stride), Problem::StrideBelowSize { stride: distance, size }));
        }
        Ok((few, distance))
    }

    fn combine(&self, args: &[Arg]) -> Result<Combine, LocatedProblem> {
        match args {
            [Arg::Absent] => Ok(Combine::default()),
            [Arg::Combine(combine)] => Ok(*combine),
            _ => Err(self.malformed()),
        }
    }

    fn assertions(&self, arg: &Arg) -> Result<Assertions, LocatedProblem> {
        match arg {
            Arg::Absent => Ok(Assertions::default()),
            Arg::Assertions(assertions) => Ok(*assertions),
            _ => Err(self.malformed()),
        }
    }

    /// A group is a set: ascending, each rank once.
    fn group(&mut self, arg: &Arg) -> Result<Arc<[u32]>, LocatedProblem> {
        let Arg::Group(group) = arg else { return Err(self.malformed()) };
        let mut ranks = self.values.group(group)?;
        ranks.sort_unstable();
        ranks.dedup();
        Ok(ranks.into())
    }
}

fn aligned(what: &'static str, value: u64, at: Span) -> Result<(), LocatedProblem> {
    if value.is_multiple_of(8) { Ok(()) } else { Err((at, Problem::Unaligned { what, value })) }
}
