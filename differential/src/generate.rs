//! Random programs: a few phases after each other, of the kinds that programs have (fences, groups, locks, messages, own
//! memory), and then, in some, a few changes that may break them.

use crate::program::{
    Access, AccessKind, Call, Cells, Combine, Program, Promises, Statement, Synchronization, WindowSettings,
};
use fastrand::Rng;

/// Statements of all ranks, at most: more have too many executions.
const STATEMENTS_MAX: usize = 20;
/// Accesses of all ranks, at most.
const ACCESSES_MAX: usize = 6;

/// The program of a seed, for so many ranks.
pub fn program(seed: u64, ranks: u8) -> Program {
    let mut random = Rng::with_seed(seed);
    loop {
        let mut writer = Writer::new(&mut random, ranks);
        writer.phases();
        let Writer { mut program, .. } = writer;
        if random.u8(..100) < 55 {
            for _ in 0..random.usize(1..3) {
                mutate(&mut program, &mut random);
            }
        }
        program.tidy();
        let accesses =
            program.ranks.iter().flatten().filter(|it| matches!(it, Statement::Access(..))).count();
        if (2..=STATEMENTS_MAX).contains(&program.len()) && accesses <= ACCESSES_MAX {
            return program;
        }
    }
}

/// Takes a statement away, moves one, or makes another one of it.
fn mutate(program: &mut Program, random: &mut Rng) {
    let places: Vec<(usize, usize)> = program
        .ranks
        .iter()
        .enumerate()
        .flat_map(|(rank, statements)| (0..statements.len()).map(move |at| (rank, at)))
        .collect();
    let Some(&(rank, at)) = random.choice(&places) else { return };
    match random.u8(..10) {
        0..4 => {
            program.remove(rank, at);
        }
        4 => assert_otherwise(program, random, rank, at),
        5..8 if program.ranks[rank].len() > 1 => {
            let first = random.usize(..program.ranks[rank].len() - 1);
            for at in first..(first + random.usize(1..4)).min(program.ranks[rank].len() - 1) {
                program.exchange(rank, at);
            }
        }
        _ => make_later(program, random, rank, at),
    }
    program.tidy();
}

/// Takes an assertion back, or makes another one that the language admits there.
fn assert_otherwise(program: &mut Program, random: &mut Rng, rank: usize, at: usize) {
    let Statement::Synchronize(_, synchronization) = &mut program.ranks[rank][at] else { return };
    let promises = &mut synchronization.promises;
    match synchronization.call {
        Call::Start(_) | Call::Lock { .. } | Call::LockAll => promises.no_check = !promises.no_check,
        Call::Post(_) if random.bool() => promises.no_check = !promises.no_check,
        Call::Post(_) | Call::Fence { .. } => match random.bool() {
            true => promises.no_put = !promises.no_put,
            false => promises.no_store = !promises.no_store,
        },
        _ => {}
    }
}

/// Makes an i-form of a synchronization; a `wait` for it may come later, or never.
fn make_later(program: &mut Program, random: &mut Rng, rank: usize, at: usize) {
    let Statement::Synchronize(_, synchronization) = &mut program.ranks[rank][at] else { return };
    if synchronization.later {
        return;
    }
    synchronization.later = true;
    if random.u8(..100) < 85 {
        let to = random.usize(at + 1..=program.ranks[rank].len());
        let all = random.u8(..4) == 0;
        let wait = if all { Statement::WaitAll } else { Statement::Wait(vec![at as u8]) };
        program.insert(rank, to, wait);
    }
}

/// A program that is being written.
struct Writer<'a> {
    random: &'a mut Rng,
    program: Program,
    ranks: u8,
    /// Each origin has a cell of its own, as far as there are cells.
    is_careful: bool,
    /// Only atomics.
    is_atomic: bool,
    /// Calls have assertions.
    asserts: bool,
    /// The rank that has got the last statement.
    last: u8,
}

impl<'a> Writer<'a> {
    fn new(random: &'a mut Rng, ranks: u8) -> Self {
        let windows = if random.u8(..100) < 12 { 2 } else { 1 };
        let settings = |random: &mut Rng| {
            let mut flags = [false; 4];
            if random.u8(..100) < 15 {
                flags[random.usize(..4)] = true;
                flags[random.usize(..4)] = true;
            }
            WindowSettings { flags, unordered: random.u8(..100) < 8, same_op: random.u8(..100) < 8 }
        };
        let windows = (0..windows).map(|_| settings(random)).collect();
        let program = Program { windows, ranks: vec![Vec::new(); usize::from(ranks)] };
        let is_careful = random.u8(..100) < 55;
        let is_atomic = random.u8(..100) < 12;
        let asserts = random.u8(..100) < 30;
        Self { random, program, ranks, is_careful, is_atomic, asserts, last: 0 }
    }

