//! The registry: name, what it takes, default, range, and what it is for.

use crate::value::{parse_size, parse_time};
use carrousel_rank::{Options, Speculation};
use carrousel_scenario::{OptionKind, OptionSetting, OptionSpec, OptionValue, Vocabulary, units};

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes.
    Size,
    /// Bytes: a power of two between these two.
    Power(u64, u64),
    /// A time, in nanoseconds.
    Time,
    /// A number between these two.
    Integer(i64, i64),
    /// `on` or `off`.
    OnOff,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// The name of something of this machine; a scenario, which is for any machine, cannot set it.
    Name,
    /// One of these words, or a file of this machine.
    File(&'static [&'static str]),
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// As in a scenario.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What it is for.
    pub doc: &'static str,
    default: fn() -> OptionValue,
}

const SPECULATION: [&str; 3] = ["off", "always", "adaptive"];

/// The words of `verbs`.
pub(crate) const VERBS: [&str; 3] = ["auto", "off", "always"];
/// The words of `verbs_reuse_table`, which is a file otherwise.
pub(crate) const TABLES: [&str; 2] = ["off", "published"];
/// The words of `check_usage`.
pub(crate) const CHECK_USAGE: [&str; 4] = ["auto", "off", "warn", "error"];
/// The name that stands for none in particular.
pub(crate) const ANY: &str = "any";

/// The words of `speculation`.
pub(crate) fn speculation(word: &str) -> Speculation {
    match word {
        "off" => Speculation::Off,
        "always" => Speculation::Always,
        _ => Speculation::Adaptive,
    }
}

