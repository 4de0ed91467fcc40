//! What MPI says of a program whose every close blocks: whether it can get stuck.
//!
//! It knows no epoch ids, no packets and no deferral: a rank waits for calls of others, and for locks. So it decides which
//! programs must end, whatever the protocol does.

use super::program::{EpochProgram, EpochStep};
use carrousel_epoch::{Call, Flush, Mode, RankId};
use std::collections::{BTreeMap, BTreeSet};

/// Which rank, and which call of its kind: start, post or fence. By pair of ranks where there is one.
type Count = BTreeMap<(usize, usize), usize>;

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct World {
    at: Vec<usize>,
    /// A rank is inside a call that waits.
    inside: Vec<bool>,
    fences: Vec<usize>,
    /// Starts and completes, from origin to target; posts, from host to origin.
    started: Count,
    completed: Count,
    posted: Count,
    /// The peers of the open access and exposure, each with the number of its call.
    access: BTreeMap<usize, Count>,
    exposure: BTreeMap<usize, Count>,
    /// Lock requests on their way, from origin to host.
    requests: BTreeSet<(usize, usize, Mode)>,
    queue: BTreeMap<usize, Vec<(usize, Mode)>>,
    holders: BTreeMap<usize, Vec<(usize, Mode)>>,
    messages: Count,
    /// Flushes with a request that may be under way, by rank.
    flushes: BTreeSet<usize>,
    /// Ranks inside unlock_all, which give each lock back as soon as they have it.
    leaving: BTreeSet<usize>,
}

/// Whether the accesses and exposures of each pair of ranks are of the same kinds, in order.
pub(super) fn is_matched(ranks: &[Vec<EpochStep>]) -> bool {
    let kinds =
        |of: usize, peer: usize, opens: fn(&Call<'static>) -> Option<&'static [RankId]>| -> Vec<bool> {
            let calls = ranks[of].iter().filter_map(|step| match step {
                EpochStep::Call(call, _) => Some(call),
                _ => None,
            });
            let peer = RankId(peer as u32);
            let kind = |call: &Call<'static>| match call {
                Call::Fence => Some(true),
                other => opens(other).filter(|group| group.contains(&peer)).map(|_| false),
            };
            calls.filter_map(kind).collect()
        };
    let all = 0..ranks.len();
    all.clone().all(|origin| {
        all.clone().all(|target| {
            let accesses =
                kinds(origin, target, |call| if let Call::Start(group) = call { Some(group) } else { None });
            let exposures =
                kinds(target, origin, |call| if let Call::Post(group) = call { Some(group) } else { None });
            accesses == exposures
        })
    })
}

/// Whether some execution of the program gets stuck if every close blocks, or exposes memory that may be locked.
pub(super) fn may_be_stuck(program: &EpochProgram) -> bool {
    let ranks = program.ranks.len();
    let first =
        World { at: vec![0; ranks], inside: vec![false; ranks], fences: vec![0; ranks], ..World::default() };
    let (mut known, mut todo) = (BTreeSet::from([first.clone()]), vec![first]);
    while let Some(world) = todo.pop() {
        let Some(next) = world.steps(program) else { return true };
        let is_over = world.at.iter().zip(&program.ranks).all(|(at, steps)| *at == steps.len());
        if next.is_empty() && !is_over {
            return true;
        }
        for next in next {
            if known.insert(next.clone()) {
                todo.push(next);
            }
        }
    }
    false
}

fn index(rank: RankId) -> usize {
    rank.0 as usize
}

impl World {
    /// The states after one step; none if a rank exposes memory that is, or may soon be, locked.
    fn steps(&self, program: &EpochProgram) -> Option<Vec<Self>> {
        let mut next = Vec::new();
        for me in 0..self.at.len() {
            let Some(step) = program.ranks[me].get(self.at[me]) else { continue };
            if self.inside[me] {
                if self.may_return(me, step) {
                    let mut world = self.clone();
                    world.returns(me, step);
                    next.push(world);
                }
                continue;
            }
            if let EpochStep::Receive(from) = step
                && self.messages.get(&(*from, me)).is_none_or(|count| *count == 0)
            {
                continue;
            }
            let mut world = self.clone();
            world.enters(me, step)?;
            next.push(world);
        }
        for request in &self.requests {
            let (origin, host, mode) = *request;
            if !self.exposure.contains_key(&host) {
                let mut world = self.clone();
                world.requests.remove(request);
                world.queue.entry(host).or_default().push((origin, mode));
                world.grant(host);
                next.push(world);
            }
        }
        Some(next)
    }

