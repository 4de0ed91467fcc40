//! Verifying one scenario: explore, find the shortest counterexamples, report.

use crate::explain::explain;
use crate::explore::{Limits, explore, explore_for_shorter};
use crate::model::{Model, Settings};
use crate::program::Job;
use crate::report::{CheckReport, Report, Verdict};
use crate::rules::{NoSuchRule, RuleSet, WithProtocol, with_every_rule, with_rules};
use crate::scenario::{Refusal, job};
use carrousel_rank::Protocol;
use carrousel_scenario::{Check, Scenario};
use stateright::Model as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

/// What to verify, how, and how far.
#[derive(Clone)]
pub struct Request<'a> {
    /// Under the weakest MPI.
    pub portable: bool,
    /// Bounds.
    pub limits: Limits<'a>,
    /// The protocol under the messages.
    pub rule_set: RuleSet,
    /// A rule that is switched off.
    pub without: Option<String>,
    /// Leave out orders that make no difference.
    pub reduce: bool,
}

impl Default for Request<'_> {
    fn default() -> Self {
        Self {
            portable: false,
            limits: Limits::default(),
            rule_set: RuleSet::default(),
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
    Refused(#[from] Refusal),
    /// The rule to switch off does not exist.
    #[error(transparent)]
    Rule(#[from] NoSuchRule),
    /// The Explorer shows the rules that run in production; there is one less of each type to compile.
    #[error("the Explorer shows the protocols with every rule on: leave out `--without` or `--explore`")]
    ExploreWithout,
    /// The address to serve at cannot be used.
    #[error("cannot serve at {address}: {reason}")]
    Address {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        reason: String,
    },
}

/// Work of an unreduced search for shorter counterexamples: states, at most, times the square of half the
/// ranks. A state is as large as there are ranks, and states of many ranks differ in what most of them do,
/// so that the search does not come far.
const SHORTENING_WORK: u64 = 400_000;

/// Verifies a scenario.
///
/// # Errors
/// When it cannot be explored; a violated check is not an error.
pub fn check(scenario: &Scenario, request: &Request<'_>) -> Result<Report, Error> {
    let job = job(scenario, request.portable)?;
    let settings = Settings { reduce: request.reduce, portable: request.portable, ..Settings::default() };
    let checking = Checking { job, scenario, limits: request.limits };
    Ok(with_rules(request.rule_set, request.without.as_deref(), settings, checking)?)
}

/// Serves stateright's Explorer over a scenario, for ever.
///
/// # Errors
/// When the scenario cannot be explored or the address not be used.
pub fn serve(scenario: &Scenario, request: &Request<'_>, address: SocketAddr) -> Result<(), Error> {
    if request.without.is_some() {
        return Err(Error::ExploreWithout);
    }
    let job = job(scenario, request.portable)?;
    // stateright's server ends the process where it cannot listen; ask first.
    std::net::TcpListener::bind(address)
        .map_err(|error| Error::Address { address, reason: error.to_string() })?;
    let settings = Settings { reduce: request.reduce, portable: request.portable, ..Settings::default() };
    with_every_rule(request.rule_set, settings, Serving { job, address });
    Ok(())
}

struct Serving {
    job: Job,
    address: SocketAddr,
}

impl WithProtocol for Serving {
    type Output = ();
    fn run<P: Protocol>(self, settings: Settings) {
        Model::<P>::new([self.job].into(), settings).checker().serve(self.address);
    }
}

struct Checking<'a> {
    job: Job,
    scenario: &'a Scenario,
    limits: Limits<'a>,
}

impl WithProtocol for Checking<'_> {
    type Output = Report;

    fn run<P: Protocol>(self, settings: Settings) -> Report {
        let began = Instant::now();
        let jobs: Arc<[Job]> = [self.job].into();
        let outcome = explore::<P>(Arc::clone(&jobs), settings, &self.limits);
        // Behind a broken promise nothing was explored: what was not found there is not known.
        let known = outcome.exhaustive && outcome.broken.is_none();
        let again = (!outcome.violations.is_empty()).then(|| {
            let half = (jobs[0].ranks.len() as u64).div_ceil(2).max(1);
            let limits = Limits { max_states: Some(SHORTENING_WORK / (half * half)), ..self.limits };
            let paths = outcome.violations.iter().map(|(_, path)| path);
            explore_for_shorter(jobs[0].clone(), settings, paths, &limits)
        });
        let checks: Vec<CheckReport> = Check::ALL
            .into_iter()
            .map(|check| {
                let path =
                    outcome.violations.iter().find(|(violated, _)| *violated == check).map(|(_, path)| path);
                let counterexample = path.map(|path| {
                    let again = again.iter().flat_map(|again| &again.violations);
                    let found = again.filter(|(violated, _)| *violated == check).map(|(_, path)| path);
                    let path = found.chain([path]).min_by_key(|path| path.steps.len()).unwrap_or(path);
                    explain(&jobs[0], path, check, Some(self.scenario))
                });
                let verdict = match path {
                    Some(_) => Verdict::Violated,
                    None if known => Verdict::Proven,
                    None => Verdict::Inconclusive,
                };
                CheckReport { name: check.name(), verdict, counterexample, check }
            })
            .collect();
        Report {
            scenario: self.scenario.title.clone().unwrap_or_else(|| self.scenario.file.clone()),
            verdict: overall(&checks),
            exhaustive: outcome.exhaustive,
            states: outcome.states,
            transitions: outcome.generated.saturating_sub(1),
            depth: outcome.depth,
            seconds: began.elapsed().as_secs_f64(),
            checks,
        }
    }
}

/// The worst verdict, notes aside.
fn overall(checks: &[CheckReport]) -> Verdict {
    let counts =
        |verdict: Verdict| checks.iter().any(|report| report.verdict == verdict && !report.check.is_note());
    if counts(Verdict::Violated) {
        Verdict::Violated
    } else if counts(Verdict::Inconclusive) {
        Verdict::Inconclusive
    } else {
        Verdict::Proven
    }
}
