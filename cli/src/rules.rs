//! The rules of the protocols, as their register states them.

use crate::failure::Failure;
use carrousel_verify::rendezvous::Rendezvous;
use carrousel_verify::rules::{RULES, RuleSet};
use serde::{Deserialize, Serialize};

/// The register, next to the code of the rules.
const REGISTER: &str = include_str!("../../protocols/rendezvous/rules.toml");

/// One rule that `verify --without` can switch off.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Rule {
    /// The rule set.
    pub(crate) protocol: String,
    /// The name, for `--without`.
    pub(crate) id: String,
    /// Its number in the rule set.
    pub(crate) name: String,
    /// Where it comes from.
    pub(crate) source: String,
    /// Its sentence.
    pub(crate) says: String,
}

#[derive(Deserialize)]
struct Register {
    rule: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    set: String,
    id: String,
    name: String,
    source: String,
    says: String,
}

/// All rules, in the order of the checker's table.
pub(crate) fn all() -> Result<Vec<Rule>, Failure> {
    let register: Register = toml::from_str(REGISTER)
        .map_err(|error| Failure::wrong(format_args!("the register of rules cannot be read: {error}")))?;
    let rule = |(set, id): &(RuleSet, &str)| {
        // A rule that can be misread in several ways stands once in the register.
        let constant = id.split('=').next().unwrap_or(id);
        let entry = register.rule.iter().find(|entry| entry.set == set.name() && entry.id == constant);
        let text =
            |field: fn(&Entry) -> &String| entry.map_or_else(String::new, |entry| field(entry).clone());
        Rule {
            protocol: set.name().to_owned(),
            id: (*id).to_owned(),
            name: text(|entry| &entry.name),
            source: text(|entry| &entry.source),
            says: text(|entry| &entry.says),
        }
    };
    let sets = Rendezvous::ALL.map(Rendezvous::rule_set);
    Ok(RULES.iter().filter(|(set, _)| sets.contains(set)).map(rule).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_that_can_be_switched_off_says_what_it_demands() {
        let rules = all().expect("the register can be read");
        for Rule { protocol, id, name, says, .. } in &rules {
            assert!(!says.is_empty() && !name.is_empty(), "{protocol} {id}");
        }
    }
}
