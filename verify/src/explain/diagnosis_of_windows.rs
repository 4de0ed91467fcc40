//! Violations at windows in a sentence or two.

use super::diagnosis::{Diagnoser, Diagnosis};
use super::evidence::Evidence;
use super::execution::ExecutedStep;
use crate::open_epochs::{EpochForm, OpenEpoch};
use crate::program::{Act, is_atomic};
use crate::violation::BrokenAssertion;
use carrousel_rank::RankId;
use carrousel_rank::epoch::Call;
use carrousel_scenario::Assertion;
use std::cmp::Ordering;

impl Diagnoser<'_> {
    pub(super) fn epoch_usage(&self, at: u16, error: &str) -> Diagnosis {
        let error = error.strip_prefix("epoch-usage: ").unwrap_or(error);
        Diagnosis {
            summary: format!(
                "Rank {at} makes a call that its epochs do not admit{}: {error}. An access needs an epoch of its target, \
                 and epochs of a window are opened and closed in pairs (MPI-4.1, 12.5).",
                self.place_of_last(at)
            ),
            here: error.to_owned(),
            ranks: vec![at],
        }
    }

    pub(super) fn locked_while_exposed(&self, at: u16, origin: u16) -> Diagnosis {
        Diagnosis {
            summary: format!(
                "Rank {origin} requests the lock of rank {at}'s memory, which rank {at} exposes to others (post). A \
                 window must not be locked and exposed at the same time (MPI-4.1, 12.5.3)."
            ),
            here: format!("rank {origin} would lock what is exposed"),
            ranks: vec![at, origin],
        }
    }

    pub(super) fn exposed_while_locked(&self, at: u16, holder: u16) -> Diagnosis {
        Diagnosis {
            summary: format!(
                "Rank {at} exposes its memory{}, which rank {holder} has locked and not unlocked yet. A window must not be \
                 locked and exposed at the same time (MPI-4.1, 12.5.3).",
                self.place_of_last(at)
            ),
            here: format!("rank {holder} has locked what is exposed"),
            ranks: vec![at, holder],
        }
    }

    pub(super) fn access_between_fences(&self, at: u16, access: u16) -> Diagnosis {
        Diagnosis {
            summary: format!(
                "Rank {at} ends an epoch of fences{}, and its {} belongs to another epoch of the same window. Two fences \
                 with an access between them are an access epoch, and access epochs of a rank do not overlap (MPI-4.1, \
                 12.5.1). Fences that say `nosucceed` and `noprecede` are none.",
                self.place_of_last(at),
                self.names.access_in_full(at, access)
            ),
            here: format!("{} is between the fences", self.names.access(at, access)),
            ranks: vec![at],
        }
    }

    pub(super) fn epoch_left_open(&self, at: u16, epoch: OpenEpoch) -> Diagnosis {
        let (opened, closed_by) = match epoch.form {
            EpochForm::Fence => ("the fence".to_owned(), "another fence"),
            EpochForm::Access => ("start".to_owned(), "complete"),
            EpochForm::Exposure => ("post".to_owned(), "wait_epoch"),
            EpochForm::Lock(target) => (format!("the lock of rank {target}"), "unlock"),
            EpochForm::LockAll => ("lock_all".to_owned(), "unlock_all"),
        };
        let place = self.names.place(at, usize::from(epoch.opened_at));
        Diagnosis {
            summary: format!(
                "Rank {at} ends its program with an open epoch of {}: {opened} {place} is never followed by {closed_by}. \
                 Accesses are complete only when their epoch is closed (MPI-4.1, 12.5).",
                self.names.window(epoch.window)
            ),
            here: format!("the program ends, and the epoch of {opened} is open"),
            ranks: vec![at],
        }
    }

    pub(super) fn groups_differ(&self, origin: u16, target: u16, window: u16) -> Diagnosis {
        let (starts, posts) = self.names.pairs(origin, target, window);
        let first = |rank: u16, calls: &[u16], others: &[u16]| {
            let extra = calls.get(others.len()).or(calls.last());
            extra.map_or_else(String::new, |pc| format!(", {}", self.names.place(rank, usize::from(*pc))))
        };
        let others = |rank: u16, is_it: fn(&Call<'_>) -> bool| {
            let other = self.names.calls(rank, Some(window)).find(|(_, call)| is_it(call));
            let place = |(pc, _)| format!("; it has others, {}", self.names.place(rank, usize::from(pc)));
            other.map_or_else(String::new, place)
        };
        let other_posts = if posts.is_empty() {
            others(target, |call| matches!(call, Call::Post(_)))
        } else {
            String::new()
        };
        let other_starts = if starts.is_empty() {
            others(origin, |call| matches!(call, Call::Start(_)))
        } else {
            String::new()
        };
        let counts = match starts.len().cmp(&posts.len()) {
            Ordering::Greater => format!(
                "rank {origin} starts {} to rank {target} in {}{}, and rank {target} posts {} for it{}",
                counted(starts.len(), "access", "es"),
                self.names.window(window),
                first(origin, &starts, &posts),
                counted(posts.len(), "exposure", "s"),
                other_posts
            ),
            Ordering::Less => format!(
                "rank {target} posts {} for rank {origin} in {}{}, and rank {origin} starts {} to it{}",
                counted(posts.len(), "exposure", "s"),
                self.names.window(window),
                first(target, &posts, &starts),
                counted(starts.len(), "access", "es"),
                other_starts
            ),
            Ordering::Equal => format!(
                "rank {origin} does not start as many accesses to rank {target} in {} as rank {target} exposes its memory \
                 to it, fences among them",
                self.names.window(window)
            ),
        };
        Diagnosis {
            summary: format!(
                "The groups of start and post do not match: {counts}. Each access epoch needs an exposure epoch at each \
                 of its targets (MPI-4.1, 12.5.2)."
            ),
            here: match starts.len().cmp(&posts.len()) {
                Ordering::Greater => format!("rank {target} never posts for it"),
                Ordering::Less => format!("rank {origin} never starts an access for it"),
                Ordering::Equal => {
                    format!("accesses of rank {origin} and exposures of rank {target} do not match")
                }
            },
            ranks: vec![origin, target],
        }
    }

    pub(super) fn fences_differ(&self, at: u16, other: u16, window: u16) -> Diagnosis {
        let (more, fewer) = (self.names.fences(at, window), self.names.fences(other, window));
        let extra = more.get(fewer.len()).map(|pc| self.names.place(at, usize::from(*pc)));
        Diagnosis {
            summary: format!(
                "Rank {at} calls {} of {}, and rank {other} calls {}: nobody has a fence for {}. A fence is a collective of all \
                 ranks of its window (MPI-4.1, 12.5.1).",
                counted(more.len(), "fence", "s"),
                self.names.window(window),
                if fewer.is_empty() { "none".to_owned() } else { fewer.len().to_string() },
                extra.map_or_else(|| "it".to_owned(), |place| format!("rank {at}'s {place}")),
            ),
            here: format!("rank {other} has no fence for it"),
            ranks: vec![at, other],
        }
    }

    pub(super) fn request_without_lock(&self, at: u16, access: u16) -> Diagnosis {
        Diagnosis {
            summary: format!(
                "Rank {at} binds a request to its {} in an epoch without a lock. Accesses have requests of their own only \
                 in the epochs of lock and lock_all (MPI-4.1, 12.3.5).",
                self.names.access_in_full(at, access)
            ),
            here: "a request needs an epoch of a lock".to_owned(),
            ranks: vec![at],
        }
    }

    pub(super) fn asserted(&self, at: u16, broken: BrokenAssertion) -> Diagnosis {
        let place = |rank: u16, step: u16| self.names.place(rank, usize::from(step));
        let (asserter, says, but, here, mut ranks) = match broken {
            BrokenAssertion::Stored { store } => {
                let but = format!(
                    "its program has stored into its memory since its last synchronization, {}",
                    place(at, store)
                );
                (at, Assertion::NoStore, but, "there was a store before".to_owned(), vec![])
            }
            BrokenAssertion::Preceded { access } => {
                let but = format!("an access of the epoch that it ends is {}", place(at, access));
                (at, Assertion::NoPrecede, but, "an access precedes".to_owned(), vec![])
            }
            BrokenAssertion::Succeeded { fence } => {
                let but = format!("an access follows{}", self.place_of_last(at));
                let here = format!("the fence {} says that none follows", place(at, fence));
                (at, Assertion::NoSucceed, but, here, vec![])
            }
            BrokenAssertion::Put { exposure } => {
                let but = format!("rank {at} writes into its memory{}", self.place_of_last(at));
                let here = format!("rank {} has been promised that nobody writes", exposure.rank);
                (exposure.rank, Assertion::NoPut, but, here, vec![])
            }
            BrokenAssertion::SaidByOne { assertion, other, is_mine } => {
                let (asserter, silent) = if is_mine { (at, other.rank) } else { (other.rank, at) };
                let but = format!(
                    "rank {silent} does not say so: of these two calls, both do or none does. The other call of rank {} is {}",
                    other.rank,
                    place(other.rank, other.step)
                );
                (
                    asserter,
                    assertion,
                    but,
                    format!("only rank {asserter} says {}", assertion.name()),
                    vec![silent],
                )
            }
            BrokenAssertion::NotPosted { post } => {
                let but =
                    format!("rank {} may not have posted yet, {}", post.rank, place(post.rank, post.step));
                (at, Assertion::NoCheck, but, format!("rank {} has not posted", post.rank), vec![post.rank])
            }
            BrokenAssertion::Contended { other, is_mine } => {
                let (asserter, rival) = if is_mine { (at, other.rank) } else { (other.rank, at) };
                let but = format!(
                    "rank {rival} has or requests a lock that excludes it; the lock of rank {} is requested {}",
                    other.rank,
                    place(other.rank, other.step)
                );
                (
                    asserter,
                    Assertion::NoCheck,
                    but,
                    format!("rank {} has or wants this lock, too", other.rank),
                    vec![rival],
                )
            }
        };
        ranks.extend([at, asserter]);
        ranks.sort_unstable();
        ranks.dedup();
        Diagnosis {
            summary: format!(
                "Rank {asserter} asserts `{}`, but {but}. An MPI may leave out the synchronization that an assertion makes \
                 needless, and what it says has to be so (MPI-4.1, 12.5.5).",
                says.name()
            ),
            here,
            ranks,
        }
    }

    pub(super) fn race(&self, at: u16, first: (u16, u16), second: (u16, Option<u16>)) -> Diagnosis {
        let one = format!("rank {}'s {}", first.0, self.names.access_in_full(first.0, first.1));
        let other = match second.1 {
            Some(access) => format!("rank {}'s {}", second.0, self.names.access_in_full(second.0, access)),
            None => format!("rank {}'s own access{}", second.0, self.place_of_last(second.0)),
        };
        let mut ranks = vec![at, first.0, second.0];
        ranks.dedup();
        let kind = |rank: u16, access: u16| self.names.kind_of_access(rank, access);
        let (this, that) = (kind(first.0, first.1), second.1.and_then(|access| kind(second.0, access)));
        let why = match this.zip(that) {
            Some((this, that)) if is_atomic(this) && is_atomic(that) => {
                "Nothing orders them, and MPI leaves open whether two different operations are atomic towards each other: \
                 concurrent ones on one place are to be the same, or one a no_op (MPI-4.1, 12.2.1, info key \
                 accumulate_ops), and those of one origin are ordered unless the key accumulate_ordering is none. \
                 `option WINDOW.accumulate_ops` and `option WINDOW.accumulate_ordering` say what a program sets."
            }
            _ => {
                "Nothing orders them, one of them writes, and not both are atomic: what is read or stays there is \
                 undefined (MPI-4.1, 12.7)."
            }
        };
        let until = self.complete_until(at, first, second).map_or_else(String::new, |it| format!(" {it}"));
        Diagnosis {
            summary: format!(
                "Two accesses to the same memory of rank {at} race: {one} and {other}. {why}{until}"
            ),
            here: format!("races with {}", self.names.access_of(first.0, first.1)),
            ranks,
        }
    }

    /// Where a call ends that a step begins: there, or at the wait for its request; and that step.
    fn end_of_call(&self, rank: u16, pc: usize) -> (String, usize) {
        let (names, begun) = (self.names, self.names.place(rank, pc));
        let Some(Act::Start(request)) = names.act(rank, pc) else { return (begun, pc) };
        match names.wait_from(rank, pc, *request) {
            Some(wait) if names.line(rank, wait) == names.line(rank, pc) => (begun, pc),
            Some(wait) => (format!("{}, which ends the call {begun}", names.place(rank, wait)), wait),
            None => (format!("when a statement waits for the call {begun}, and none does"), usize::MAX),
        }
    }

    /// Of an access that was not complete when something was sent that another rank got before its own access: where it
    /// is complete, and what went out before.
    fn complete_until(
        &self,
        at: u16,
        (rank, access): (u16, u16),
        second: (u16, Option<u16>),
    ) -> Option<String> {
        let evidence = Evidence::new(self.names, self.execution);
        let one = evidence.access(rank, access)?;
        let other = match second.1 {
            Some(access) => evidence.access(second.0, access)?,
            None => self.execution.steps.len().checked_sub(1)?,
        };
        let program = self.names.program(rank)?;
        let (it, called) =
            (program.accesses.get(usize::from(access))?, self.names.step_of_access(rank, access)?);
        let forms = EpochForm::of_access(it.transfer.target);
        let calls =
            || program.calls().filter(|(pc, call)| usize::from(*pc) > called && call.window == it.window);
        let covers = |target: RankId| target == it.transfer.target;
        let close = calls().find(|(_, call)| match call.call() {
            Call::Flush(point) | Call::FlushWithRequest(point) => {
                !point.is_local && point.target.is_none_or(covers)
            }
            call => EpochForm::closed_by(call).is_some_and(|form| forms.contains(&form)),
        });
        let mine = self.names.access(rank, access);
        let sent = evidence.chain(one, other);
        let sent = sent.iter().filter(|step| self.execution.steps[**step].at == rank && **step > one).min();
        let sent = sent.and_then(|step| self.execution.steps[*step].pc).map(usize::from);
        let is_made = |pc: u16| {
            let made = |step: &ExecutedStep| step.at == rank && step.pc == Some(pc);
            self.execution.steps.iter().take(other).any(made)
        };
        let is_called = close.as_ref().is_some_and(|(pc, _)| is_made(*pc));
        if sent.is_none() && second.1.is_some() && !is_called {
            return None;
        }
        let is_passive =
            close.as_ref().is_some_and(|(_, call)| matches!(call.call(), Call::Unlock(_) | Call::UnlockAll));
        // What was to order the two may be meant the other way round, and then no flush helps.
        if sent.is_none() && is_passive {
            return None;
        }
        let place = |pc: &u16| self.end_of_call(rank, usize::from(*pc)).0;
        // The target's own call, which has not returned.
        let not_yet = if is_called { ", and here it has not returned from that" } else { "" };
        let until = match &close {
            None => format!(
                "Nothing completes rank {rank}'s {mine} at rank {at}: no flush, and no end of its epoch, follows"
            ),
            Some((pc, call)) => {
                let until = match call.call() {
                    Call::Unlock(_) | Call::UnlockAll => {
                        let window = self.names.window_name(it.window);
                        let flush =
                            window.map_or("flush".to_owned(), |window| format!("`flush {window} at {at}`"));
                        format!("only {}, or with a {flush} before", place(pc))
                    }
                    Call::Complete => format!(
                        "only when rank {at} returns from the end of its exposure, behind rank {rank}'s call {}{not_yet}",
                        place(pc)
                    ),
                    Call::Fence => format!(
                        "only when rank {at} returns from the fence that ends the epoch, which rank {rank} calls {}{not_yet}",
                        place(pc)
                    ),
                    _ => format!("only {}", place(pc)),
                };
                format!("Rank {rank}'s {mine} is complete at rank {at} {until}")
            }
        };
        let before = close.as_ref().map_or(usize::MAX, |(pc, _)| self.end_of_call(rank, usize::from(*pc)).1);
        let mut text = until;
        if let Some(pc) = sent.filter(|pc| *pc < before) {
            let what = self.names.place(rank, pc);
            text.push_str(&format!("; the call {what} comes before that, and so does not order them"));
        }
        text.push('.');
        let local = calls().find(|(pc, call)| {
            let is_local = match call.call() {
                Call::Flush(point) | Call::FlushWithRequest(point) => point.is_local,
                _ => false,
            };
            usize::from(*pc) < before && is_local
        });
        if let Some((pc, _)) = local.filter(|_| is_passive) {
            let place = self.names.place(rank, usize::from(pc));
            text.push_str(&format!(" The call {place} completes it at its origin only."));
        }
        Some(text)
    }

    pub(super) fn locked_twice(&self, at: u16, origin: u16, holder: u16) -> Diagnosis {
        Diagnosis {
            summary: format!(
                "The library gives rank {origin} the lock of rank {at}'s memory while rank {holder} holds it, and one of \
                 both locks is exclusive (MPI-4.1, 12.5.3)."
            ),
            here: format!("rank {holder} holds this lock"),
            ranks: vec![at, origin, holder],
        }
    }

    pub(super) fn buffer_in_access(&self, at: u16, access: u16, written: bool) -> Diagnosis {
        let (verb, place) = self.last_use(at);
        let using = if written { "is being written by" } else { "is being read by" };
        Diagnosis {
            summary: format!(
                "Rank {at} {verb} a buffer{place} while it {using} its {}. The local buffer of an access belongs to the \
                 library until the close of its epoch, or a flush, has completed it (MPI-4.1, 12.3).",
                self.names.access_in_full(at, access)
            ),
            here: format!("the buffer is still in use by its {}", self.names.access(at, access)),
            ranks: vec![at],
        }
    }
}

/// `no access`, `1 access`, `2 accesses`.
fn counted(count: usize, one: &str, plural: &str) -> String {
    match count {
        0 => format!("no {one}"),
        1 => format!("1 {one}"),
        _ => format!("{count} {one}{plural}"),
    }
}