    /// A rank calls. The call waits if it is one of those that do.
    fn enters(&mut self, me: usize, step: &EpochStep) -> Option<()> {
        self.inside[me] = true;
        match step {
            EpochStep::Send(to) => *self.messages.entry((me, *to)).or_default() += 1,
            EpochStep::Receive(from) => *self.messages.entry((*from, me)).or_default() -= 1,
            EpochStep::WaitAll => {}
            EpochStep::Call(call, _) => match call {
                Call::Post(group) => {
                    let is_locked = self.holders.get(&me).is_some_and(|holders| !holders.is_empty())
                        || self.requests.iter().any(|(_, host, _)| *host == me);
                    if is_locked {
                        return None;
                    }
                    let exposure = group.iter().map(|origin| (me, index(*origin)));
                    let exposure = exposure.map(|pair| (pair, count(&mut self.posted, pair))).collect();
                    self.exposure.insert(me, exposure);
                }
                Call::Start(group) => {
                    let access = group.iter().map(|target| (me, index(*target)));
                    let access = access.map(|pair| (pair, count(&mut self.started, pair))).collect();
                    self.access.insert(me, access);
                }
                Call::Complete => {
                    for (pair, at) in self.access.get(&me).into_iter().flatten() {
                        self.completed.insert(*pair, *at);
                    }
                }
                Call::Lock { target, mode } => {
                    self.requests.insert((me, index(*target), *mode));
                }
                Call::LockAll => {
                    let hosts = 0..self.at.len();
                    self.requests.extend(hosts.map(|host| (me, host, Mode::Shared)));
                }
                Call::UnlockAll => {
                    self.leaving.insert(me);
                    self.release_all(me);
                }
                Call::Fence => self.fences[me] += 1,
                Call::FlushWithRequest(_) => {
                    self.flushes.insert(me);
                }
                Call::Wait | Call::Test | Call::Unlock(_) | Call::Transfer { .. } | Call::Flush(_) => {}
            },
        }
        Some(())
    }

    fn may_return(&self, me: usize, step: &EpochStep) -> bool {
        let EpochStep::Call(call, _) = step else {
            return match step {
                EpochStep::WaitAll => !self.flushes.contains(&me) || self.has_all(me),
                _ => true,
            };
        };
        match call {
            Call::Wait => self.exposure.get(&me).into_iter().flatten().all(|((_, origin), at)| {
                self.completed.get(&(*origin, me)).is_some_and(|completed| completed >= at)
            }),
            Call::Complete => {
                self.access.get(&me).into_iter().flatten().all(|((_, target), at)| {
                    self.posted.get(&(*target, me)).is_some_and(|posted| posted >= at)
                })
            }
            Call::Unlock(target) => self.holds(me, index(*target)),
            Call::Flush(Flush { target: Some(target), .. }) => self.holds(me, index(*target)),
            Call::Flush(Flush { target: None, .. }) | Call::UnlockAll => self.has_all(me),
            Call::Fence => {
                self.fences[me] == 1 || self.fences.iter().all(|fences| *fences >= self.fences[me])
            }
            _ => true,
        }
    }

    fn returns(&mut self, me: usize, step: &EpochStep) {
        self.inside[me] = false;
        self.at[me] += 1;
        match step {
            EpochStep::Call(Call::Wait, _) => {
                self.exposure.remove(&me);
            }
            EpochStep::Call(Call::Complete, _) => {
                self.access.remove(&me);
            }
            EpochStep::Call(Call::Unlock(target), _) => self.release(me, index(*target)),
            EpochStep::Call(Call::UnlockAll, _) => {
                self.leaving.remove(&me);
            }
            _ => {}
        }
    }

    fn holds(&self, me: usize, host: usize) -> bool {
        self.holders.get(&host).into_iter().flatten().any(|(origin, _)| *origin == me)
    }

    /// Whether no request of a rank waits.
    fn has_all(&self, me: usize) -> bool {
        !self.requests.iter().any(|(origin, ..)| *origin == me)
            && !self.queue.values().flatten().any(|(origin, _)| *origin == me)
    }

    fn release(&mut self, me: usize, host: usize) {
        if let Some(holders) = self.holders.get_mut(&host) {
            holders.retain(|(origin, _)| *origin != me);
        }
        self.grant(host);
    }

    fn release_all(&mut self, me: usize) {
        for host in 0..self.at.len() {
            self.release(me, host);
        }
    }

    fn grant(&mut self, host: usize) {
        let (queue, holders) = (self.queue.entry(host).or_default(), self.holders.entry(host).or_default());
        while let Some((origin, mode)) = queue.first().copied() {
            let may = match mode {
                Mode::Exclusive => holders.is_empty(),
                Mode::Shared => holders.iter().all(|(_, mode)| *mode == Mode::Shared),
            };
            if !may {
                return;
            }
            queue.remove(0);
            if !self.leaving.contains(&origin) {
                holders.push((origin, mode));
            }
        }
    }
}

fn count(counts: &mut Count, pair: (usize, usize)) -> usize {
    let count = counts.entry(pair).or_default();
    *count += 1;
    *count
}