    fn percent(&mut self, percent: u8) -> bool {
        self.random.u8(..100) < percent
    }

    fn rank(&mut self) -> u8 {
        self.random.u8(..self.ranks)
    }

    fn other(&mut self, rank: u8) -> u8 {
        (rank + self.random.u8(1..self.ranks)) % self.ranks
    }

    fn push(&mut self, rank: u8, statement: Statement) {
        self.program.ranks[usize::from(rank)].push(statement);
        self.last = rank;
    }

    fn phases(&mut self) {
        let phases = self.random.usize(1..4);
        for phase in 0..phases {
            let window = self.random.u8(..self.program.windows.len() as u8);
            match self.random.u8(..100) {
                0..22 => self.fences(window),
                22..48 => self.groups(window),
                _ => self.locks(window),
            }
            if self.percent(30) {
                self.own(window);
            }
            if phase + 1 < phases || self.percent(35) {
                match self.random.u8(..100) {
                    0..25 => (0..self.ranks).for_each(|rank| self.push(rank, Statement::Barrier)),
                    25..75 => self.message(),
                    _ => {}
                }
            }
            if self.percent(20) {
                self.own(window);
            }
        }
    }

    /// A close or a flush, or its i-form with a `wait`.
    fn close(&mut self, rank: u8, window: u8, call: Call) {
        let later = self.percent(14);
        let promises = self.promises(call);
        self.push(rank, Statement::Synchronize(window, Synchronization { call, later, promises }));
        if later && self.percent(75) {
            let at = self.program.ranks[usize::from(rank)].len() as u8 - 1;
            if self.percent(40) {
                self.message();
            }
            self.push(rank, Statement::Wait(vec![at]));
        }
    }

    /// A call that opens an epoch, or its i-form, for which nobody needs to wait.
    fn open(&mut self, rank: u8, window: u8, call: Call) {
        let promises = self.promises(call);
        self.open_with(rank, window, call, promises);
    }

    fn open_with(&mut self, rank: u8, window: u8, call: Call, promises: Promises) {
        let later = self.percent(10);
        self.push(rank, Statement::Synchronize(window, Synchronization { call, later, promises }));
    }

    /// What a call asserts of those that the language admits there. `nocheck` of groups is said by all of them (`groups`).
    fn promises(&mut self, call: Call) -> Promises {
        let mut promises = Promises::default();
        if self.asserts {
            match call {
                Call::Fence { .. } | Call::Post(_) => {
                    (promises.no_store, promises.no_put) = (self.percent(25), self.percent(20));
                }
                Call::Lock { .. } | Call::LockAll => promises.no_check = self.percent(45),
                _ => {}
            }
        }
        promises
    }

    /// A message or a barrier between the calls of epochs.
    fn between(&mut self) {
        match self.random.u8(..100) {
            0..8 => self.message(),
            8..11 => (0..self.ranks).for_each(|rank| self.push(rank, Statement::Barrier)),
            _ => {}
        }
    }

    fn fences(&mut self, window: u8) {
        if self.percent(85) {
            let first = Call::Fence { no_precede: self.percent(15), no_succeed: self.percent(4) };
            (0..self.ranks).for_each(|rank| self.open(rank, window, first));
        }
        let all = ((1_u16 << self.ranks) - 1) as u8;
        let epochs = if self.percent(20) { 2 } else { 1 };
        for _ in 0..epochs {
            for rank in 0..self.ranks {
                if self.percent(45) {
                    self.access(rank, window, all, false);
                }
            }
            self.between();
            let last = Call::Fence { no_precede: self.percent(4), no_succeed: self.percent(20) };
            (0..self.ranks).for_each(|rank| self.close(rank, window, last));
        }
    }

    /// Access and exposure epochs of groups that match.
    fn groups(&mut self, window: u8) {
        let mut access = vec![0_u8; usize::from(self.ranks)];
        let mut exposure = access.clone();
        for _ in 0..self.random.usize(1..3) {
            let (origin, target) = (self.rank(), self.rank());
            if origin != target || self.percent(15) {
                access[usize::from(origin)] |= 1 << target;
                exposure[usize::from(target)] |= 1 << origin;
            }
        }
        let start_first = self.percent(15);
        // All starts and posts assert it. It is true where a message or a barrier brings each post before its start.
        let no_check = self.asserts && self.percent(50);
        let posts_first = no_check && self.percent(70);
        if posts_first {
            for rank in 0..self.ranks {
                let origins = exposure[usize::from(rank)];
                if origins != 0 {
                    let promises = Promises { no_check, ..self.promises(Call::Post(origins)) };
                    self.open_with(rank, window, Call::Post(origins), promises);
                }
            }
            match self.percent(60) {
                true => (0..self.ranks).for_each(|rank| self.push(rank, Statement::Barrier)),
                false => self.message(),
            }
        }
        for rank in 0..self.ranks {
            let (targets, origins) = (access[usize::from(rank)], exposure[usize::from(rank)]);
            let mut opens = vec![];
            if origins != 0 && !posts_first {
                opens.push(Call::Post(origins));
            }
            if targets != 0 {
                opens.push(Call::Start(targets));
            }
            if start_first {
                opens.reverse();
            }
            for call in opens {
                let promises = Promises { no_check, ..self.promises(call) };
                self.open_with(rank, window, call, promises);
            }
            if targets != 0 {
                for _ in 0..self.random.usize(0..3) {
                    self.access(rank, window, targets, false);
                }
            }
            self.between();
            if targets != 0 {
                self.close(rank, window, Call::Complete);
            }
            if origins != 0 {
                self.close(rank, window, Call::WaitEpoch);
            }
        }
    }

