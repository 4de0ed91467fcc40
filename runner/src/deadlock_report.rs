//! Merges the reports of ranks that wait for long: which rank waits for which, and why that never ends.

use carrousel::{Waiting, WaitingRequest};
use carrousel_scenario::Scenario;
use carrousel_verify::cycle;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::time::Duration;

/// The number of ranks that are listed one by one.
const TOLD: usize = 16;

/// How long all of a deadlock have to have waited at the same time, or half of their patience: longer than what was on its way
/// takes.
const TOGETHER: Duration = Duration::from_secs(1);

/// The reports of ranks that wait.
#[derive(Default)]
pub struct WaitReports {
    /// The last report of each rank, and when it came.
    last: BTreeMap<u32, (Waiting, Duration)>,
    /// The ranks that have reported since the last account.
    new: BTreeSet<u32>,
}

/// Whether this rank of a scenario is behind its program, where it waits for the others to hand over its times.
fn has_ended(waiting: &Waiting) -> bool {
    waiting.place.line == 0
}

/// When a rank began the wait of its report, and when the report came.
fn interval((waiting, came): &(Waiting, Duration)) -> (Duration, Duration) {
    (came.saturating_sub(Duration::from_millis(waiting.waited_ms)), *came)
}

impl WaitReports {
    /// Adds a rank's report, which comes `now`. A text that is no report is ignored: a program may print any text.
    pub fn add(&mut self, json: &str, now: Duration) {
        if let Ok(waiting) = serde_json::from_str::<Waiting>(json) {
            self.new.insert(waiting.rank);
            self.last.insert(waiting.rank, (waiting, now));
        }
    }

    /// The account of the reports since the last one; of all, if they are of a deadlock. `ranks` is the size of the job;
    /// `scenario` is its scenario, if it runs one. Empty if there were no reports.
    pub fn account(&mut self, ranks: u32, scenario: Option<&Scenario>, deadlock: bool) -> String {
        let new = std::mem::take(&mut self.new);
        let told = self.last.iter().filter(|(rank, _)| deadlock || new.contains(rank));
        let mut by_rank: BTreeMap<u32, Waiting> =
            told.map(|(rank, (waiting, _))| (*rank, waiting.clone())).collect();
        if by_rank.is_empty() {
            return String::new();
        }
        let has_ended = |waiting: &Waiting| scenario.is_some() && has_ended(waiting);
        // Ranks that an account has named as ended have not begun again.
        let last = self.last.values().map(|(waiting, _)| waiting);
        let ended = last.filter(|waiting| has_ended(waiting)).map(|waiting| waiting.rank).collect();
        by_rank.retain(|_, waiting| !has_ended(waiting));
        if by_rank.is_empty() {
            // Nobody waits for anything but the end of others, which may compute.
            return String::new();
        }
        let edges = edges(&by_rank, ranks);
        Account { by_rank: &by_rank, ranks, scenario, edges, ended }.text()
    }

