//! The register of rules, the code, and the ablations are complete: each rule of one is in the others.

use carrousel_tests::{files, root, text};
use carrousel_verify::rules::{RULES, RuleSet};
use carrousel_verify::suite::ABLATIONS;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct Register {
    rule: Vec<Rule>,
}

#[derive(Deserialize)]
struct Rule {
    /// The rule set, where a protocol has several.
    #[serde(default)]
    set: String,
    /// The function in the code, in capitals.
    id: String,
    /// Where it was published, or that it was not.
    source: String,
    /// What it demands.
    says: String,
    /// What shows that it is needed: what to switch off, separated by commas.
    #[serde(default)]
    ablation: String,
    /// Why nothing can show it.
    #[serde(default)]
    because: String,
    /// What guards it.
    property: String,
}

/// The protocols that have rules, each with its register. A register of rules must be there.
fn registers() -> Vec<(PathBuf, Register)> {
    let protocols = fs::read_dir(root().join("protocols")).expect("there are protocols");
    let mut registers = Vec::new();
    for entry in protocols {
        let directory = entry.expect("it can be read").path();
        if !directory.is_dir() || rules_of(&directory).is_empty() {
            continue;
        }
        let path = directory.join("rules.toml");
        let register = toml::from_str(&text(&path));
        registers.push((directory, register.unwrap_or_else(|error| panic!("{}: {error}", path.display()))));
    }
    assert!(!registers.is_empty(), "no protocol has rules");
    registers
}

fn source_text(directory: &Path) -> String {
    files(directory, "rs").iter().map(text).collect()
}

/// The functions of the traits called `...Rules`, in capitals: one for each rule that can be switched off.
fn rules_of(directory: &Path) -> BTreeSet<String> {
    let source = source_text(&directory.join("src"));
    let mut rules = BTreeSet::new();
    let mut inside = false;
    for line in source.lines() {
        if line.starts_with("pub trait ") {
            inside = line.split([':', ' ', '{']).any(|word| word.ends_with("Rules"));
        } else if line == "}" {
            inside = false;
        } else if let Some(rest) = line.trim().strip_prefix("fn ")
            && inside
        {
            rules.extend(rest.split_once("() -> ").map(|(name, _)| name.to_uppercase()));
        }
    }
    rules
}

#[test]
fn every_rule_in_the_code_is_registered() {
    for (directory, register) in registers() {
        let registered: BTreeSet<&str> = register.rule.iter().map(|rule| rule.id.as_str()).collect();
        for rule in rules_of(&directory) {
            let known = registered.contains(rule.as_str())
                || registered.iter().any(|id| id.starts_with(&format!("{rule}=")));
            assert!(known, "{}: {rule} is not in rules.toml", directory.display());
        }
    }
}

/// Rules that a driver, the kernel or the network keeps: the protocol that relies on one registers it.
#[test]
fn every_rule_of_the_environment_is_registered() {
    let registers = registers();
    let rules = rules_of(&root().join("verify"));
    assert!(!rules.is_empty(), "the rules of the environment have another place");
    for kept in rules {
        let known = registers.iter().flat_map(|(_, register)| &register.rule).any(|rule| rule.id == kept);
        assert!(known, "{kept} of the environment is in no rules.toml");
    }
}

#[test]
fn every_registered_rule_is_in_the_code() {
    for (directory, register) in registers() {
        let source = source_text(&directory.join("src")) + &source_text(&root().join("verify/src"));
        for rule in &register.rule {
            let function = rule.id.split('=').next().unwrap_or(&rule.id).to_lowercase();
            let word = |text: &str| {
                let is_part = |c: char| c.is_alphanumeric() || c == '_';
                text.split(|c| !is_part(c)).any(|found| found == function)
            };
            assert!(word(&source), "{}: {} is not in the code", directory.display(), rule.id);
        }
    }
}

#[test]
fn every_rule_says_what_it_demands_and_where_it_comes_from() {
    for (directory, register) in registers() {
        for Rule { id, source, says, property, .. } in &register.rule {
            let place = directory.display();
            assert!(!source.trim().is_empty(), "{place}: {id} has no source");
            assert!(says.split_whitespace().count() >= 4, "{place}: {id} says too little");
            assert!(!property.trim().is_empty(), "{place}: {id} has no property that guards it");
        }
    }
}

#[test]
fn every_rule_has_an_ablation_or_a_reason_why_not() {
    for (directory, register) in registers() {
        for Rule { set, id, ablation, because, .. } in &register.rule {
            let place = directory.display();
            assert!(
                ablation.is_empty() != because.is_empty(),
                "{place}: {id} of {set}: an ablation, or `because`"
            );
            for name in ablation.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                let exists = ABLATIONS.iter().any(|known| known.rule == name && known.set().name() == set);
                assert!(exists, "{place}: the suite has no ablation `{name}` of the {set} rules");
            }
        }
    }
}

#[test]
fn every_ablation_is_of_a_registered_rule() {
    let registers = registers();
    let named = |set: &str, name: &str| {
        let rules = registers.iter().flat_map(|(_, register)| &register.rule).filter(|rule| rule.set == set);
        rules.flat_map(|rule| rule.ablation.split(',')).any(|ablation| ablation.trim() == name)
    };
    for ablation in ABLATIONS {
        let (set, rule) = (ablation.set().name(), ablation.rule);
        assert!(named(set, rule), "no register names the ablation `{rule}` of the {set} rules");
    }
}

#[test]
fn every_rule_can_be_switched_off() {
    for (_, register) in registers() {
        for Rule { set, id, .. } in &register.rule {
            let is_it = |(of, name): &(RuleSet, &str)| of.name() == set && name.split('=').next() == Some(id);
            assert!(RULES.iter().any(is_it), "the checker cannot switch {id} of the {set} rules off");
        }
    }
}
