//! The statements of one rank: the present one, those whose requests are open, and as far as they are recorded all.
//!
//! What is over is added up by line. So a run needs memory for what is under way, not for what has been.

use crate::keys::{ByKey, take};
use crate::totals::{LineId, Spent, Times, Totals};

/// A statement that is being executed, or whose request may be open.
#[derive(Clone, Copy, Debug)]
struct Executed {
    line: LineId,
    times: Times,
    /// How many requests and operations it has begun that are not complete.
    open: u32,
    /// What its rank had spent when it was added up.
    spent: Spent,
}

/// The statements of one rank.
#[derive(Debug, Default)]
pub(crate) struct Statements {
    /// How many have begun.
    begun: u32,
    /// The one that began last.
    last: Option<Executed>,
    /// Whether that has not returned.
    is_running: bool,
    /// Earlier ones with open requests or operations, by number.
    open: ByKey<u32, Executed>,
    /// All, by number; empty if they are not recorded.
    recorded: Vec<(LineId, Times)>,
    /// What the rank has spent in statements that have returned.
    spent: Spent,
}

impl Statements {
    /// How many have begun; that is the number of the next.
    pub(crate) fn begun(&self) -> u32 {
        self.begun
    }

    /// The number of the one that began last.
    pub(crate) fn last(&self) -> u32 {
        self.begun.saturating_sub(1)
    }

    /// When the one that began last began.
    pub(crate) fn began_at(&self) -> Option<u64> {
        self.last.map(|last| last.times.begin)
    }

    /// All with their lines, if they are recorded.
    pub(crate) fn recorded(&self) -> &[(LineId, Times)] {
        &self.recorded
    }

    /// The next one begins.
    pub(crate) fn begin(&mut self, line: LineId, now: u64, totals: &mut Totals) {
        if let Some(before) = self.last.filter(|before| before.open > 0) {
            self.open.insert(self.last(), before);
        }
        let times = Times { begin: now, end: now, complete: None };
        if totals.records_one_more() {
            self.recorded.push((line, times));
        } else if !self.recorded.is_empty() {
            self.recorded = Vec::new();
        }
        self.last = Some(Executed { line, times, open: 0, spent: Spent::default() });
        self.is_running = true;
        self.begun += 1;
    }

    /// The present one has begun a request or an operation.
    pub(crate) fn opened(&mut self) {
        if let Some(last) = &mut self.last {
            last.open += 1;
        }
    }

    /// The operation of the present one was refused.
    pub(crate) fn refused(&mut self) {
        if let Some(last) = &mut self.last {
            last.open = last.open.saturating_sub(1);
        }
    }

    /// The present one returns. Whether it is complete then, or will be later.
    pub(crate) fn end(&mut self, is_complete: bool, now: u64, totals: &mut Totals) {
        let Some(last) = &mut self.last else { return };
        last.times.end = now;
        if is_complete {
            last.times.complete = Some(now);
        }
        if let Some((_, times)) = self.recorded.get_mut(self.begun as usize - 1) {
            *times = last.times;
        }
        self.spent = self.spent.and(totals.activity(last.line), now - last.times.begin);
        last.spent = self.spent;
        totals.returned(last.line, &last.times);
        self.is_running = false;
    }

    /// A request or an operation of this one is complete.
    pub(crate) fn completed(&mut self, number: u32, now: u64, totals: &mut Totals) {
        if let Some((_, times)) = self.recorded.get_mut(number as usize) {
            times.complete = Some(now);
        }
        let (is_last, is_running) = (number == self.last(), self.is_running);
        let mut spent = self.spent;
        if let Some(running) = self.last.filter(|_| is_running) {
            spent = spent.and(totals.activity(running.line), now - running.times.begin);
        }
        let executed = if is_last { self.last.as_mut() } else { self.open.get_mut(&number) };
        let Some(executed) = executed else { return };
        if !(is_last && is_running) {
            let is_first = executed.times.complete.is_none();
            totals.completed(
                executed.line,
                now - executed.times.until(),
                is_first,
                spent.since(executed.spent),
            );
            executed.spent = spent;
        }
        executed.times.complete = Some(now);
        executed.open = executed.open.saturating_sub(1);
        if !is_last && executed.open == 0 {
            take(&mut self.open, &number);
        }
    }

    /// The line of one that is not over.
    pub(crate) fn line(&self, number: u32) -> Option<LineId> {
        let executed = if number == self.last() { self.last.as_ref() } else { self.open.get(&number) };
        executed.map(|executed| executed.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::totals::LineTotal;

    /// A rank that begins a request at 10, computes from 12 to 20, waits from 20 on, and is told at 26 that the request
    /// is complete.
    fn run(recorded_max: u64) -> (Statements, Vec<LineTotal>) {
        let (mut statements, mut totals) = (Statements::default(), Totals::new(recorded_max));
        let lines = [(1, "irecv"), (2, "compute"), (3, "wait")].map(|(line, op)| totals.line(None, line, op));
        statements.begin(lines[0], 10_000, &mut totals);
        statements.opened();
        statements.end(false, 12_000, &mut totals);
        statements.begin(lines[1], 12_000, &mut totals);
        statements.end(true, 20_000, &mut totals);
        statements.begin(lines[2], 20_000, &mut totals);
        assert_eq!(statements.open.len(), 1);
        statements.completed(0, 26_000, &mut totals);
        assert_eq!(statements.open.len(), 0, "it is over");
        statements.end(true, 26_000, &mut totals);
        (statements, totals.finish())
    }

    #[test]
    fn a_request_is_overlapped_by_what_its_rank_does_until_it_is_complete() {
        let (_, lines) = run(0);
        let irecv = &lines[0];
        assert_eq!((irecv.line, irecv.times, irecv.requests), (1, 1, 1));
        assert_eq!((irecv.in_call_us, irecv.to_complete_us), (2.0, 16.0));
        assert_eq!((irecv.computed_us, irecv.waited_us), (8.0, 6.0));
        assert_eq!((lines[2].times, lines[2].longest_us, lines[2].requests), (1, 6.0, 0));
    }

    #[test]
    fn statements_are_recorded_as_long_as_there_are_few() {
        assert_eq!(run(3).0.recorded().len(), 3);
        assert_eq!(run(3).0.recorded()[0].1.complete, Some(26_000));
        assert_eq!(run(2).0.recorded().len(), 0);
        assert_eq!(run(2).1, run(3).1);
    }
}
