//! What ranks that wait for long say, put together: who waits for whom, and why that never ends.

use carrousel::{Waiting, WaitingRequest};
use carrousel_scenario::Scenario;
use std::collections::{BTreeMap, BTreeSet};

/// Ranks that are told one by one.
const TOLD: usize = 16;

/// The last report of each rank since the last account.
#[derive(Default)]
pub(super) struct Reports {
    by_rank: BTreeMap<u32, Waiting>,
}

impl Reports {
    /// A rank says what it waits for. What is no such report is passed over: a program may say what it likes.
    pub(super) fn add(&mut self, json: &str) {
        if let Ok(waiting) = serde_json::from_str::<Waiting>(json) {
            self.by_rank.insert(waiting.rank, waiting);
        }
    }

    /// The account of what has been said, which is forgotten with it. `ranks` is the size of the job;
    /// `scenario` what it runs, if it is one. Empty if nothing has been said.
    pub(super) fn account(&mut self, ranks: u32, scenario: Option<&Scenario>) -> String {
        let by_rank = std::mem::take(&mut self.by_rank);
        if by_rank.is_empty() {
            return String::new();
        }
        let account = Account { by_rank: &by_rank, ranks, scenario };
        account.text()
    }
}

struct Account<'a> {
    by_rank: &'a BTreeMap<u32, Waiting>,
    ranks: u32,
    scenario: Option<&'a Scenario>,
}

/// The requests that a rank's call waits for; all that are pending, if it waits for none in particular.
fn awaited(waiting: &Waiting) -> impl Iterator<Item = &WaitingRequest> {
    let any = waiting.requests.iter().any(|request| request.awaited);
    waiting.requests.iter().filter(move |request| request.awaited || !any)
}