#[cfg(test)]
mod tests {
    use super::super::bounds::FlagSettings;
    use super::super::families::{EpochItems, programs};
    use super::super::model;
    use super::*;
    use crate::explore::Limits;
    use carrousel_epoch::{AllEpochRules, Flags};

    fn program(lines: &[&str]) -> EpochProgram {
        EpochProgram::parse(Flags::default(), lines, false).expect("every word is a step")
    }

    #[test]
    fn accesses_match_exposures_of_their_kind_in_order() {
        let matched = |lines: &[&str]| is_matched(&program(lines).ranks);
        assert!(matched(&["start:1 complete fence", "post:0 wait fence"]));
        assert!(matched(&["start:12 complete", "post:0 wait", "post:0 wait"]));
        assert!(matched(&["lock:1 unlock:1", ""]), "the host of a lock does nothing");
        assert!(!matched(&["start:1 complete", ""]));
        assert!(!matched(&["", "post:0 wait"]));
        assert!(!matched(&["start:1 complete fence", "fence post:0 wait"]));
        assert!(!matched(&["start:12 complete", "post:0 wait", "post:1 wait"]));
        assert!(!matched(&["fence fence", "fence"]));
    }

    #[track_caller]
    fn may(lines: &[&str]) -> bool {
        may_be_stuck(&program(lines))
    }

    #[test]
    fn a_close_waits_for_the_calls_of_others() {
        assert!(!may(&["start:1 complete", "post:0 wait"]));
        assert!(!may(&["post:1 start:1 complete wait", "post:0 start:0 complete wait"]));
        assert!(
            may(&["start:1 complete post:1 wait", "start:0 complete post:0 wait"]),
            "each waits for a post"
        );
        assert!(may(&["start:1 complete start:1 complete", "post:0 wait"]), "one post is for one start");
        assert!(may(&["post:1 wait", "recv:0 start:0 complete"]), "wait returns behind complete");
        assert!(!may(&["fence fence", "fence fence"]));
        assert!(may(&["fence fence fence", "fence fence"]));
        assert!(!may(&["fence", ""]), "the first fence ends no epoch");
        assert!(may(&["recv:1 send:1", "recv:0 send:0"]));
        assert!(!may(&["send:1 recv:1", "recv:0 send:0"]));
    }

    #[test]
    fn locks_exclude_in_order_of_arrival() {
        assert!(!may(&["xlock:1 unlock:1", "xlock:1 unlock:1"]));
        assert!(!may(&["xlock:0 xlock:1 unlock:1 unlock:0", "xlock:0 xlock:1 unlock:1 unlock:0"]));
        let crossed = |lock: &str| {
            let nested =
                |one, other| format!("{lock}:{one} flush:{one} {lock}:{other} unlock:{other} unlock:{one}");
            may(&[&nested(0, 1), &nested(1, 0)])
        };
        assert!(crossed("xlock"));
        assert!(!crossed("lock"), "shared locks exclude nobody");
        // Each lock_all holds one lock, and its flush waits for the other one behind an exclusive request.
        let singles = ["xlock:0 unlock:0", "xlock:1 unlock:1"];
        let all = ["lock_all flush:1 unlock_all", "lock_all flush:0 unlock_all"];
        assert!(may(&[all, singles].concat()));
        assert!(!may(&[["lock_all unlock_all"; 2], singles].concat()), "it gives each back when it has it");
        assert!(
            may(&["xlock:1 send:1 recv:1 unlock:1", "recv:0 xlock:1 unlock:1 send:0"]),
            "its holder waits"
        );
        assert!(!may(&["xlock:1 unlock:1 send:1 recv:1", "recv:0 xlock:1 unlock:1 send:0"]));
    }

    #[test]
    fn memory_is_not_to_be_exposed_while_it_may_be_locked() {
        assert!(may(&["lock:1 unlock:1", "post:0 wait"]));
        assert!(may(&["lock:1 unlock:1 start:1 complete", "post:0 wait"]), "its release may be late");
        assert!(!may(&["lock:1 unlock:1 send:1 start:1 complete", "recv:0 post:0 wait"]));
    }

    /// A program that may get stuck is not held to its end: if the oracle let one too many, the proof would say less than it
    /// seems to. Those of accesses and exposures do get stuck.
    #[test]
    fn what_may_get_stuck_does() {
        let all = programs(EpochItems::General, 2, 2, 3, &FlagSettings::Off.all());
        let stuck = all.into_iter().filter(|program| program.is_blocking && program.may_be_stuck);
        let mut count = 0;
        for program in stuck {
            let must_end = EpochProgram { may_be_stuck: false, ..program };
            let found =
                model::explore::<AllEpochRules>(std::slice::from_ref(&must_end), &Limits::default()).broken;
            assert!(found.unwrap_or_default().starts_with("never-stuck"), "{must_end}");
            count += 1;
        }
        assert!(count > 3, "{count}");
    }
}
