//! The rules of all protocols as one type, and a type in which one of them is off.
//!
//! The rules of a protocol are functions of a trait, which all say in production what the protocol needs. A [`Rules`]
//! bundles one implementation of each such trait. An exploration is generic over a bundle, and gives each model the
//! associated type of its protocol. There are two bundles: [`AllRules`] has the types of production; in the other one,
//! a rule is off that is named at run time. So a model is compiled twice, however many rules its protocol has.
//!
//! A further protocol, or rule, is a line of `protocols!`. Only the checker has types with a rule off.

mod environment;
mod set;
mod switches;

pub use environment::{AllEnvironmentRules, EnvironmentRules};
pub use set::RuleSet;
pub use switches::{AllRules, RULES, RuleType, Rules};
use switches::{OneOff, while_off};

/// Something to be done under rules that are only known at run time.
pub trait WithRules {
    /// What comes of it.
    type Output;
    /// Does it.
    fn run<R: Rules>(self) -> Self::Output;
}

/// No such rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {} rules have no rule `{rule}`{}", names(.sets), .suggestion.map_or(String::new(), |name| format!(": did you mean `{name}`?")))]
pub struct NoSuchRule {
    /// The rule sets.
    pub sets: Vec<RuleSet>,
    /// What was asked for.
    pub rule: String,
    /// The nearest name.
    pub suggestion: Option<&'static str>,
}

fn names(sets: &[RuleSet]) -> String {
    sets.iter().map(|set| set.name()).collect::<Vec<_>>().join(" and ")
}

/// Does something under all rules but the one that `without` names, which is of one of these sets.
///
/// # Errors
/// When there is no such rule.
pub fn with_rules<W: WithRules>(
    sets: &[RuleSet],
    without: Option<&str>,
    with: W,
) -> Result<W::Output, NoSuchRule> {
    let Some(rule) = without else { return Ok(with.run::<AllRules>()) };
    if let Some(at) = RULES.iter().position(|(set, name)| *name == rule && sets.contains(set)) {
        return Ok(while_off(at, || with.run::<OneOff>()));
    }
    let distance = |name: &&str| strsim::damerau_levenshtein(name, &rule.to_uppercase());
    let names = RULES.iter().filter(|(set, _)| sets.contains(set)).map(|(_, name)| *name);
    let suggestion = names.min_by_key(distance).filter(|name| distance(name) <= 4);
    Err(NoSuchRule { sets: sets.to_vec(), rule: rule.to_owned(), suggestion })
}

#[cfg(test)]
mod tests {
    use super::switches::values;
    use super::*;
    use std::collections::BTreeSet;

    struct Described;
    impl WithRules for Described {
        type Output = Vec<(&'static str, String)>;
        fn run<R: Rules>(self) -> Self::Output {
            values::<R>()
        }
    }

    fn described(without: Option<(RuleSet, &str)>) -> Vec<(&'static str, String)> {
        let set: Vec<RuleSet> = without.iter().map(|(set, _)| *set).collect();
        with_rules(&set, without.map(|(_, rule)| rule), Described).expect("it is in the table")
    }

    #[test]
    fn an_ablation_is_off_in_one_rule() {
        let all = described(None);
        assert_eq!(all.len(), RULES.len());
        for ((set, rule), (function, _)) in RULES.iter().zip(&all) {
            assert_eq!(rule.split('=').next(), Some(function.to_uppercase().as_str()));
            let others = described(Some((*set, rule)));
            let off = others.iter().zip(&all).filter(|(one, all)| one != all).map(|(one, _)| one.0);
            // A rule that can be misread in several ways is there once for each.
            let off: BTreeSet<&str> = off.collect();
            assert_eq!(off, [*function].into(), "{} {rule}", set.name());
        }
        assert_eq!(described(None), all, "what was off is on again");
    }

    /// Each with its own rule off: one waits for the other.
    #[test]
    fn searches_on_several_threads_have_their_own_rule_off() {
        let alone: Vec<_> = RULES.iter().map(|rule| described(Some(*rule))).collect();
        std::thread::scope(|scope| {
            for (rule, alone) in RULES.iter().zip(&alone) {
                scope.spawn(move || (0..100).for_each(|_| assert_eq!(described(Some(*rule)), *alone)));
            }
        });
    }

    #[test]
    fn no_rule_is_in_the_table_twice() {
        let rules: BTreeSet<(&str, &str)> = RULES.iter().map(|(set, rule)| (set.name(), *rule)).collect();
        assert_eq!(rules.len(), RULES.len());
    }

    #[test]
    fn a_rule_is_sought_in_the_sets_that_are_named() {
        let refused =
            |sets: &[RuleSet], rule| with_rules(sets, Some(rule), Described).err().map(|e| e.to_string());
        assert_eq!(refused(&[RuleSet::Mirror, RuleSet::Connection], "TELL_AGAIN"), None);
        let text = "the mirror rules have no rule `TELL_AGAIN`";
        assert_eq!(refused(&[RuleSet::Mirror], "TELL_AGAIN").as_deref(), Some(text));
        let text = "the mirror and connection rules have no rule `tel_again`: did you mean `TELL_AGAIN`?";
        assert_eq!(refused(&[RuleSet::Mirror, RuleSet::Connection], "tel_again").as_deref(), Some(text));
    }
}
