//! What follows when a rank sends a line, or ends: the server's answers and the policy's decisions, as instructions. Pure:
//! time is an input, and whoever has the ranks carries the instructions out.

use crate::ending::{Ending, StopReason};
use crate::failure_policy::{Decision, FailurePolicy, Times};
use crate::server::{PmiEffect, PmiServer, lost};
use std::time::Duration;

/// An instruction for whoever has the ranks. They are to be followed in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Send a rank these lines, unless they are none.
    Send(u32, String),
    /// Tell the user that a rank has failed.
    Failed {
        /// The rank.
        rank: u32,
        /// How it ended.
        ending: Ending,
        /// Whether it died of a signal that was forwarded to it.
        expected: bool,
    },
    /// Tell the user that the job is ended, although no rank has failed.
    Stopped {
        /// The reason.
        stop: StopReason,
    },
    /// Send SIGTERM to all ranks that still run.
    Terminate,
    /// Send SIGKILL to all ranks that still run.
    Kill,
    /// Pass on the report of a rank.
    Report(u32, String),
}

/// The state of a job, as far as its launcher decides anything.
#[derive(Debug)]
pub struct Coordinator {
    server: PmiServer,
    pub(crate) policy: FailurePolicy,
    /// The lines about failures so far, for ranks that call `init` later.
    lost_lines: Vec<String>,
    /// No rank or user is told of failures any more: they follow from an error that is.
    is_silenced: bool,
}

impl Coordinator {
    /// The coordinator of a job of which so many ranks are on each of nodes 0, 1, ..., and so many run each of programs 0,
    /// 1, .... Ranks may go on for `grace` after one has failed, for `kill_after` after a signal of the user, and the job
    /// for `timeout`.
    pub fn new(
        ranks_by_node: &[u32],
        ranks_by_program: &[u32],
        grace: Duration,
        kill_after: Option<Duration>,
        timeout: Option<Duration>,
    ) -> Self {
        Self {
            server: PmiServer::new(ranks_by_node, ranks_by_program),
            policy: FailurePolicy::new(ranks_by_node.iter().sum(), Times { grace, kill_after, timeout }),
            lost_lines: Vec::new(),
            is_silenced: false,
        }
    }

    /// Takes a line of an existing rank, without its end.
    pub fn line(&mut self, rank: u32, line: &[u8], now: Duration, out: &mut Vec<Instruction>) {
        let (mut effects, mut decisions) = (Vec::new(), Vec::new());
        self.server.handle(rank, line, &mut effects);
        for effect in effects {
            match effect {
                PmiEffect::Send(rank, line) => out.push(Instruction::Send(rank, line)),
                PmiEffect::Initialised(rank) => {
                    // Once: repeated `init` requests of a rank must not multiply the lines kept for it.
                    if self.policy.initialised(rank, now, &mut decisions) {
                        out.push(Instruction::Send(rank, self.lost_lines.concat()));
                    }
                }
                PmiEffect::Finalised(rank) => self.policy.finalised(rank),
                PmiEffect::Left(rank) => self.policy.left(rank),
                PmiEffect::Failed(rank, ending) => self.policy.failed(rank, ending, now, &mut decisions),
                PmiEffect::Report(rank, json) => out.push(Instruction::Report(rank, json)),
            }
        }
        self.follow(decisions, out);
    }

    /// The process of a rank is gone.
    pub fn ended(&mut self, rank: u32, ending: Ending, now: Duration, out: &mut Vec<Instruction>) {
        self.decide(out, |policy, decisions| policy.ended(rank, ending, now, decisions));
    }

    /// The process of a rank goes on as this program, and has closed its connection.
    pub fn disconnected(&mut self, rank: u32, program: String, now: Duration, out: &mut Vec<Instruction>) {
        self.decide(out, |policy, decisions| policy.disconnected(rank, program, now, decisions));
    }

    /// Takes the decisions whose time has come.
    pub fn tick(&mut self, now: Duration, out: &mut Vec<Instruction>) {
        self.decide(out, |policy, decisions| policy.tick(now, decisions));
    }

