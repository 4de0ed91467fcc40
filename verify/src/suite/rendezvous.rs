//! The rendezvous suite: every program of two ranks up to a bound, and of three.
//!
//! Masks are those of tags of two bits: every tag, each bit ignored, and any tag. They make many kinds of receives, so their
//! programs are short: up to 2 x 2 with eager and rendezvous sizes, 2 x 3 with announced messages only. What is claimed is
//! received, or discarded, at every moment from then on; those programs are explored without reduction.

use super::families::{
    Kinds, ProgramFamily, both_ways, cancels, claims, claims_of_two, one_way, placements, two_senders,
};
use super::space::{Words, job};
use super::{SuiteReport, SuiteRow, SuiteSettings, VERSION};
use crate::explain::explain;
use crate::explore::{Limits, Path, explore};
use crate::model::Settings;
use crate::program::Job;
use crate::rendezvous::{Rendezvous, WithProtocol, with_protocol};
use crate::report::Verdict;
use crate::search::CoverPoint;
use crate::shortest::shorten_broken;
use carrousel_rank::Protocol;
use carrousel_scenario::Check;
use std::sync::Arc;
use std::time::Instant;

/// Programs that are explored together: enough to keep the threads busy, few enough for memory.
const BATCH: usize = 2048;

/// Truncation: messages that are longer than their receive, eager and not.
const TRUNCATING: Kinds = Kinds { send_lens: &[1, 2, 3], receive_lens: &[0, 1, 2, 3], ..Kinds::ONE_TAG };
const ONE_TAG_AND_ANY: Kinds = Kinds { any_tag: true, ..Kinds::ONE_TAG };
const ANY_SOURCE: Kinds = Kinds { any_source: true, ..ONE_TAG_AND_ANY };
/// Sizes of receives where programs are many: only announced ones. Small ones are explored with fewer calls.
const LARGE_MASKS: Kinds = Kinds { send_lens: &[2], receive_lens: &[2], ..Kinds::MASKS };
const LARGE: Kinds = Kinds { receive_lens: &[2], ..Kinds::ONE_TAG };

/// Makes a family when its turn comes, because it has many programs.
pub(super) type MakeFamily = Box<dyn Fn() -> ProgramFamily>;

fn families(full: bool) -> Vec<MakeFamily> {
    let mut families: Vec<MakeFamily> = Vec::new();
    for sent in 1..=3 {
        for received in 1..=3 {
            families.push(Box::new(move || one_way(sent, received, &Kinds::TWO_TAGS)));
        }
    }
    for (sent, received) in [(1, 2), (2, 2)] {
        families.push(Box::new(move || one_way(sent, received, &Kinds::MASKS)));
    }
    families.push(Box::new(|| one_way(2, 3, &LARGE_MASKS)));
    families.push(Box::new(|| placements(2, 3, &Kinds::TWO_TAGS)));
    families.push(Box::new(|| placements(2, 3, &ANY_SOURCE)));
    families.push(Box::new(|| cancels(2, 3, &ONE_TAG_AND_ANY)));
    families.push(Box::new(|| claims(2, 3, &Kinds::ONE_TAG)));
    families.push(Box::new(|| claims_of_two(2, &Kinds::ONE_TAG)));
    families.push(Box::new(|| placements(2, 3, &TRUNCATING)));
    families.push(Box::new(|| both_ways(2, 2, &Kinds::ONE_TAG)));
    families.push(Box::new(|| two_senders(2, 1, 3, &Kinds::ONE_TAG)));
    if full {
        families.push(Box::new(|| one_way(3, 4, &Kinds::TWO_TAGS)));
        families.push(Box::new(|| one_way(2, 3, &Kinds::MASKS)));
        families.push(Box::new(|| one_way(3, 3, &LARGE_MASKS)));
        families.push(Box::new(|| one_way(4, 5, &Kinds::ONE_TAG)));
        families.push(Box::new(|| one_way(5, 6, &LARGE)));
        families.push(Box::new(|| cancels(3, 3, &Kinds::ONE_TAG)));
        families.push(Box::new(|| one_way(3, 3, &TRUNCATING)));
        families.push(Box::new(|| both_ways(2, 2, &ONE_TAG_AND_ANY)));
        families.push(Box::new(|| two_senders(2, 2, 4, &Kinds::ONE_TAG)));
    }
    families
}

/// Explores every program of the suite under both rule sets.
pub fn rendezvous(settings: &SuiteSettings<'_>) -> SuiteReport {
    explore_families("rendezvous", families(settings.full), settings)
}

