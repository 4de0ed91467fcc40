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
    compare_drawn(400, 20_000, seed, portable, |dice| {
        let text = draw(dice);
        edit(dice, text)
    })
}

/// The same of so many programs whose epochs follow each other: what orders them decides which of their accesses race, as
/// all are to the same bytes.
pub(crate) fn compare_epochs(programs: u32, seed: u64) -> Compared {
    compare_drawn(programs, 4_000, seed, false, draw_epochs)
}

fn compare_drawn(
    programs: u32,
    max_states: u64,
    seed: u64,
    portable: bool,
    draw: impl Fn(&mut Dice) -> String,
) -> Compared {
    let mut dice = Dice::new(seed);
    let mut all = Compared { programs: 0, fewer: 0, violated: [0; Check::ALL.len()] };
    for _ in 0..programs {
        let text = draw(&mut dice);
        let Some((whole, states)) = verdicts(&text, portable, false, max_states) else { continue };
        let Some((some, reduced)) = verdicts(&text, portable, true, 2 * max_states) else {
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

/// What happens in one round of a program whose epochs follow each other.
impl Draft<'_> {
    fn barrier(&mut self) {
        let form = self.form();
        (0..self.ranks()).for_each(|rank| self.say(rank, format!("{form}barrier")));
    }

    /// To the only place, so that all accesses meet; as often as not of atomics, which do not race with each other.
    fn meet(&mut self, rank: u64, target: u64) {
        let line = match self.dice.below(4) {
            0 | 1 => format!("put w to {target} size 8"),
            2 => format!("get w from {target} size 8"),
            _ => format!("fetch_op w at {target}"),
        };
        self.say(rank, line);
    }

    /// Two exposures of rank 0 for one origin each, maybe the same, or one within a fence epoch.
    fn two_exposures(&mut self) {
        for _ in 0..1 + self.dice.below(2) {
            let origin = 1 + self.dice.below(self.ranks() - 1);
            let forms = [self.form(), self.form()];
            self.say(0, format!("post w from [{origin}]"));
            self.say(0, format!("{}wait_epoch w", forms[0]));
            self.say(origin, "start w to [0]".to_owned());
            self.meet(origin, 0);
            self.say(origin, format!("{}complete w", forms[1]));
        }
    }

    fn fence(&mut self) {
        for rank in 0..self.ranks() {
            let form = self.form();
            self.say(rank, format!("{form}fence w"));
            if self.dice.one_in(4) {
                self.meet(rank, 0);
            }
        }
    }

    /// The lock of rank 0, mostly; with a message to or from another rank in between, now and then.
    fn section(&mut self) {
        let (rank, host) = (self.dice.below(self.ranks()), self.dice.below(4) / 3);
        let mode = if self.dice.one_in(3) { "shared" } else { "exclusive" };
        let forms = [self.form(), self.form()];
        self.say(rank, format!("{}lock w at {host} {mode}", forms[0]));
        if rank == host && self.dice.one_in(2) {
            self.say(rank, "store w at 0 size 8".to_owned());
        } else {
            self.meet(rank, host);
        }
        match self.dice.below(6) {
            0 => self.message(),
            1 => self.say(rank, format!("flush w at {host}")),
            2 => self.say(rank, format!("flush_local w at {host}")),
            _ => {}
        }
        self.say(rank, format!("{}unlock w at {host}", forms[1]));
    }

    /// One of two ranks waits for a message of the other, which may want the same lock before it sends, and may have it.
    fn handover(&mut self) {
        let host = self.dice.below(self.ranks());
        let waits = self.dice.below(self.ranks());
        let sends = (waits + 1 + self.dice.below(self.ranks() - 1)) % self.ranks();
        let within = [self.dice.one_in(2), self.dice.one_in(2)];
        for (rank, message, is_within) in [
            (waits, format!("recv from {sends} tag 1 size 8"), within[0]),
            (sends, format!("send to {waits} tag 1 size 8"), within[1]),
        ] {
            self.say(rank, format!("lock w at {host} exclusive"));
            self.meet(rank, host);
            if is_within {
                self.say(rank, format!("flush w at {host}"));
                self.say(rank, message.clone());
            }
            self.say(rank, format!("unlock w at {host}"));
            if !is_within {
                self.say(rank, message);
            }
        }
    }

    /// Accesses of a rank that a flush orders.
    fn flushed(&mut self) {
        let rank = self.dice.below(self.ranks());
        self.say(rank, "lock_all w".to_owned());
        self.meet(rank, 0);
        if self.dice.one_in(2) {
            let flush = ["flush w at 0", "flush_all w", "iflush w at 0", "flush_local w at 0"]
                [self.dice.below(4) as usize];
            self.say(rank, flush.to_owned());
            self.meet(rank, 0);
        }
        self.say(rank, "unlock_all w".to_owned());
    }

    /// One or two ranks access the memory of rank 0 and tell it so, which looks at it then: most of them have flushed before.
    fn notified(&mut self) {
        for _ in 0..1 + self.dice.below(2) {
            let origin = 1 + self.dice.below(self.ranks() - 1);
            self.say(origin, "lock_all w".to_owned());
            self.meet(origin, 0);
            let flush = ["flush w at 0", "flush_all w", "flush w at 0", "flush_local w at 0"];
            let flush = flush[self.dice.below(4) as usize].to_owned();
            self.say(origin, flush);
            let is_within = self.dice.one_in(2);
            let calls = ["send to 0 tag 2 size 8", "unlock_all w"];
            let calls = if is_within { calls } else { [calls[1], calls[0]] };
            calls.into_iter().for_each(|call| self.say(origin, call.to_owned()));
            let from = if self.dice.one_in(2) { "any".to_owned() } else { origin.to_string() };
            self.say(0, format!("recv from {from} tag 2 size 8"));
            if self.dice.one_in(2) {
                self.touch();
            }
        }
        self.touch();
    }

    fn touch(&mut self) {
        let verb = if self.dice.one_in(2) { "load" } else { "store" };
        self.say(0, format!("{verb} w at 0 size 8"));
    }
}

/// Two or three ranks that access the same 8 bytes, of rank 0 mostly, in a few epochs of one kind or two.
fn draw_epochs(dice: &mut Dice) -> String {
    let ranks = 2 + dice.below(2);
    let mut text = format!("ranks {ranks}\nwindow w 8\n");
    for flag in ["access_after_access", "exposure_after_exposure", "exposure_after_access"] {
        if dice.one_in(4) {
            let _ = writeln!(text, "option w.{flag} on");
        }
    }
    let kind = dice.below(4);
    let mut draft = Draft { dice, programs: vec![Vec::new(); ranks as usize] };
    for _ in 0..2 + draft.dice.below(2) {
        match (kind, draft.dice.below(6)) {
            (_, 0) => draft.barrier(),
            (_, 1) => draft.touch(),
            (_, 2) if kind > 0 => draft.message(),
            (0, _) => draft.two_exposures(),
            (1, 3 | 4) => draft.fence(),
            (1, _) => draft.two_exposures(),
            (2, 3) => draft.flushed(),
            (2, 4) | (3, 4) => draft.notified(),
            (3, 3) => draft.handover(),
            _ => draft.section(),
        }
    }
    if kind == 1 {
        (0..ranks).for_each(|rank| draft.say(rank, "fence w".to_owned()));
    }
    for (rank, program) in draft.programs.iter().enumerate() {
        let _ = writeln!(text, "rank {rank}\n  {}\n  wait all", program.join("\n  "));
    }
    text
}
