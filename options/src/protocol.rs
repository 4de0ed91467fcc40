//! Converts options to the options of the protocols.

use crate::registry::speculation;
use carrousel_rank::Options;
use carrousel_scenario::{OptionSetting, OptionValue};
use carrousel_schedule::{Measured, Threshold};

/// The protocols' options: those that are set, by a scenario for instance, have their values, the others those of
/// `base`. A number beyond its range becomes the largest allowed: [`OptionEntry::check`](crate::OptionEntry::check)
/// reports it.
pub fn protocol(set: &[OptionSetting], base: Options) -> Options {
    of_engine(set).fold(base, |options, setting| with_option(options, &setting.name, &setting.value))
}

/// From which size on a copy within a node waits for an epoch's transfers to other nodes, where a copy and a post take
/// this long.
pub fn copies_threshold(set: &[OptionSetting], costs: Measured) -> Threshold {
    let option = of_engine(set).find(|setting| setting.name == "intra_defer_threshold");
    match option.map(|setting| &setting.value) {
        Some(OptionValue::Size(bytes)) => Threshold(*bytes),
        Some(_) => Threshold::measured(costs),
        None => Threshold::default(),
    }
}

fn of_engine(set: &[OptionSetting]) -> impl Iterator<Item = &OptionSetting> {
    set.iter().filter(|setting| setting.window.is_none())
}

/// Sets this option, if it is one of the protocols'.
pub(crate) fn with_option(options: Options, name: &str, value: &OptionValue) -> Options {
    match (name, value) {
        ("eager_threshold", OptionValue::Size(bytes)) => Options { eager_threshold: *bytes, ..options },
        ("eager_window", OptionValue::Size(bytes)) => Options { eager_window: *bytes, ..options },
        ("speculation", OptionValue::Word(word)) => Options { speculation: speculation(word), ..options },
        ("rtr_limit", OptionValue::Integer(limit)) => {
            Options { rtr_limit: u16::try_from(*limit).unwrap_or(u16::MAX), ..options }
        }
        _ => options,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrousel_rank::Speculation;

    #[test]
    fn a_scenario_sets_some_and_the_base_the_others() {
        let text = b"ranks 1\noption speculation off\noption rtr_limit 70000\n";
        let scenario = carrousel_scenario::load("x.scn", text).expect("it is a scenario");
        let options = protocol(&scenario.options, Options { eager_threshold: 5, ..Options::default() });
        let expected = Options {
            eager_threshold: 5,
            speculation: Speculation::Off,
            rtr_limit: u16::MAX,
            ..Options::default()
        };
        assert_eq!(options, expected);
    }
}