    /// Whether the ranks of a scenario wait for each other, or for ranks that have ended, and will for ever: for at least a
    /// second at one time, some of them in a cycle, or all that have not ended. A report of a wait of less than `patience` says
    /// nothing: it was asked for.
    pub fn are_of_deadlock(&self, ranks: u32, patience: Duration) -> bool {
        let is_stuck = |waiting: &Waiting| {
            !has_ended(waiting)
                && Duration::from_millis(waiting.waited_ms + 1) >= patience
                && awaited(waiting).all(|request| !request.is_moving())
        };
        let stuck: BTreeMap<u32, &(Waiting, Duration)> = self
            .last
            .iter()
            .filter(|(_, (waiting, _))| is_stuck(waiting))
            .map(|(at, it)| (*at, it))
            .collect();
        let wait_together = |of: &[u32]| {
            let intervals = || of.iter().filter_map(|rank| stuck.get(rank)).map(|report| interval(report));
            let began = intervals().map(|(began, _)| began).max();
            let came = intervals().map(|(_, came)| came).min();
            began.zip(came).is_some_and(|(began, came)| began + TOGETHER.min(patience / 2) <= came)
        };
        let ended = self.last.values().filter(|(waiting, _)| has_ended(waiting)).count();
        let all: Vec<u32> = stuck.keys().copied().collect();
        if stuck.len() + ended == ranks as usize {
            return wait_together(&all);
        }
        // A rank that waits for one of several is in no cycle for sure.
        let has_one = |waiting: &Waiting| {
            waiting.requests.iter().any(|request| request.awaited) || waiting.requests.len() == 1
        };
        let of_one = stuck.iter().filter(|(_, (waiting, _))| has_one(waiting));
        let of_one = of_one.map(|(rank, (waiting, _))| (*rank, waiting.clone())).collect();
        let cycle = cycle::shortest(all, &edges(&of_one, ranks));
        cycle.is_some_and(|cycle| wait_together(&cycle))
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
            all.add(&waiting(*rank, requests.clone()), Duration::ZERO);
        }
        all.account(ranks, None, false)
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
        all.add(&waiting(0, vec![request("receive", Some(1))]).replace("12", "3"), Duration::ZERO);
        for rank in 1..3 {
            all.add(&waiting(rank, vec![request("allreduce", None)]).replace("12", "0"), Duration::ZERO);
        }
        let text = all.account(3, Some(&scenario), false);
        assert!(text.starts_with("1 of 3 ranks waits, "), "{text}");
        assert!(
            text.ends_with("  rank 1, rank 2 have ended\nIt waits for rank 1, which has ended."),
            "{text}"
        );
        assert!(!text.contains("allreduce"), "{text}");
    }

    /// Reports of waits of 30.1 s, each with the second at which it comes.
    fn is_deadlock(ranks: u32, patience: u64, reports: &[(u32, u64, String)]) -> bool {
        let mut all = WaitReports::default();
        for (_, at, report) in reports {
            all.add(report, Duration::from_secs(*at));
            // What was accounted for is still known.
            all.account(ranks, None, false);
        }
        all.are_of_deadlock(ranks, Duration::from_secs(patience))
    }

    #[test]
    fn ranks_that_wait_for_each_other_at_one_time_are_a_deadlock() {
        let receive = |from| vec![request("receive", Some(from))];
        let waits = |rank: u32, at: u64, from: u32| (rank, at, waiting(rank, receive(from)));
        let cycle = |late: u64| [waits(0, 31, 1), waits(1, late, 0)];
        assert!(is_deadlock(3, 30, &cycle(31)) && is_deadlock(3, 30, &cycle(50)));
        // The wait of rank 0 may have ended before that of rank 1 began.
        assert!(!is_deadlock(3, 30, &cycle(62)));
        // These were asked for.
        assert!(!is_deadlock(3, 40, &cycle(31)));
        // Rank 2 may send something.
        assert!(!is_deadlock(3, 30, &[waits(0, 31, 2), waits(1, 31, 0)]));
        // It has ended.
        let ended = (2, 40, waiting(2, vec![request("allreduce", None)]).replace("12", "0"));
        assert!(is_deadlock(3, 30, &[waits(0, 31, 2), waits(1, 31, 0), ended.clone()]));
        assert!(!is_deadlock(3, 30, &[waits(0, 31, 2), ended.clone()]));
        let all_ended =
            [0, 1, 2].map(|rank| (rank, 40, ended.2.replace("\"rank\":2", &format!("\"rank\":{rank}"))));
        assert!(!is_deadlock(3, 30, &all_ended));
        // What moves may end.
        let moves = [waits(0, 31, 1), waits(1, 31, 0)]
            .map(|(rank, at, report)| (rank, at, report.replace("posted; no", "being read; no")));
        assert!(!is_deadlock(2, 30, &moves));
        // For one of two, of which rank 2 has the other.
        let one_of_two =
            [1, 2].map(|from| WaitingRequest { awaited: false, ..request("receive", Some(from)) });
        let any = (0, 31, waiting(0, one_of_two.to_vec()));
        assert!(!is_deadlock(3, 30, &[any, waits(1, 31, 0)]));
    }

    #[test]
    fn what_is_no_report_says_nothing() {
        let mut reports = WaitReports::default();
        reports.add("{\"progress\": 0.5}", Duration::ZERO);
        reports.add("no JSON", Duration::ZERO);
        assert_eq!(reports.account(2, None, false), "");
    }
}
