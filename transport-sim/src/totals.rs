//! The statements of all ranks in totals by line, added up as they are executed.

use crate::keys::ByKey;
use crate::mailbox::Place;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What all executions of one line took together. Times are virtual microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LineTotal {
    /// The source file, if that is not the scenario.
    pub file: Option<Arc<str>>,
    /// The line in the file, from 1.
    pub line: u32,
    /// The keyword of its statement.
    pub op: Cow<'static, str>,
    /// How often it was executed.
    pub times: u64,
    /// From calls to their returns.
    pub in_call_us: f64,
    /// The longest of these.
    pub longest_us: f64,
    /// From calls to the completion of what they started; to their returns if it never was complete.
    pub to_complete_us: f64,
    /// How many started a request that was complete at some time.
    pub requests: u64,
    /// How long ranks computed between the return of a call that started such a request and its completion.
    pub computed_us: f64,
    /// How long they were in calls that wait meanwhile.
    pub waited_us: f64,
}

/// The times at which one executed statement began, returned, and was complete, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) complete: Option<u64>,
}

impl Times {
    /// The time up to which it is known to have taken.
    pub(crate) fn until(&self) -> u64 {
        self.complete.unwrap_or(self.end)
    }
}

/// Whether a statement of this operation starts a request that goes on after it has returned.
pub(crate) fn starts_request(op: &str) -> bool {
    matches!(
        op,
        "isend"
            | "issend"
            | "irecv"
            | "ibarrier"
            | "icomplete"
            | "iwait_epoch"
            | "ifence"
            | "iunlock"
            | "iunlock_all"
    ) || op.starts_with("iflush")
}

/// Whether its rank computes, or reads and writes its own buffers.
pub(crate) fn computes(op: &str) -> bool {
    matches!(op, "compute" | "read" | "write")
}

/// Whether it waits for requests.
pub(crate) fn waits(op: &str) -> bool {
    op == "wait"
}

/// A line and its operation, as totals number them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineId(u32);

/// What statements are to requests that are open meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    Computes,
    Waits,
    Other,
}

/// How long a rank has computed, and has been in calls that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    computed_ns: u64,
    waited_ns: u64,
}

impl Spent {
    /// This, and a statement of this activity for so long.
    pub(crate) fn and(mut self, activity: Activity, ns: u64) -> Self {
        match activity {
            Activity::Computes => self.computed_ns += ns,
            Activity::Waits => self.waited_ns += ns,
            Activity::Other => {}
        }
        self
    }

    /// What has been added since.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            computed_ns: self.computed_ns - earlier.computed_ns,
            waited_ns: self.waited_ns - earlier.waited_ns,
        }
    }
}

/// One line with one operation.
#[derive(Debug)]
struct Line {
    place: Option<Place>,
    line: u32,
    op: &'static str,
    activity: Activity,
    starts_request: bool,
    sum: Sum,
}

/// Times are nanoseconds: sums of them do not depend on their order.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    times: u64,
    in_call: u64,
    longest: u64,
    to_complete: u64,
    requests: u64,
    spent: Spent,
}

/// The totals of all lines.
#[derive(Debug)]
pub(crate) struct Totals {
    lines: Vec<Line>,
    /// By where the compiler has put the place and the operation; the same may stand twice.
    ids: ByKey<(usize, u32, usize), LineId>,
    /// How many statements have begun.
    begun: u64,
    /// Of more than these none is recorded.
    recorded_max: u64,
}

impl Totals {
    pub(crate) fn new(recorded_max: u64) -> Self {
        Self { lines: Vec::new(), ids: ByKey::default(), begun: 0, recorded_max }
    }

    /// The number of a line, of a scenario or at a place in a program.
    pub(crate) fn line(&mut self, place: Option<Place>, line: u32, op: &'static str) -> LineId {
        let at = place.map_or(0, |place| std::ptr::from_ref(place).addr());
        let lines = &mut self.lines;
        *self.ids.entry((at, line, op.as_ptr().addr())).or_insert_with(|| {
            let activity = match () {
                () if computes(op) => Activity::Computes,
                () if waits(op) => Activity::Waits,
                () => Activity::Other,
            };
            lines.push(Line {
                place,
                line,
                op,
                activity,
                starts_request: starts_request(op),
                sum: Sum::default(),
            });
            LineId(lines.len() as u32 - 1)
        })
    }

    fn get(&self, LineId(id): LineId) -> &Line {
        &self.lines[id as usize]
    }

    /// The file of a line, if it is not the scenario; the line; and its operation.
    pub(crate) fn name(&self, id: LineId) -> (Option<&'static str>, u32, &'static str) {
        let line = self.get(id);
        (line.place.map(|place| place.file()), line.line, line.op)
    }

    pub(crate) fn activity(&self, id: LineId) -> Activity {
        self.get(id).activity
    }

    /// One more statement begins: whether it is recorded.
    pub(crate) fn records_one_more(&mut self) -> bool {
        self.begun += 1;
        self.records()
    }

    /// Whether all statements so far are recorded.
    pub(crate) fn records(&self) -> bool {
        self.begun <= self.recorded_max
    }

    /// A statement has returned. It may be complete already.
    pub(crate) fn returned(&mut self, LineId(id): LineId, times: &Times) {
        let Line { sum, starts_request, .. } = &mut self.lines[id as usize];
        let in_call = times.end - times.begin;
        sum.times += 1;
        sum.in_call += in_call;
        sum.longest = sum.longest.max(in_call);
        sum.to_complete += times.until() - times.begin;
        sum.requests += u64::from(*starts_request && times.complete.is_some());
    }

    /// What a statement has started is complete, so long after its return, or after a part of it was complete. What its
    /// rank has spent meanwhile.
    pub(crate) fn completed(&mut self, LineId(id): LineId, after: u64, is_first: bool, meanwhile: Spent) {
        let Line { sum, starts_request, .. } = &mut self.lines[id as usize];
        sum.to_complete += after;
        if *starts_request {
            sum.requests += u64::from(is_first);
            sum.spent.computed_ns += meanwhile.computed_ns;
            sum.spent.waited_ns += meanwhile.waited_ns;
        }
    }

    /// All lines, by file, number and operation.
    pub(crate) fn finish(&self) -> Vec<LineTotal> {
        let mut sums: BTreeMap<(Option<&str>, u32, &str), Sum> = BTreeMap::new();
        for Line { place, line, op, sum, .. } in &self.lines {
            let all = sums.entry((place.map(|place| place.file()), *line, *op)).or_default();
            all.times += sum.times;
            all.in_call += sum.in_call;
            all.longest = all.longest.max(sum.longest);
            all.to_complete += sum.to_complete;
            all.requests += sum.requests;
            all.spent.computed_ns += sum.spent.computed_ns;
            all.spent.waited_ns += sum.spent.waited_ns;
        }
        let us = |ns: u64| ns as f64 / 1000.0;
        let total = |((file, line, op), sum): ((Option<&str>, u32, &'static str), Sum)| LineTotal {
            file: file.map(Into::into),
            line,
            op: op.into(),
            times: sum.times,
            in_call_us: us(sum.in_call),
            longest_us: us(sum.longest),
            to_complete_us: us(sum.to_complete),
            requests: sum.requests,
            computed_us: us(sum.spent.computed_ns),
            waited_us: us(sum.spent.waited_ns),
        };
        sums.into_iter().map(total).collect()
    }
}
