//! The verification of one scenario: explores it, finds shortest counterexamples, and reports.

use crate::applicable::is_applicable;
use crate::explain::explain;
use crate::explore::{Limits, Stopped, explore};
use crate::explorer::{Explore, Explorer};
use crate::model::Settings;
use crate::program::Job;
use crate::rendezvous::{Rendezvous, WithProtocol, with_every_rule, with_protocol};
use crate::report::{CheckReport, Report, VERSION, Verdict};
use crate::rules::NoSuchRule;
use crate::scenario::{JobError, job};
use crate::shortest::shorten;
use crate::weakest::Order;
use carrousel_program::aspects;
use carrousel_rank::Protocol;
use carrousel_scenario::{Check, Scenario};
use std::sync::Arc;
use std::time::Instant;

/// What to verify, how, and how far.
#[derive(Clone)]
pub struct Request<'a> {
    /// Under the weakest MPI.
    pub portable: bool,
    /// Bounds.
    pub limits: Limits<'a>,
    /// The most states of the searches for shortest counterexamples, if not the usual number.
    pub shortest_states: Option<u64>,
    /// The protocol under the messages.
    pub rendezvous: Rendezvous,
    /// A rule that is switched off; under the weakest MPI perhaps one of its orders.
    pub without: Option<String>,
    /// Leave out orders that make no difference.
    pub reduce: bool,
}

impl Default for Request<'_> {
    fn default() -> Self {
        Self {
            portable: false,
            limits: Limits::default(),
            shortest_states: None,
            rendezvous: Rendezvous::default(),
            without: None,
            reduce: true,
        }
    }
}

/// Why a scenario was not explored.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It holds something that cannot be explored.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The rule to switch off does not exist.
    #[error(transparent)]
    Rule(#[from] NoSuchRule),
    /// The Explorer shows only the rules that run in production: each further rule set is more code to compile.
    #[error("the Explorer shows the protocols with every rule on: leave out `--without` or `--explore`")]
    ExploreWithout,
}

/// Appended to a counterexample that is not known to be a shortest one.
fn maybe_shorter(limits: &Limits<'_>, bound: u64) -> String {
    match limits.is_interrupted() {
        true => " There may be a shorter way: the search for it was interrupted.".to_owned(),
        false => format!(
            " There may be a shorter way: the search for it has ended at its bound of {bound} states, which \
             `--shortest-states` raises."
        ),
    }
}

/// Verifies a scenario.
///
/// # Errors
/// When it cannot be explored; a violated check is not an error.
pub fn check(scenario: &Scenario, request: &Request<'_>) -> Result<Report, Error> {
    let job = job(scenario, request.portable)?;
    // Under the weakest MPI, an order that it keeps can be switched off as well.
    let (order, rule) = match request.without.as_deref() {
        Some(name) if request.portable => match name.parse::<Order>() {
            Ok(order) => (Some(order), None),
            Err(_) => (None, Some(name)),
        },
        rule => (None, rule),
    };
    let (reduce, portable) = (request.reduce, request.portable);
    let settings = Settings { reduce, portable, without: order, ..Settings::default() };
    let checks_rules = rule.is_some();
    let (limits, shortest_states) = (request.limits, request.shortest_states);
    let checking = Checking { job, scenario, limits, shortest_states, checks_rules };
    Ok(with_protocol(request.rendezvous, rule, settings, checking)?)
}

/// The states of a scenario, for a person who walks through them.
///
/// # Errors
/// When the scenario cannot be explored.
pub fn explorer(scenario: &Scenario, request: &Request<'_>) -> Result<Box<dyn Explore>, Error> {
    if request.without.is_some() {
        return Err(Error::ExploreWithout);
    }
    let job = job(scenario, request.portable)?;
    let settings = Settings { reduce: request.reduce, portable: request.portable, ..Settings::default() };
    Ok(with_every_rule(request.rendezvous, settings, Walking { job, scenario: scenario.clone() }))
}

struct Walking {
    job: Job,
    scenario: Scenario,
}

impl WithProtocol for Walking {
    type Output = Box<dyn Explore>;
    fn run<P: Protocol>(self, settings: Settings) -> Self::Output {
        Box::new(Explorer::<P>::new(self.job, self.scenario, settings))
    }
}

struct Checking<'a> {
    job: Job,
    scenario: &'a Scenario,
    limits: Limits<'a>,
    shortest_states: Option<u64>,
    /// A rule of the library is switched off, so that all that it does is of interest.
    checks_rules: bool,
}

impl WithProtocol for Checking<'_> {
    type Output = Report;

    fn run<P: Protocol>(self, settings: Settings) -> Report {
        let began = Instant::now();
        let jobs: Arc<[Job]> = [self.job].into();
        let mut outcome = explore::<P>(Arc::clone(&jobs), settings, &self.limits);
        // No state behind a broken promise was explored, so checks without a violation are not proven.
        let known = outcome.exhaustive && outcome.broken.is_none();
        let statements = aspects(self.scenario);
        let shortened = shorten(&jobs[0], settings, &mut outcome, &self.limits, self.shortest_states);
        let checks: Vec<CheckReport> = Check::ALL
            .into_iter()
            .map(|check| {
                let shortest = shortened.counterexamples.iter().find(|shortest| shortest.check == check);
                let counterexample = shortest.map(|shortest| {
                    let mut told =
                        explain(&jobs[0], &shortest.path, check, Some(self.scenario), settings.without);
                    if self.checks_rules {
                        told.tell_all();
                    }
                    // Of steps each of which is needed, those that are told are few, however long the way there is.
                    if !shortest.is_known {
                        let remark = maybe_shorter(&self.limits, shortened.bound);
                        told.summary.push_str(&remark);
                        // A note is about two matches, both of which are named.
                        if !shortest.is_minimal && !check.is_note() {
                            told.sentences.push_str(&remark);
                        }
                    }
                    told
                });
                let verdict = match shortest {
                    Some(_) => Verdict::Violated,
                    None if !is_applicable(check, &statements) => Verdict::NotApplicable,
                    None if known => Verdict::Proven,
                    None => Verdict::Inconclusive,
                };
                CheckReport { name: check.name(), verdict, counterexample, check }
            })
            .collect();
        Report {
            version: VERSION,
            file: self.scenario.file.clone(),
            scenario: self.scenario.title.clone().unwrap_or_else(|| self.scenario.file.clone()),
            verdict: overall(&checks),
            exhaustive: outcome.exhaustive,
            interrupted: outcome.stopped == Some(Stopped::Interrupted),
            stopped: outcome.stopped,
            ends: outcome.ends,
            states: outcome.states + shortened.states,
            transitions: outcome.generated.saturating_sub(1) + shortened.generated,
            depth: outcome.depth,
            seconds: began.elapsed().as_secs_f64(),
            checks,
        }
    }
}

/// The worst verdict, notes aside; not applicable if no check has anything to check.
fn overall(checks: &[CheckReport]) -> Verdict {
    let counts =
        |verdict: Verdict| checks.iter().any(|report| report.verdict == verdict && !report.check.is_note());
    let worst =
        [Verdict::Violated, Verdict::Inconclusive, Verdict::Proven].into_iter().find(|it| counts(*it));
    worst.unwrap_or(Verdict::NotApplicable)
}
