//! Merges the reports of ranks that wait for long: which rank waits for which, and why that never ends.

use carrousel::{Waiting, WaitingRequest};
use carrousel_scenario::Scenario;
use carrousel_verify::cycle;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

/// The number of ranks that are listed one by one.
const TOLD: usize = 16;

/// The last report of each rank since the last account.
#[derive(Default)]
pub struct WaitReports {
    by_rank: BTreeMap<u32, Waiting>,
}

impl WaitReports {
    /// Adds a rank's report. A text that is no report is ignored: a program may print any text.
    pub fn add(&mut self, json: &str) {
        if let Ok(waiting) = serde_json::from_str::<Waiting>(json) {
            self.by_rank.insert(waiting.rank, waiting);
        }
    }

    /// The account of the reports so far, which are then forgotten. `ranks` is the size of the job; `scenario` is its
    /// scenario, if it runs one. Empty if there were no reports.
    pub fn account(&mut self, ranks: u32, scenario: Option<&Scenario>) -> String {
        let mut by_rank = std::mem::take(&mut self.by_rank);
        if by_rank.is_empty() {
            return String::new();
        }
        // Behind its program, a rank of a scenario waits for the others to hand over its times.
        let has_ended = |waiting: &Waiting| scenario.is_some() && waiting.place.line == 0;
        let ended =
            by_rank.values().filter(|waiting| has_ended(waiting)).map(|waiting| waiting.rank).collect();
        by_rank.retain(|_, waiting| !has_ended(waiting));
        let edges = edges(&by_rank, ranks);
        Account { by_rank: &by_rank, ranks, scenario, edges, ended }.text()
    }
}

struct Account<'a> {
    by_rank: &'a BTreeMap<u32, Waiting>,
    ranks: u32,
    scenario: Option<&'a Scenario>,
    /// The ranks that each rank waits for.
    edges: HashMap<u32, Vec<Rc<[u32]>>>,
    /// The ranks whose programs have ended.
    ended: BTreeSet<u32>,
}

/// The requests that a rank's call waits for; if it waits for no particular one, all that are pending.
fn awaited(waiting: &Waiting) -> impl Iterator<Item = &WaitingRequest> {
    let any = waiting.requests.iter().any(|request| request.awaited);
    waiting.requests.iter().filter(move |request| request.awaited || !any)
}

/// The ranks that each rank waits for: one of each list, or all, have to act.
fn edges(by_rank: &BTreeMap<u32, Waiting>, ranks: u32) -> HashMap<u32, Vec<Rc<[u32]>>> {
    let is_in_collective = |rank: &u32| {
        let waiting = by_rank.get(rank);
        waiting.is_some_and(|waiting| waiting.requests.iter().any(WaitingRequest::is_collective))
    };
    let outside: Rc<[u32]> = (0..ranks).filter(|rank| !is_in_collective(rank)).collect();
    let others = |rank: u32, request: &WaitingRequest| match request.peer {
        Some(peer) => (peer != rank).then(|| [peer].into()),
        // A collective waits for the ranks that are in no collective, not for this rank.
        None if request.is_collective() => Some(Rc::clone(&outside)),
        // Any rank could serve a receive from any source, so it waits for no particular rank.
        None => None,
    };
    let of = |waiting: &Waiting| {
        let rank = waiting.rank;
        (rank, awaited(waiting).filter_map(|request| others(rank, request)).collect())
    };
    by_rank.values().map(of).collect()
}

impl Account<'_> {
    fn text(&self) -> String {
        let longest = self.by_rank.values().map(|waiting| waiting.waited_ms).max().unwrap_or(0);
        let mut lines = vec![format!(
            "{} of {} {}, for up to {:.1} s:",
            self.by_rank.len(),
            self.ranks,
            if self.by_rank.len() == 1 { "ranks waits" } else { "ranks wait" },
            longest as f64 / 1e3
        )];
        for waiting in self.by_rank.values().take(TOLD) {
            lines.extend(self.rank(waiting));
        }
        if self.by_rank.len() > TOLD {
            lines.push(format!("  and {} more ranks", self.by_rank.len() - TOLD));
        }
        if !self.ended.is_empty() {
            let verb = if self.ended.len() == 1 { "has" } else { "have" };
            lines.push(format!("  {} {verb} ended", named(&self.ended)));
        }
        lines.push(self.conclusion());
        lines.join("\n")
    }

    fn rank(&self, waiting: &Waiting) -> Vec<String> {
        let Waiting { rank, place, .. } = waiting;
        let statement = self.scenario.filter(|_| place.line > 0).map_or_else(String::new, |scenario| {
            let statement = scenario.source_line(place.line).split('#').next().unwrap_or("").trim_end();
            format!(" (`{statement}`)")
        });
        let mut lines = vec![format!("  rank {rank} waits at {place}{statement}")];
        for request in &waiting.requests {
            let mark = if request.awaited { "for its" } else { "besides, a" };
            lines.push(format!("    {mark} {request}"));
        }
        lines
    }

    fn conclusion(&self) -> String {
        if let Some(cycle) = cycle::shortest(self.by_rank.keys().copied(), &self.edges) {
            let around = cycle.iter().chain(cycle.first());
            let chain: Vec<String> = around.map(|rank| format!("rank {rank}")).collect();
            return format!("Deadlock: they wait for each other: {}.", chain.join(" -> "));
        }
        let awaited = self.edges.values().flatten().flat_map(|ranks| ranks.iter().copied());
        let missing: BTreeSet<u32> = awaited.filter(|rank| !self.by_rank.contains_key(rank)).collect();
        if missing.is_empty() {
            return "Nobody in particular is missing: what they wait for has not been sent, or has been \
                    received by another receive."
                .to_owned();
        }
        let (ended, missing): (BTreeSet<u32>, BTreeSet<u32>) =
            missing.into_iter().partition(|rank| self.ended.contains(rank));
        let mut why = Vec::new();
        if !ended.is_empty() {
            let verb = if ended.len() == 1 { "has" } else { "have" };
            why.push(format!("{}, which {verb} ended", named(&ended)));
        }
        if !missing.is_empty() {
            let verb = if missing.len() == 1 { "does" } else { "do" };
            why.push(format!(
                "{}, which {verb} not wait: computing, or past the call that would match",
                named(&missing)
            ));
        }
        let they_wait = if self.by_rank.len() == 1 { "It waits" } else { "They wait" };
        format!("{they_wait} for {}.", why.join(", and for "))
    }
}

