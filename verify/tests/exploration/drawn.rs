//! Scenarios with a window, drawn from a fixed sequence: the verdicts of reduced and whole searches are compared by them.

use crate::dice::Dice;
use carrousel_scenario::{Check, load};
use carrousel_verify::explore::Limits;
use carrousel_verify::report::{Report, Verdict};
use carrousel_verify::run::{Request, check};
use std::fmt::Write;

/// What two searches have to agree on. What follows a call that its epochs do not admit is not explored, so the other
/// checks of such a program depend on what comes before that call, which is not the same in a reduced search.
fn comparable(mut verdicts: Vec<(Check, Verdict)>) -> Vec<(Check, Verdict)> {
    if verdicts.contains(&(Check::EpochUsage, Verdict::Violated)) {
        verdicts.retain(|(check, _)| *check == Check::EpochUsage);
    }
    verdicts
}

/// Explores a text with one thread, up to so many states.
pub(crate) fn verify(text: &str, portable: bool, reduce: bool, max_states: u64) -> Report {
    let scenario =
        load("drawn.scn", text.as_bytes()).unwrap_or_else(|error| panic!("{}\n{text}", error.render(false)));
    let limits = Limits { max_states: Some(max_states), threads: 1, ..Limits::default() };
    let request = Request { portable, reduce, limits, ..Request::default() };
    check(&scenario, &request).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The verdicts of the checks, and how many states there are; `None` if a bound was hit.
pub(crate) fn verdicts(
    text: &str,
    portable: bool,
    reduce: bool,
    max_states: u64,
) -> Option<(Vec<(Check, Verdict)>, u64)> {
    let report = verify(text, portable, reduce, max_states);
    let verdicts = report.checks.iter().map(|report| (report.check, report.verdict)).collect();
    report.exhaustive.then_some((verdicts, report.states))
}

/// How the search of drawn programs with the reduction compares with the whole search.
pub(crate) struct Compared {
    /// Programs that are small enough.
    pub(crate) programs: u32,
    /// Those of them that have fewer states with the reduction.
    pub(crate) fewer: u32,
    /// By check, those that violate it.
    pub(crate) violated: [u32; Check::ALL.len()],
}

/// Draws 400 programs; the verdicts are the same with and without the reduction.
pub(crate) fn compare(seed: u64, portable: bool) -> Compared {
    compare_edited(seed, portable, |_, text| text)
}

/// The same of programs that say `nocheck`: all starts and posts of one, and some locks.
pub(crate) fn compare_unchecked(seed: u64, portable: bool) -> Compared {
    compare_edited(seed, portable, |dice, text| {
        let groups = dice.one_in(2);
        let mut says = |line: &str| match line.trim_start().trim_start_matches('i') {
            line if line.starts_with("lock") => dice.one_in(2),
            line if line.starts_with("start") || line.starts_with("post") => groups,
            _ => false,
        };
        let mark = |says: bool| if says { " assert nocheck\n" } else { "\n" };
        text.lines().map(|line| format!("{line}{}", mark(says(line)))).collect()
    })
}

fn compare_edited(seed: u64, portable: bool, edit: impl Fn(&mut Dice, String) -> String) -> Compared {
    let mut dice = Dice::new(seed);
    let mut all = Compared { programs: 0, fewer: 0, violated: [0; Check::ALL.len()] };
    for _ in 0..400 {
        let text = draw(&mut dice);
        let text = edit(&mut dice, text);
        let Some((whole, states)) = verdicts(&text, portable, false, 20_000) else { continue };
        let Some((some, reduced)) = verdicts(&text, portable, true, 40_000) else {
            panic!("the reduction takes more states than there are:\n{text}")
        };
        let whole = comparable(whole);
        assert_eq!(comparable(some), whole, "{text}");
        all.programs += 1;
        all.fewer += u32::from(reduced < states);
        for (check, verdict) in whole {
            all.violated[check as usize] += u32::from(verdict == Verdict::Violated);
        }
    }
    println!("{} compared, {} with fewer states, violated: {:?}", all.programs, all.fewer, all.violated);
    all
}

/// A program for each rank, drawn as rounds in which some ranks synchronize.
struct Draft<'a> {
    dice: &'a mut Dice,
    programs: Vec<Vec<String>>,
}

