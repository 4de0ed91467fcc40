//! The rules of the protocols, as their register states them.

use crate::failure::Failure;
use carrousel_verify::rules::RULES;
use serde::{Deserialize, Serialize};

/// The register, which stands beside the code of the rules.
const REGISTER: &str = include_str!("../../protocols/rendezvous/rules.toml");

/// One rule that can be switched off.
#[derive(Clone, Debug, Serialize)]
pub struct Rule {
    /// The rule set.
    pub protocol: String,
    /// The name, for `--without`.
    pub id: String,
    /// Where it comes from.
    pub source: String,
    /// What it says.
    pub says: String,
}

#[derive(Deserialize)]
struct Register {
    rule: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    #[serde(default)]
    protocol: Option<String>,
    source: String,
    says: String,
}

/// All rules, in the order of the checker's table.
pub fn all() -> Result<Vec<Rule>, Failure> {
    let register: Register = toml::from_str(REGISTER)
        .map_err(|error| Failure::wrong(format_args!("the register of rules cannot be read: {error}")))?;
    let rule = |(set, id): &(carrousel_verify::rules::RuleSet, &str)| {
        let constant = id.split('=').next().unwrap_or(id);
        let of = |entry: &&Entry| {
            (entry.id == *id || entry.id == constant)
                && entry.protocol.as_deref().is_none_or(|protocol| protocol == set.name())
        };
        let entry = register.rule.iter().find(of);
        Rule {
            protocol: set.name().to_owned(),
            id: (*id).to_owned(),
            source: entry.map_or_else(String::new, |entry| entry.source.clone()),
            says: entry.map_or_else(String::new, |entry| entry.says.clone()),
        }
    };
    Ok(RULES.iter().map(rule).collect())
}
