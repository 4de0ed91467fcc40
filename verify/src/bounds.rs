//! Bounds within which a model explores all executions.

use crate::explore::Limits;
use crate::outcome::Outcome;
use crate::rules::{AllRules, NoSuchRule, RuleSet, Rules, WithRules, with_rules};

/// The bounds of a model, which is given its rules.
pub trait Bounds: Copy {
    /// The rules that the model can show.
    const SET: RuleSet;

    /// Explores all executions within these bounds, under these rules.
    fn explore_under<R: Rules>(self, limits: &Limits<'_>) -> Outcome;

    /// Explores all executions within these bounds, with the rules as they are in production.
    fn explore(self, limits: &Limits<'_>) -> Outcome {
        self.explore_under::<AllRules>(limits)
    }

    /// Explores all executions within these bounds, with a rule off.
    ///
    /// # Errors
    /// When the set has no such rule.
    fn explore_without(self, rule: &str, limits: &Limits<'_>) -> Result<Outcome, NoSuchRule> {
        with_rules(&[Self::SET], Some(rule), Within { bounds: self, limits })
    }
}

struct Within<'a, B> {
    bounds: B,
    limits: &'a Limits<'a>,
}

impl<B: Bounds> WithRules for Within<'_, B> {
    type Output = Outcome;

    fn run<R: Rules>(self) -> Outcome {
        self.bounds.explore_under::<R>(self.limits)
    }
}