impl Draft<'_> {
    fn ranks(&self) -> u64 {
        self.programs.len() as u64
    }

    fn say(&mut self, rank: u64, line: String) {
        self.programs[rank as usize].push(line);
    }

    /// An operation to a target: few places, so that they meet.
    fn access(&mut self, rank: u64, target: u64) {
        let place = 8 * self.dice.below(2);
        let line = match self.dice.below(6) {
            0 | 1 => format!("put w to {target} size 8 at {place}"),
            2 | 3 => format!("get w from {target} size 8 at {place}"),
            4 => format!("acc w to {target} size 8 at {place}"),
            _ => format!("fetch_op w at {target} at {place}"),
        };
        self.say(rank, line);
    }

    /// The blocking form of a call, or the other one, which the end of the program waits for.
    fn form(&mut self) -> &'static str {
        if self.dice.one_in(3) { "i" } else { "" }
    }

    fn fences(&mut self) {
        for rank in 0..self.ranks() {
            self.say(rank, "fence w".to_owned());
            if self.dice.one_in(2) {
                let target = self.dice.below(self.ranks());
                self.access(rank, target);
            }
            let form = self.form();
            self.say(rank, format!("{form}fence w"));
        }
    }

    fn exposure(&mut self) {
        let target = self.dice.below(self.ranks());
        let origin = (target + 1 + self.dice.below(self.ranks() - 1)) % self.ranks();
        let forms = [self.form(), self.form(), self.form(), self.form()];
        self.say(target, format!("{}post w from [{origin}]", forms[0]));
        self.say(target, format!("{}wait_epoch w", forms[1]));
        self.say(origin, format!("{}start w to [{target}]", forms[2]));
        for _ in 0..self.dice.below(3) {
            self.access(origin, target);
        }
        self.say(origin, format!("{}complete w", forms[3]));
    }

    fn lock(&mut self) {
        let (rank, target) = (self.dice.below(self.ranks()), self.dice.below(self.ranks()));
        let form = self.form();
        if self.dice.one_in(4) {
            self.say(rank, format!("{form}lock_all w"));
            self.access(rank, target);
            return self.say(rank, "unlock_all w".to_owned());
        }
        let mode = if self.dice.one_in(2) { "shared" } else { "exclusive" };
        self.say(rank, format!("{form}lock w at {target} {mode}"));
        self.access(rank, target);
        if self.dice.one_in(2) {
            let flush = ["flush", "iflush", "flush_local"][self.dice.below(3) as usize];
            self.say(rank, format!("{flush} w at {target}"));
            self.access(rank, target);
        }
        let form = self.form();
        self.say(rank, format!("{form}unlock w at {target}"));
    }

    fn message(&mut self) {
        let to = self.dice.below(self.ranks());
        if self.dice.one_in(3) {
            // Of several senders, each may be the first.
            for from in (0..self.ranks()).filter(|from| *from != to) {
                self.say(from, format!("send to {to} tag 0 size 8"));
                self.say(to, "recv from any tag 0 size 8".to_owned());
            }
            return;
        }
        let from = (to + 1 + self.dice.below(self.ranks() - 1)) % self.ranks();
        self.say(from, format!("send to {to} tag 0 size 8"));
        self.say(to, format!("recv from {from} tag 0 size 8"));
    }

    fn own(&mut self) {
        let rank = self.dice.below(self.ranks());
        let verb = if self.dice.one_in(2) { "load" } else { "store" };
        let place = 8 * self.dice.below(2);
        self.say(rank, format!("{verb} w at {place} size 8"));
    }
}

/// Two or three ranks, each with a few statements on one window; every fifth program lacks one of them.
fn draw(dice: &mut Dice) -> String {
    let ranks = 2 + dice.below(2);
    let mut text = format!("ranks {ranks}\nwindow w 16\n");
    for flag in ["access_after_access", "exposure_after_access"] {
        if dice.one_in(6) {
            let _ = writeln!(text, "option w.{flag} on");
        }
    }
    let kind = dice.below(5);
    let mut draft = Draft { dice, programs: vec![Vec::new(); ranks as usize] };
    for _ in 0..1 + draft.dice.below(3) {
        match (kind, draft.dice.below(4)) {
            (_, 0) => draft.message(),
            (_, 1) => draft.own(),
            (0, _) => draft.fences(),
            (1, _) => draft.exposure(),
            (2, _) => draft.lock(),
            (3, 2) => draft.exposure(),
            (4, 2) => draft.fences(),
            _ => draft.lock(),
        }
    }
    if draft.dice.one_in(5) {
        let lacks = draft.dice.below(ranks) as usize;
        let len = draft.programs[lacks].len() as u64;
        if len > 0 {
            let at = draft.dice.below(len) as usize;
            draft.programs[lacks].remove(at);
        }
    }
    for (rank, program) in draft.programs.iter().enumerate() {
        let _ = writeln!(text, "rank {rank}\n  {}\n  wait all", program.join("\n  "));
    }
    text
}