/// All of them: those of the protocols first, which simulation and proof know too.
pub const OPTIONS: [Spec; 23] = [
    Spec {
        name: "eager_threshold",
        kind: Kind::Size,
        doc: "the largest message that a standard send sends without waiting (sim: the network's, unless set; \
              run: at most what half a ring holds)",
        default: || OptionValue::Size(Options::default().eager_threshold),
    },
    Spec {
        name: "eager_window",
        kind: Kind::Size,
        doc: "how much of the eager messages to one rank, in one communicator, may be without a receive; beyond it a send \
              waits for its receive, as one of a large message does",
        default: || OptionValue::Size(Options::default().eager_window),
    },
    Spec {
        name: "speculation",
        kind: Kind::Choice(&SPECULATION),
        doc: "when receives are announced to senders: never, whenever it is safe, or while it pays",
        default: || OptionValue::Word(SPECULATION[2].to_owned()),
    },
    Spec {
        name: "rtr_limit",
        kind: Kind::Integer(0, u16::MAX as i64),
        doc: "the most announced receives outstanding towards one peer",
        default: || OptionValue::Integer(Options::default().rtr_limit.into()),
    },
    Spec {
        name: "shm_ring",
        kind: Kind::Power(1 << 12, 1 << 30),
        doc: "memory for messages on their way from one rank of a node to another, taken when they first talk; at \
              most so much that those of all ranks to one take 4MiB, but 64KiB each, and all of a node 4GiB",
        default: || OptionValue::Size(256 << 10),
    },
    Spec {
        name: "shm_direct",
        kind: Kind::OnOff,
        doc: "whether large messages are copied directly between the memory of processes, where the system \
              permits that",
        default: || OptionValue::OnOff(true),
    },
    Spec {
        name: "verbs",
        kind: Kind::Choice(&VERBS),
        doc: "which ranks talk over InfiniBand or RoCE: those of different nodes, none, or all of them",
        default: || OptionValue::Word(VERBS[0].to_owned()),
    },
    Spec {
        name: "verbs_device",
        kind: Kind::Name,
        doc: "the device, as ibv_devices names it; any: the first one with a port that is up",
        default: || OptionValue::Word(ANY.to_owned()),
    },
    Spec {
        name: "verbs_port",
        kind: Kind::Integer(0, 254),
        doc: "the port of the device; 0: the first one that is up",
        default: || OptionValue::Integer(0),
    },
    Spec {
        name: "verbs_gid",
        kind: Kind::Integer(-1, 254),
        doc: "the index of the port's global identifier; -1: that of RoCE v2 over IPv4 if there is one, or the next \
              best",
        default: || OptionValue::Integer(-1),
    },
    Spec {
        name: "verbs_sl",
        kind: Kind::Integer(0, 15),
        doc: "the service level of connections (InfiniBand), or their priority (RoCE)",
        default: || OptionValue::Integer(0),
    },
    Spec {
        name: "verbs_control_sl",
        kind: Kind::Integer(-1, 15),
        doc: "that of packets without data, which then have queue pairs of their own, and of the datagrams by which \
              connections are made; -1: the same",
        default: || OptionValue::Integer(-1),
    },
    Spec {
        name: "verbs_window",
        kind: Kind::Integer(2, 4096),
        doc: "packets that may be on their way from one peer",
        default: || OptionValue::Integer(64),
    },
    Spec {
        name: "verbs_receives",
        kind: Kind::Integer(8, 1 << 20),
        doc: "receive buffers of a rank, which all peers share; each takes an eager message",
        default: || OptionValue::Integer(512),
    },
    Spec {
        name: "verbs_cache",
        kind: Kind::OnOff,
        doc: "whether memory stays registered with the adapter when its message is over, where the adapter or the \
              kernel tells of pages that are unmapped",
        default: || OptionValue::OnOff(true),
    },
    Spec {
        name: "verbs_reuse_table",
        kind: Kind::File(&TABLES),
        doc: "after how many uses a small buffer is registered, and sent without a copy: a file that `carrousel bench \
              reuse --write` has measured on this machine, or the published table, or never",
        default: || OptionValue::Word(TABLES[0].to_owned()),
    },
    Spec {
        name: "verbs_reuse_percent",
        kind: Kind::Integer(1, 100),
        doc: "a buffer is registered after this percentage of the uses that pay, hoping for the others",
        default: || OptionValue::Integer(25),
    },
    Spec {
        name: "verbs_reuse_share",
        kind: Kind::Integer(0, 100),
        doc: "further buffers are not counted while less than this percentage of them is used often and there are \
              many; 0: all are",
        default: || OptionValue::Integer(20),
    },
    Spec {
        name: "verbs_reuse_blocking",
        kind: Kind::OnOff,
        doc: "whether a send that waits anyway sends without a copy, too: it then waits until the peer's adapter has \
              acknowledged it, which takes longer than a copy",
        default: || OptionValue::OnOff(false),
    },
    Spec {
        name: "verbs_timeout",
        kind: Kind::Integer(1, 31),
        doc: "what is not acknowledged is sent again after 4.096 us times 2 to the power of this, or up to four \
              times as long",
        default: || OptionValue::Integer(16),
    },
    Spec {
        name: "verbs_retries",
        kind: Kind::Integer(0, 6),
        doc: "how often something is sent again before its receiver is taken for lost",
        default: || OptionValue::Integer(6),
    },
    Spec {
        name: "hang_report",
        kind: Kind::Time,
        doc: "how long a rank waits in one call before it says what for; 0: never",
        default: || OptionValue::TimeNs(30_000_000_000),
    },
    Spec {
        name: "check_usage",
        kind: Kind::Choice(&CHECK_USAGE),
        doc: "what is done when ranks call different collectives, or have not received a message when they finalize: \
              nothing, a warning, or an error of the call; auto: an error in debug builds of the program, nothing in \
              others; what rank 0 is told counts for all",
        default: || OptionValue::Word(CHECK_USAGE[0].to_owned()),
    },
];