    /// Locks of one or two origins.
    fn locks(&mut self, window: u8) {
        for _ in 0..self.random.usize(1..3) {
            let origin = self.rank();
            if self.percent(30) {
                self.open(origin, window, Call::LockAll);
                self.under_lock(origin, window, ((1_u16 << self.ranks) - 1) as u8);
                self.close(origin, window, Call::UnlockAll);
                continue;
            }
            let target = if self.percent(75) { self.other(origin) } else { origin };
            let exclusive = self.percent(65);
            self.open(origin, window, Call::Lock { target, exclusive });
            if self.percent(20) {
                let second = self.other(target);
                let exclusive = self.percent(65);
                self.under_lock(origin, window, 1 << target);
                self.open(origin, window, Call::Lock { target: second, exclusive });
                self.under_lock(origin, window, 1 << target | 1 << second);
                self.close(origin, window, Call::Unlock(second));
            } else {
                self.under_lock(origin, window, 1 << target);
            }
            self.close(origin, window, Call::Unlock(target));
        }
    }

    fn under_lock(&mut self, origin: u8, window: u8, targets: u8) {
        for _ in 0..self.random.usize(0..3) {
            match self.random.u8(..100) {
                0..62 => self.access(origin, window, targets, true),
                62..85 => {
                    let target = if self.percent(60) { Some(self.one_of(targets)) } else { None };
                    let local = self.percent(35);
                    self.close(origin, window, Call::Flush { target, local });
                }
                85..95 => self.message(),
                _ => self.own(window),
            }
        }
    }

    fn one_of(&mut self, ranks: u8) -> u8 {
        let all: Vec<u8> = crate::program::members(ranks).collect();
        self.random.choice(all).unwrap_or(0)
    }

    fn access(&mut self, origin: u8, window: u8, targets: u8, is_locked: bool) {
        let target = self.one_of(targets);
        let combine = match self.random.u8(..6) {
            0 => Combine::Replace,
            1 | 2 => Combine::NoOp,
            _ => Combine::Sum,
        };
        let first = if self.is_atomic { 4 } else { 0 };
        let kind = match self.random.u8(first..11) {
            0 | 1 => AccessKind::Put,
            2 | 3 => AccessKind::Get,
            4 | 5 => AccessKind::Accumulate(combine),
            6 | 7 => AccessKind::GetAccumulate(combine),
            8 | 9 => AccessKind::FetchOp(combine),
            _ => AccessKind::CompareSwap,
        };
        let is_single = matches!(kind, AccessKind::FetchOp(_) | AccessKind::CompareSwap);
        let count = if !is_single && !self.is_careful && self.percent(12) { 2 } else { 1 };
        let any = if self.is_careful { origin % 2 } else { self.random.u8(..2) };
        let buffer = (!is_single && self.percent(16)).then(|| self.random.u8(..2));
        let cells = Cells { first: if count == 2 { 0 } else { any }, count };
        let with_request = is_locked && self.percent(18);
        self.push(origin, Statement::Access(window, Access { kind, target, cells, buffer, with_request }));
        if with_request && self.percent(85) {
            let at = self.program.ranks[usize::from(origin)].len() as u8 - 1;
            self.push(origin, Statement::Wait(vec![at]));
        }
        if let Some(buffer) = buffer.filter(|_| self.percent(30)) {
            let writes = self.percent(50);
            self.push(origin, Statement::Buffer { buffer, writes });
        }
    }

    fn own(&mut self, window: u8) {
        let (rank, writes) = (self.rank(), self.percent(40));
        let cells = Cells { first: self.random.u8(..2), count: 1 };
        self.push(rank, Statement::Own { window, cells, writes });
    }

    /// A message, rather from the rank that has just done something. It may have no receive.
    fn message(&mut self) {
        let from = if self.percent(60) { self.last } else { self.rank() };
        let to = self.other(from);
        let (tag, synchronous) = (self.random.u8(..2), self.percent(20));
        self.push(from, Statement::Send { to, tag, synchronous });
        if self.percent(96) {
            self.push(to, Statement::Receive { from, tag });
        }
    }
}
