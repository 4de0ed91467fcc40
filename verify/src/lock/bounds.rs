//! The bounds of an exploration, and the programs within them.

use carrousel_lock::Mode;

/// The lock, with the bounds of its environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockBounds {
    /// The queue at the host.
    Queue(QueueBounds),
    /// Tickets in shared words.
    Tickets(TicketBounds),
}

impl LockBounds {
    /// As in a table.
    pub fn name(&self) -> String {
        match self {
            Self::Queue(bounds) => bounds.name(),
            Self::Tickets(bounds) => bounds.name(),
        }
    }
}

/// Around the queue at the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueBounds {
    /// Origins.
    pub origins: u8,
    /// The most locks of each: every program of up to so many is explored.
    pub locks: u8,
    /// Whether the host takes packets in batches.
    pub batches: bool,
    /// Origins that die.
    pub deaths: u8,
    /// Requests and releases that cannot be.
    pub strays: u8,
}

impl QueueBounds {
    fn name(&self) -> String {
        let Self { origins, locks, batches, deaths, strays } = *self;
        let batches = if batches { ", in batches" } else { "" };
        let further = [several(deaths, "death"), several(strays, "impossible packet")].concat();
        format!("queue: {origins} origins, {}{batches}{further}", each(locks))
    }
}

/// Around the words of a lock by tickets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TicketBounds {
    /// Origins that share the words with the host.
    pub near: u8,
    /// Origins on other nodes, for which the host takes tickets.
    pub far: u8,
    /// The most locks of each: every program of up to so many is explored.
    pub locks: u8,
    /// Origins that die.
    pub deaths: u8,
    /// Requests and releases of origins on other nodes that cannot be.
    pub strays: u8,
    /// Inspections.
    pub inspections: u8,
}

impl TicketBounds {
    fn name(&self) -> String {
        let Self { near, far, locks, deaths, strays, inspections } = *self;
        let far = if far > 0 { format!(", {far} on other nodes") } else { String::new() };
        let further = [
            several(deaths, "death"),
            several(strays, "impossible packet"),
            several(inspections, "inspection"),
        ]
        .concat();
        format!("tickets: {near} on the node{far}, {}{further}", each(locks))
    }
}

fn each(locks: u8) -> String {
    if locks == 1 { "1 lock each".to_owned() } else { format!("up to {locks} locks each") }
}

/// `, 2 deaths`, or an empty text for no deaths.
fn several(count: u8, what: &str) -> String {
    match count {
        0 => String::new(),
        1 => format!(", 1 {what}"),
        _ => format!(", {count} {what}s"),
    }
}

/// The locks that one origin requests, one after the other.
pub(super) type LockProgram = Vec<Mode>;

/// All programs of 1 to so many locks.
fn programs_of_one(locks: u8) -> Vec<LockProgram> {
    let mut all = Vec::new();
    let mut longest = vec![Vec::new()];
    for _ in 0..locks {
        let with = |program: &LockProgram| {
            [Mode::Exclusive, Mode::Shared].map(|mode| [&program[..], &[mode]].concat())
        };
        longest = longest.iter().flat_map(with).collect();
        all.extend(longest.iter().cloned());
    }
    all
}

/// All programs of origins that are alike: of those that are equal up to their order, one.
pub(super) fn programs(origins: u8, locks: u8) -> Vec<Vec<LockProgram>> {
    let one = programs_of_one(locks);
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..origins {
        let with = |chosen: Vec<usize>| {
            let first = chosen.last().copied().unwrap_or(0);
            (first..one.len()).map(move |next| [&chosen[..], &[next]].concat())
        };
        all = all.into_iter().flat_map(with).collect();
    }
    all.into_iter().map(|chosen| chosen.into_iter().map(|at| one[at].clone()).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_all_but_their_renamings() {
        assert_eq!(programs_of_one(2).len(), 2 + 4);
        assert_eq!(programs(3, 1).len(), 4, "so many of three are exclusive");
        assert_eq!(programs(2, 2).len(), 6 * 7 / 2);
        assert_eq!(programs(0, 2), [Vec::<LockProgram>::new()]);
    }
}