/// Explores every program of some families under both rule sets.
pub(super) fn explore_families(
    suite: &str,
    families: Vec<MakeFamily>,
    settings: &SuiteSettings<'_>,
) -> SuiteReport {
    let began = Instant::now();
    let lines = families.len() * 2;
    let mut rows = Vec::with_capacity(lines);
    'families: for (at, make) in families.iter().enumerate() {
        let family = make();
        for (place, protocol) in Rendezvous::ALL.into_iter().enumerate() {
            if let Some(began) = settings.began {
                began(&format!("{}: {}", protocol.rule_set().name(), family.name), at * 2 + place, lines);
            }
            rows.push(explore_family(&family, protocol, settings));
            if settings.limits.is_interrupted() {
                break 'families;
            }
        }
    }
    SuiteReport {
        version: VERSION,
        suite: suite.to_owned(),
        full: settings.full,
        shard: settings.shard,
        interrupted: settings.limits.is_interrupted(),
        seconds: began.elapsed().as_secs_f64(),
        rows,
    }
}

fn explore_family(family: &ProgramFamily, protocol: Rendezvous, settings: &SuiteSettings<'_>) -> SuiteRow {
    let mine: Vec<&Words> = family
        .programs
        .iter()
        .enumerate()
        .filter(|(index, _)| settings.is_mine(*index))
        .map(|(_, words)| words)
        .collect();
    let began = Instant::now();
    let mut row = SuiteRow {
        name: family.name.clone(),
        protocol: protocol.rule_set().name().to_owned(),
        source: None,
        programs: mine.len() as u64,
        programs_in_all: family.in_all,
        states: 0,
        transitions: 0,
        seconds: 0.0,
        verdict: Verdict::Proven,
        reached: CoverPoint::ALL.iter().map(|what| (what.name().to_owned(), 0)).collect(),
        must_reach: family.must_reach.iter().map(|what| what.name().to_owned()).collect(),
        counterexample: None,
    };
    for batch in mine.chunks(BATCH) {
        let found = explore_batch(batch.iter().map(|words| job(words)).collect(), protocol, None, settings);
        found.add_to(&mut row);
        if row.verdict != Verdict::Proven {
            break;
        }
    }
    row.seconds = began.elapsed().as_secs_f64();
    row
}

/// The outcome of exploring some programs.
pub(super) struct Found {
    states: u64,
    transitions: u64,
    reached: [u64; CoverPoint::ALL.len()],
    exhaustive: bool,
    /// The first broken promise, explained.
    pub(super) broken: Option<String>,
}

impl Found {
    pub(super) fn add_to(self, row: &mut SuiteRow) {
        row.states += self.states;
        row.transitions += self.transitions;
        for (what, times) in CoverPoint::ALL.iter().zip(self.reached) {
            *row.reached.entry(what.name().to_owned()).or_default() += times;
        }
        if let Some(broken) = self.broken {
            row.verdict = Verdict::Violated;
            row.counterexample = Some(broken);
        } else if !self.exhaustive {
            row.verdict = Verdict::Inconclusive;
        }
    }
}

/// Explores some programs together, with a rule off if `without` says so.
pub(super) fn explore_batch(
    jobs: Arc<[Job]>,
    protocol: Rendezvous,
    without: Option<&str>,
    settings: &SuiteSettings<'_>,
) -> Found {
    let model = Settings { reduce: settings.reduce, ..Settings::default() };
    let batch = Batch { jobs, limits: settings.limits };
    match with_protocol(protocol, without, model, batch) {
        Ok(found) => found,
        Err(error) => unreachable!("the suites name rules that exist: {error}"),
    }
}

struct Batch<'a> {
    jobs: Arc<[Job]>,
    limits: Limits<'a>,
}

impl WithProtocol for Batch<'_> {
    type Output = Found;

    fn run<P: Protocol>(self, settings: Settings) -> Found {
        let outcome = explore::<P>(Arc::clone(&self.jobs), settings, &self.limits);
        Found {
            states: outcome.states,
            transitions: outcome.generated,
            reached: outcome.reached,
            exhaustive: outcome.exhaustive,
            broken: outcome.broken.map(|path| {
                let job = &self.jobs[path.steps.first().map_or(0, |(state, _)| state.job as usize)];
                tell(job, &shorten_broken(job, settings, path, &self.limits))
            }),
        }
    }
}

/// A broken promise in words.
fn tell<P: Protocol>(job: &Job, path: &Path<P>) -> String {
    let Some((last, _)) = path.steps.last() else { return String::new() };
    let check = last
        .violations
        .iter()
        .find(|violation| violation.is_fatal())
        .map_or(Check::MatchingOrder, |violation| violation.check);
    let counterexample = explain(job, path, check, None, None);
    let steps: String = counterexample
        .told
        .iter()
        .enumerate()
        .map(|(number, step)| {
            let who = if step.who == "network" { String::new() } else { format!("{}: ", step.who) };
            format!("{:>3}. {who}{}\n", number + 1, step.what)
        })
        .collect();
    format!("{check}: {}\n{steps}\n{}", counterexample.summary, counterexample.chart.text(100, false))
}