impl Account<'_> {
    fn text(&self) -> String {
        let longest = self.by_rank.values().map(|waiting| waiting.waited_ms).max().unwrap_or(0);
        let mut lines = vec![format!(
            "{} of {} ranks wait, for up to {:.1} s:",
            self.by_rank.len(),
            self.ranks,
            longest as f64 / 1e3
        )];
        for waiting in self.by_rank.values().take(TOLD) {
            lines.extend(self.rank(waiting));
        }
        if self.by_rank.len() > TOLD {
            lines.push(format!("  and {} more ranks", self.by_rank.len() - TOLD));
        }
        lines.push(self.conclusion());
        lines.join("\n")
    }

    fn rank(&self, waiting: &Waiting) -> Vec<String> {
        let place = match (waiting.line, self.scenario) {
            (Some(line), Some(scenario)) => {
                let statement = scenario.source_line(line).split('#').next().unwrap_or("").trim_end();
                format!(" at line {line} (`{statement}`)")
            }
            (Some(line), None) => format!(" at line {line}"),
            (None, _) => String::new(),
        };
        let mut lines = vec![format!("  rank {} waits{place}", waiting.rank)];
        for request in &waiting.requests {
            let WaitingRequest { what, peer, tag, bytes, state, awaited } = request;
            let mark = if *awaited { "for its" } else { "besides, a" };
            let number = |number: &Option<u32>| number.map_or("any".to_owned(), |number| number.to_string());
            lines.push(match request.is_collective() {
                true => format!("    {mark} {what}: {state}"),
                false => {
                    let direction = if what == "receive" { "from" } else { "to" };
                    let (peer, tag) = (number(peer), number(tag));
                    format!("    {mark} {what} {direction} {peer} tag {tag}, {bytes} bytes: {state}")
                }
            });
        }
        lines
    }

    /// Whom a rank waits for: one of them, or all, have to do something.
    fn waits_for(&self, rank: u32) -> BTreeSet<u32> {
        let Some(waiting) = self.by_rank.get(&rank) else { return BTreeSet::new() };
        let others = |request: &WaitingRequest| match request.peer {
            Some(peer) => vec![peer],
            // A collective waits for those that are in none.
            None if request.is_collective() => {
                (0..self.ranks).filter(|other| !self.is_in_collective(*other)).collect()
            }
            // A receive from any source would be served by anyone: nobody in particular.
            None => Vec::new(),
        };
        awaited(waiting).flat_map(others).filter(|other| *other != rank).collect()
    }

    fn is_in_collective(&self, rank: u32) -> bool {
        let waiting = self.by_rank.get(&rank);
        waiting.is_some_and(|waiting| waiting.requests.iter().any(WaitingRequest::is_collective))
    }

    fn conclusion(&self) -> String {
        if let Some(cycle) = self.cycle() {
            let chain: Vec<String> = cycle.iter().map(|rank| format!("rank {rank}")).collect();
            return format!("Deadlock: they wait for each other: {}.", chain.join(" -> "));
        }
        let missing: BTreeSet<u32> = self
            .by_rank
            .keys()
            .flat_map(|rank| self.waits_for(*rank))
            .filter(|rank| !self.by_rank.contains_key(rank))
            .collect();
        if missing.is_empty() {
            return "Nobody in particular is missing: what they wait for has not been sent, or has been \
                    received by another receive."
                .to_owned();
        }
        let names: Vec<String> = missing.iter().take(TOLD).map(|rank| format!("rank {rank}")).collect();
        let verb = if missing.len() == 1 { "does" } else { "do" };
        format!(
            "They wait for {}, which {verb} not wait: computing, or past the call that would match.",
            names.join(", ")
        )
    }

    /// A shortest cycle of ranks that wait for each other, its first rank at both ends.
    fn cycle(&self) -> Option<Vec<u32>> {
        let from = |start: u32| {
            // Breadth first, so that the first way back is a shortest.
            let mut before: BTreeMap<u32, u32> = BTreeMap::new();
            let mut front = vec![start];
            while !front.is_empty() {
                let mut next = Vec::new();
                for rank in front {
                    for other in self.waits_for(rank) {
                        if other == start {
                            let mut chain = vec![start, rank];
                            while let Some(earlier) = chain.last().and_then(|last| before.get(last)) {
                                chain.push(*earlier);
                            }
                            // From `start` on, along who waits for whom.
                            if *chain.last()? != start {
                                chain.push(start);
                            }
                            chain.reverse();
                            return Some(chain);
                        }
                        if self.by_rank.contains_key(&other) && !before.contains_key(&other) {
                            before.insert(other, rank);
                            next.push(other);
                        }
                    }
                }
                front = next;
            }
            None
        };
        let cycles = self.by_rank.keys().filter_map(|start| from(*start));
        cycles.min_by_key(Vec::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(rank: u32, requests: Vec<WaitingRequest>) -> String {
        let waiting = Waiting { rank, waited_ms: 30_100, line: None, requests };
        serde_json::to_string(&waiting).expect("it is JSON")
    }

    fn request(what: &'static str, peer: Option<u32>) -> WaitingRequest {
        let (what, state) = (what.into(), "posted; no message has matched".into());
        WaitingRequest { what, peer, tag: Some(3), bytes: 8, state, awaited: true }
    }

    fn account(ranks: u32, reports: &[(u32, Vec<WaitingRequest>)]) -> String {
        let mut all = Reports::default();
        for (rank, requests) in reports {
            all.add(&waiting(*rank, requests.clone()));
        }
        all.account(ranks, None)
    }

    #[test]
    fn a_cycle_is_named() {
        let receive = |peer| vec![request("receive", Some(peer))];
        let text = account(4, &[(0, receive(1)), (1, receive(2)), (2, receive(0)), (3, receive(0))]);
        assert!(text.starts_with("4 of 4 ranks wait, for up to 30.1 s:\n  rank 0 waits\n"), "{text}");
        assert!(text.contains("    for its receive from 1 tag 3, 8 bytes: posted"), "{text}");
        let end = "Deadlock: they wait for each other: rank 0 -> rank 1 -> rank 2 -> rank 0.";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn two_that_wait_for_each_other_are_a_cycle() {
        let text = account(2, &[(0, vec![request("send", Some(1))]), (1, vec![request("send", Some(0))])]);
        assert!(text.ends_with("rank 0 -> rank 1 -> rank 0."), "{text}");
    }

    #[test]
    fn a_missing_partner_is_named() {
        let text = account(3, &[(0, vec![request("receive", Some(2))]), (1, vec![request("barrier", None)])]);
        assert!(
            text.contains("They wait for rank 0, rank 2") || text.contains("They wait for rank 2"),
            "{text}"
        );
    }

    #[test]
    fn what_is_no_report_says_nothing() {
        let mut reports = Reports::default();
        reports.add("{\"progress\": 0.5}");
        reports.add("no JSON");
        assert_eq!(reports.account(2, None), "");
    }
}
