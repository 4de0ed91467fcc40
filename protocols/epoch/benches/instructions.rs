//! Instructions of a synchronization with one peer, which no other process disturbs. Needs valgrind and
//! gungraun-runner, of the version of gungraun in Cargo.lock; `cargo xtask test` installs that.
//!
//! Claim: a synchronization with one peer (its part in opening and closing an access epoch, and the grant of the peer)
//! costs [`INSTRUCTIONS_MAX`] divided by 1,024, or less, in a window of 2 and of 1,024 ranks; with 2 and with 1,024 targets
//! in an epoch; and with 1 and with 1,024 epochs pending, deferred or active. Each benchmark counts 1,024 of them, the
//! warm-up excluded. The same for exposure epochs, with Done of the peer in place of the grant.

#![allow(missing_docs, reason = "the macros of the benchmark generate public items")]

use carrousel_epoch::*;
use carrousel_wire::RankId;
use gungraun::prelude::*;
use gungraun::{Callgrind, EntryPoint, EventKind};
use std::hint::black_box;

/// The limit of a benchmark: the claim, times its synchronizations.
const INSTRUCTIONS_MAX: u64 = 3000 * SYNCHRONIZATIONS as u64;

const SYNCHRONIZATIONS: u32 = 1024;

/// One rank of a window, and how often it synchronizes with the targets.
struct BenchedWindow {
    window: Window<AllEpochRules>,
    work: Vec<Output>,
    targets: Vec<RankId>,
    /// Epochs that are pending at a time.
    pending: u32,
    /// Synchronizations so far with each target.
    times: u64,
    exposes: bool,
}

impl BenchedWindow {
    fn new(ranks: u32, targets: u32, pending: u32, flags: Flags, exposes: bool) -> Self {
        let targets = (1..=targets).map(|target| RankId(target % ranks)).collect();
        let window = Window::new(RankId(0), ranks, flags);
        let work = Vec::with_capacity(4 * SYNCHRONIZATIONS as usize);
        let mut benched = Self { window, work, targets, pending, times: 0, exposes };
        benched.synchronize();
        benched
    }

    /// All pending epochs are opened and closed, and then their peers come.
    fn synchronize(&mut self) {
        let (open, close) = match self.exposes {
            true => (Call::Post(&self.targets), Call::Wait),
            false => (Call::Start(&self.targets), Call::Complete),
        };
        for _ in 0..self.pending {
            self.window.call(black_box(open), &mut self.work).expect("none is open");
            self.window.call(black_box(close), &mut self.work).expect("it is open");
        }
        for _ in 0..self.pending {
            self.times += 1;
            for peer in &self.targets {
                let event = match self.exposes {
                    true => Event::Packet { from: *peer, packet: Packet::Done { access: self.times } },
                    false => Event::Granted { from: *peer, word: GrantWord::Exposures, value: self.times },
                };
                self.window.event(black_box(event), &mut self.work).expect("it is the next");
            }
        }
        self.work.clear();
    }

    fn rounds(&self) -> u32 {
        SYNCHRONIZATIONS / self.pending / self.targets.len() as u32
    }
}

/// What is counted.
#[inline(never)]
fn synchronizations(mut benched: BenchedWindow) -> BenchedWindow {
    for _ in 0..benched.rounds() {
        benched.synchronize();
    }
    black_box(benched)
}

fn access(ranks: u32, targets: u32, pending: u32) -> BenchedWindow {
    BenchedWindow::new(ranks, targets, pending, Flags::default(), false)
}

fn active(pending: u32) -> BenchedWindow {
    BenchedWindow::new(2, 1, pending, Flags::ALL, false)
}

fn exposure(ranks: u32, targets: u32, pending: u32) -> BenchedWindow {
    BenchedWindow::new(ranks, targets, pending, Flags::default(), true)
}

fn exposed(pending: u32) -> BenchedWindow {
    BenchedWindow::new(2, 1, pending, Flags::ALL, true)
}

#[library_benchmark]
#[bench::two_ranks(access(2, 1, 1))]
#[bench::a_thousand_ranks(access(1024, 1, 1))]
#[bench::a_thousand_targets(access(1025, 1024, 1))]
#[bench::a_thousand_deferred(access(2, 1, 1024))]
#[bench::a_thousand_active(active(1024))]
fn accesses(benched: BenchedWindow) -> BenchedWindow {
    synchronizations(benched)
}

#[library_benchmark]
#[bench::two_ranks(exposure(2, 1, 1))]
#[bench::a_thousand_ranks(exposure(1024, 1, 1))]
#[bench::a_thousand_origins(exposure(1025, 1024, 1))]
#[bench::a_thousand_deferred(exposure(2, 1, 1024))]
#[bench::a_thousand_active(exposed(1024))]
fn exposures(benched: BenchedWindow) -> BenchedWindow {
    synchronizations(benched)
}

library_benchmark_group!(name = synchronization, benchmarks = [accesses, exposures]);
main!(
    config = LibraryBenchmarkConfig::default().tool(
        Callgrind::default()
            .entry_point(EntryPoint::Custom("*::synchronizations".to_owned()))
            .hard_limits([(EventKind::Ir, INSTRUCTIONS_MAX)])
    ),
    library_benchmark_groups = synchronization
);
