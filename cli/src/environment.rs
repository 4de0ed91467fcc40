//! Options from `CARROUSEL_*` variables.

use crate::failure::Failure;
use crate::options::{OPTIONS, Spec};
use carrousel_scenario::{OptionSetting, OptionValue, Scenario};
use std::env;
use std::ffi::OsString;

const PREFIX: &str = "CARROUSEL_";

/// The options that the environment sets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    settings: Vec<(&'static Spec, String, OptionValue)>,
}

impl Environment {
    /// Reads the variables of this process. A misspelt one would silently not apply, so it is an error.
    pub(crate) fn read() -> Result<Self, Failure> {
        Self::of(env::vars_os())
    }

    fn of(variables: impl Iterator<Item = (OsString, OsString)>) -> Result<Self, Failure> {
        let mut settings = Vec::new();
        for (name, value) in variables {
            let name = name.to_string_lossy().into_owned();
            let Some(option) = name.strip_prefix(PREFIX) else { continue };
            let known =
                OPTIONS.iter().find(|spec| spec.name == option.to_lowercase() && spec.variable() == name);
            let Some(spec) = known else { return Err(unknown(&name)) };
            let text = value.to_string_lossy().into_owned();
            let value = spec.parse(&text).map_err(|error| Failure::wrong(format_args!("{name}: {error}")))?;
            settings.push((spec, text, value));
        }
        settings.sort_by_key(|(spec, ..)| spec.name);
        Ok(Self { settings })
    }

    /// The text that sets an option.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.settings.iter().find(|(spec, ..)| spec.name == name).map(|(_, text, _)| text.as_str())
    }

    /// What is set, `NAME VALUE` each.
    pub(crate) fn written(&self) -> Vec<String> {
        self.settings.iter().map(|(spec, text, _)| format!("{} {text}", spec.name)).collect()
    }

    /// Sets in a scenario what the scenario does not set itself.
    pub(crate) fn apply(&self, scenario: &mut Scenario) {
        for (spec, _, value) in &self.settings {
            let set = |setting: &OptionSetting| setting.window.is_none() && setting.name == spec.name;
            if !scenario.options.iter().any(set) {
                let (name, value) = (spec.name.to_owned(), value.clone());
                // Line 0: it stands in no line of the file.
                scenario.options.push(OptionSetting { window: None, name, value, line: 0 });
            }
        }
    }
}

fn unknown(name: &str) -> Failure {
    let failure = Failure::wrong(format_args!("the environment sets {name}, which is no option"));
    let nearest =
        OPTIONS.iter().map(Spec::variable).min_by_key(|known| strsim::damerau_levenshtein(known, name));
    match nearest.filter(|known| strsim::damerau_levenshtein(known, name) <= 4) {
        Some(known) => {
            failure.with_help(format_args!("did you mean {known}? `carrousel info` lists them all"))
        }
        None => failure.with_help("`carrousel info` lists the options"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Environment, Failure> {
        Environment::of(variables.iter().map(|(name, value)| ((*name).into(), (*value).into())))
    }

    #[test]
    fn what_the_file_sets_wins() {
        let environment =
            of(&[("CARROUSEL_EAGER_THRESHOLD", "1KiB"), ("CARROUSEL_RTR_LIMIT", "3"), ("HOME", "/")]);
        let environment = environment.expect("these are options");
        let text = b"ranks 1\noption eager_threshold 2KiB\n";
        let mut scenario = carrousel_scenario::load("x.scn", text).expect("it is a scenario");
        environment.apply(&mut scenario);
        let set: Vec<_> = scenario.options.iter().map(|o| (o.name.as_str(), o.value.clone())).collect();
        let expected = [("eager_threshold", OptionValue::Size(2048)), ("rtr_limit", OptionValue::Integer(3))];
        assert_eq!(set, expected);
    }

    #[test]
    fn a_misspelt_variable_is_an_error() {
        assert!(of(&[("CARROUSEL_EAGER_TRESHOLD", "1KiB")]).is_err());
        assert!(of(&[("CARROUSEL_eager_threshold", "1KiB")]).is_err());
        assert!(of(&[("CARROUSEL_RTR_LIMIT", "-1")]).is_err());
    }
}