/// `rank 1, rank 3`.
fn named(ranks: &BTreeSet<u32>) -> String {
    let names: Vec<String> = ranks.iter().take(TOLD).map(|rank| format!("rank {rank}")).collect();
    let more = ranks.len().saturating_sub(TOLD);
    if more > 0 { format!("{} and {more} more", names.join(", ")) } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrousel::SourceLine;

    fn waiting(rank: u32, requests: Vec<WaitingRequest>) -> String {
        let place = SourceLine { file: "main.rs".to_owned(), line: 12 };
        let waiting = Waiting { rank, waited_ms: 30_100, place, requests };
        serde_json::to_string(&waiting).expect("it is JSON")
    }

    fn request(what: &'static str, peer: Option<u32>) -> WaitingRequest {
        let (what, state) = (what.into(), "posted; no message has matched".into());
        WaitingRequest { what, peer, tag: Some("3".into()), bytes: 8, state, started: None, awaited: true }
    }

    fn account(ranks: u32, reports: &[(u32, Vec<WaitingRequest>)]) -> String {
        let mut all = WaitReports::default();
        for (rank, requests) in reports {
            all.add(&waiting(*rank, requests.clone()));
        }
        all.account(ranks, None)
    }

    #[test]
    fn a_cycle_is_named() {
        let receive = |peer| vec![request("receive", Some(peer))];
        let text = account(4, &[(0, receive(1)), (1, receive(2)), (2, receive(0)), (3, receive(0))]);
        assert!(
            text.starts_with("4 of 4 ranks wait, for up to 30.1 s:\n  rank 0 waits at main.rs:12\n"),
            "{text}"
        );
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
    fn a_probe_waits_for_its_message_and_for_no_other_request() {
        let pending = WaitingRequest { awaited: false, ..request("receive", Some(1)) };
        let probe = request("probe", Some(2));
        let text = account(3, &[(0, vec![pending, probe]), (1, vec![request("receive", Some(0))])]);
        assert!(text.contains("    besides, a receive from 1 tag 3, 8 bytes"), "{text}");
        assert!(text.contains("    for its probe from 2 tag 3: posted"), "{text}");
        assert!(text.contains("They wait for rank 2"), "{text}");
    }

    #[test]
    fn a_missing_partner_is_named() {
        let barrier = request("barrier", None);
        // A barrier waits for rank 0 as well, which waits itself: it is not the missing rank.
        let text = account(3, &[(0, vec![request("receive", Some(2))]), (1, vec![barrier.clone()])]);
        let end = "They wait for rank 2, which does not wait: computing, or past the call that would match.";
        assert!(text.ends_with(end), "{text}");
        let text = account(4, &[(0, vec![barrier.clone()]), (2, vec![barrier])]);
        assert!(text.contains("\nThey wait for rank 1, rank 3, which do not wait: "), "{text}");
    }

    /// A rank of a scenario that has ended waits for the others all the same: it is not part of a cycle.
    #[test]
    fn ranks_that_have_ended_are_named_as_ended() {
        let scenario = carrousel_scenario::load("d.scn", b"ranks 3\nrank 0\n  recv from 1 tag 1 size 8\n");
        let scenario = scenario.expect("it is right");
        let mut all = WaitReports::default();
        all.add(&waiting(0, vec![request("receive", Some(1))]).replace("12", "3"));
        for rank in 1..3 {
            all.add(&waiting(rank, vec![request("allreduce", None)]).replace("12", "0"));
        }
        let text = all.account(3, Some(&scenario));
        assert!(text.starts_with("1 of 3 ranks waits, "), "{text}");
        assert!(
            text.ends_with("  rank 1, rank 2 have ended\nIt waits for rank 1, which has ended."),
            "{text}"
        );
        assert!(!text.contains("allreduce"), "{text}");
    }

    #[test]
    fn what_is_no_report_says_nothing() {
        let mut reports = WaitReports::default();
        reports.add("{\"progress\": 0.5}");
        reports.add("no JSON");
        assert_eq!(reports.account(2, None), "");
    }
}
