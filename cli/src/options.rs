//! The registry of options: name, what it takes, default, range, and what it is for.
//!
//! A scenario sets an option with an `option` line, the environment with `CARROUSEL_<NAME>`; the file
//! wins, because what it says is part of the pattern.

use crate::numbers;
use carrousel_rank::{Options, Speculation};
use carrousel_scenario::{OptionSetting, OptionValue, units};

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Bytes.
    Size,
    /// A number between these two.
    Integer(i64, i64),
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec {
    /// As in a scenario.
    pub(crate) name: &'static str,
    /// What it takes.
    pub(crate) kind: Kind,
    /// What it is for.
    pub(crate) doc: &'static str,
    /// The default, as text.
    pub(crate) default: fn(&Options) -> String,
}

/// All of them.
pub(crate) const OPTIONS: [Spec; 3] = [
    Spec {
        name: "eager_threshold",
        kind: Kind::Size,
        doc: "the largest message that a standard send sends without waiting (sim: the network's, unless set)",
        default: |options| units::size(options.eager_threshold),
    },
    Spec {
        name: "speculation",
        kind: Kind::Choice(&["off", "always", "adaptive"]),
        doc: "when receives are announced to senders: never, whenever it is safe, or while it pays",
        default: |options| {
            match options.speculation {
                Speculation::Off => "off",
                Speculation::Always => "always",
                Speculation::Adaptive => "adaptive",
            }
            .to_owned()
        },
    },
    Spec {
        name: "rtr_limit",
        kind: Kind::Integer(0, u16::MAX as i64),
        doc: "the most announced receives outstanding towards one peer",
        default: |options| options.rtr_limit.to_string(),
    },
];

impl Spec {
    /// The variable that sets it.
    pub(crate) fn variable(&self) -> String {
        format!("CARROUSEL_{}", self.name.to_uppercase())
    }

    /// What values there are, for a person.
    pub(crate) fn range(&self) -> String {
        match self.kind {
            Kind::Size => "a size".to_owned(),
            Kind::Integer(least, most) => format!("{least} to {most}"),
            Kind::Choice(words) => words.join(", "),
        }
    }

    /// A value from text.
    pub(crate) fn parse(&self, text: &str) -> Result<OptionValue, String> {
        let wrong = || format!("`{text}` is no value of {}; it takes {}", self.name, self.range());
        match self.kind {
            Kind::Size => numbers::parse_size(text).map(OptionValue::Size),
            Kind::Integer(least, most) => match text.parse() {
                Ok(number) if (least..=most).contains(&number) => Ok(OptionValue::Integer(number)),
                _ => Err(wrong()),
            },
            Kind::Choice(words) if words.contains(&text) => Ok(OptionValue::Word(text.to_owned())),
            Kind::Choice(_) => Err(wrong()),
        }
    }
}

/// Whether a file sets an option within its range; the language knows only its kind.
pub(crate) fn check(setting: &OptionSetting) -> Result<(), String> {
    let spec = OPTIONS.iter().find(|spec| setting.window.is_none() && spec.name == setting.name);
    match (spec.map(|spec| spec.kind), &setting.value) {
        (Some(Kind::Integer(least, most)), OptionValue::Integer(value))
            if !(least..=most).contains(value) =>
        {
            Err(format!("`{}` is {value}, expected {least} to {most}", setting.name))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrousel_scenario::{OptionKind, Vocabulary};

    fn named(name: &str) -> &'static Spec {
        OPTIONS.iter().find(|spec| spec.name == name).expect("it is registered")
    }

    #[test]
    fn the_registry_and_the_language_know_the_same_options() {
        let language = Vocabulary::default().engine;
        assert_eq!(language.len(), OPTIONS.len());
        for option in &language {
            let spec = named(&option.name);
            let same = match (&option.kind, spec.kind) {
                (OptionKind::Size, Kind::Size) | (OptionKind::Integer, Kind::Integer(..)) => true,
                (OptionKind::Choice(words), Kind::Choice(known)) => words.iter().eq(known),
                _ => false,
            };
            assert!(same, "{}", option.name);
        }
    }

    #[test]
    fn every_default_is_a_value() {
        for spec in OPTIONS {
            assert!(spec.parse(&(spec.default)(&Options::default())).is_ok(), "{}", spec.name);
        }
    }

    #[test]
    fn what_is_no_value_is_refused() {
        for (name, text) in [("eager_threshold", "big"), ("speculation", "on"), ("rtr_limit", "70000")] {
            let spec = named(name);
            assert!(spec.parse(text).is_err(), "{name}={text}");
        }
    }
}