impl Spec {
    /// The option of this name.
    pub fn named(name: &str) -> Option<&'static Spec> {
        OPTIONS.iter().find(|spec| spec.name == name)
    }

    /// The variable that sets it.
    pub fn variable(&self) -> String {
        format!("CARROUSEL_{}", self.name.to_uppercase())
    }

    /// What it is unless something sets it.
    pub fn default_value(&self) -> OptionValue {
        (self.default)()
    }

    /// What values there are, for a person.
    pub fn range(&self) -> String {
        match self.kind {
            Kind::Size => "a size".to_owned(),
            Kind::Power(least, most) => {
                format!("a power of two, {} to {}", units::size(least), units::size(most))
            }
            Kind::Time => "a time".to_owned(),
            Kind::Integer(least, most) => format!("{least} to {most}"),
            Kind::OnOff => "on, off".to_owned(),
            Kind::Choice(words) => words.join(", "),
            Kind::Name => "a name".to_owned(),
            Kind::File(words) => format!("{}, a file", words.join(", ")),
        }
    }

    /// A value from text.
    ///
    /// # Errors
    /// When it is none; the error says what is.
    pub fn parse(&self, text: &str) -> Result<OptionValue, String> {
        let wrong = || format!("`{text}` is no value of {}; it takes {}", self.name, self.range());
        let value = match self.kind {
            Kind::Size | Kind::Power(..) => OptionValue::Size(parse_size(text)?),
            Kind::Time => OptionValue::TimeNs(parse_time(text)?),
            Kind::Integer(..) => OptionValue::Integer(text.parse().map_err(|_| wrong())?),
            Kind::OnOff => OptionValue::OnOff(match text {
                "on" => true,
                "off" => false,
                _ => return Err(wrong()),
            }),
            Kind::Choice(_) | Kind::Name | Kind::File(_) => OptionValue::Word(text.to_owned()),
        };
        if self.takes(&value) { Ok(value) } else { Err(wrong()) }
    }

    /// Whether a value is in range.
    fn takes(&self, value: &OptionValue) -> bool {
        match (self.kind, value) {
            (Kind::Size, OptionValue::Size(_))
            | (Kind::Time, OptionValue::TimeNs(_))
            | (Kind::OnOff, OptionValue::OnOff(_)) => true,
            (Kind::Power(least, most), OptionValue::Size(bytes)) => {
                bytes.is_power_of_two() && (least..=most).contains(bytes)
            }
            (Kind::Integer(least, most), OptionValue::Integer(number)) => (least..=most).contains(number),
            (Kind::Choice(words), OptionValue::Word(word)) => words.contains(&word.as_str()),
            (Kind::Name, OptionValue::Word(word)) => {
                !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || c.is_control())
            }
            (Kind::File(_), OptionValue::Word(word)) => !word.is_empty() && !word.contains(char::is_control),
            _ => false,
        }
    }

    /// Whether a file sets an option within its range; the language knows only its kind.
    ///
    /// # Errors
    /// When it does not; the error says what the range is.
    pub fn check(setting: &OptionSetting) -> Result<(), String> {
        let spec = Spec::named(&setting.name).filter(|_| setting.window.is_none());
        match spec {
            Some(spec) if !spec.takes(&setting.value) => {
                Err(format!("`{}` is {}, expected {}", setting.name, written(&setting.value), spec.range()))
            }
            _ => Ok(()),
        }
    }
}

/// A value as it is written.
pub(crate) fn written(value: &OptionValue) -> String {
    match value {
        OptionValue::Size(bytes) => units::size(*bytes),
        OptionValue::TimeNs(ns) => units::time(*ns),
        OptionValue::Integer(number) => number.to_string(),
        OptionValue::OnOff(on) => if *on { "on" } else { "off" }.to_owned(),
        OptionValue::Word(word) => word.clone(),
    }
}

/// The options that a scenario may set.
pub fn vocabulary() -> Vocabulary {
    let option = |spec: &Spec| {
        Some(match spec.kind {
            Kind::Size | Kind::Power(..) => OptionSpec::new(spec.name, OptionKind::Size),
            Kind::Time => OptionSpec::new(spec.name, OptionKind::Time),
            Kind::Integer(..) => OptionSpec::new(spec.name, OptionKind::Integer),
            Kind::OnOff => OptionSpec::new(spec.name, OptionKind::OnOff),
            Kind::Choice(words) => OptionSpec::choice(spec.name, words),
            Kind::Name | Kind::File(_) => return None,
        })
    };
    Vocabulary { engine: OPTIONS.iter().filter_map(option).collect(), ..Vocabulary::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_language_has_by_itself_is_registered() {
        let all = vocabulary();
        for option in Vocabulary::default().engine {
            assert!(all.engine.contains(&option), "{}", option.name);
        }
    }

    #[test]
    fn every_default_is_a_value() {
        for spec in OPTIONS {
            let text = written(&spec.default_value());
            assert_eq!(spec.parse(&text), Ok(spec.default_value()), "{}", spec.name);
        }
    }

    #[test]
    fn what_is_no_value_is_refused() {
        for (name, text) in [
            ("eager_threshold", "big"),
            ("speculation", "on"),
            ("rtr_limit", "70000"),
            ("shm_ring", "100000"),
            ("shm_ring", "16"),
            ("shm_direct", "yes"),
            ("hang_report", "30"),
            ("check_usage", "on"),
            ("verbs", "on"),
            ("verbs_device", ""),
            ("verbs_device", "rxe 0"),
            ("verbs_gid", "-2"),
            ("verbs_retries", "7"),
            ("verbs_reuse_table", ""),
            ("verbs_reuse_percent", "0"),
        ] {
            let spec = Spec::named(name).expect("it is registered");
            assert!(spec.parse(text).is_err(), "{name}={text}");
        }
    }
}