    /// The time at which [`Self::tick`] has something to do.
    pub fn deadline(&self) -> Option<Duration> {
        self.policy.deadline()
    }

    /// Whether no rank is left.
    pub fn all_ended(&self) -> bool {
        self.policy.all_ended()
    }

    /// Failures from now on are told to nobody.
    pub(crate) fn silence(&mut self) {
        self.is_silenced = true;
    }

    /// Asks the policy, and turns its decisions into instructions.
    pub(crate) fn decide(
        &mut self,
        out: &mut Vec<Instruction>,
        ask: impl FnOnce(&mut FailurePolicy, &mut Vec<Decision>),
    ) {
        let mut decisions = Vec::new();
        ask(&mut self.policy, &mut decisions);
        self.follow(decisions, out);
    }

    fn follow(&mut self, decisions: Vec<Decision>, out: &mut Vec<Instruction>) {
        for decision in decisions {
            match decision {
                Decision::Terminate => out.push(Instruction::Terminate),
                Decision::Kill => out.push(Instruction::Kill),
                Decision::Stopped { stop } => out.push(Instruction::Stopped { stop }),
                Decision::Failed { .. } if self.is_silenced => {}
                Decision::Failed { rank, ending, expected } => {
                    let line = lost(rank, &ending);
                    out.push(Instruction::Failed { rank, ending, expected });
                    let others = self.policy.others(rank);
                    out.extend(others.into_iter().map(|other| Instruction::Send(other, line.clone())));
                    self.lost_lines.push(line);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;
    const INIT: &[u8] = b"cmd=init pmi_version=1 pmi_subversion=1";

    fn coordinator(ranks: u32) -> Coordinator {
        Coordinator::new(&[ranks], &[ranks], Duration::from_secs(1), None, None)
    }

    #[test]
    fn ranks_are_told_of_a_failure_those_that_begin_later_too() {
        let (mut coordinator, mut out) = (coordinator(3), Vec::new());
        coordinator.line(0, INIT, NOW, &mut out);
        out.clear();
        coordinator.ended(1, Ending::Killed(9), NOW, &mut out);
        let line = lost(1, &Ending::Killed(9));
        let failed = Instruction::Failed { rank: 1, ending: Ending::Killed(9), expected: false };
        assert_eq!(out, [failed, Instruction::Send(0, line.clone())]);
        out.clear();
        coordinator.line(2, INIT, NOW, &mut out);
        assert_eq!(out.first(), Some(&Instruction::Send(2, line)));
        out.clear();
        coordinator.line(2, INIT, NOW, &mut out);
        assert_eq!(out.len(), 1, "the answer alone: {out:?}");
        coordinator.tick(Duration::from_secs(1), &mut out);
        assert_eq!(out.last(), Some(&Instruction::Terminate));
    }

    #[test]
    fn a_rank_that_goes_on_as_another_program_has_failed_once_if_others_count_on_it() {
        let (mut coordinator, mut out) = (coordinator(3), Vec::new());
        coordinator.line(0, INIT, NOW, &mut out);
        coordinator.line(1, INIT, NOW, &mut out);
        coordinator.line(1, b"cmd=finalize", NOW, &mut out);
        out.clear();
        for rank in [1, 2, 0] {
            coordinator.disconnected(rank, "sleep".to_owned(), NOW, &mut out);
        }
        let ending = Ending::Disconnected { program: "sleep".to_owned() };
        assert_eq!(out, [Instruction::Failed { rank: 0, ending, expected: false }]);
        out.clear();
        coordinator.ended(0, Ending::Killed(15), NOW, &mut out);
        assert_eq!(out, []);
    }

    #[test]
    fn nobody_is_told_of_failures_that_follow_from_another_error() {
        let (mut coordinator, mut out) = (coordinator(2), Vec::new());
        coordinator.line(0, INIT, NOW, &mut out);
        out.clear();
        coordinator.silence();
        coordinator.ended(1, Ending::Exited(1), NOW, &mut out);
        assert_eq!(out, []);
        assert!(!coordinator.all_ended());
    }
}
