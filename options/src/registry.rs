//! The registry: for each option its name, the kind and range of its values, its default and its purpose.

use crate::value::{parse_size, parse_time};
use carrousel_rank::epoch::Staging;
use carrousel_rank::{Options, Speculation};
use carrousel_scenario::{OptionKind, OptionSetting, OptionSpec, OptionValue, Vocabulary, units};
use carrousel_schedule::DEFAULT_THRESHOLD;

/// The values that an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Bytes.
    Size,
    /// Bytes: a power of two, from the first to the second of these.
    Power(u64, u64),
    /// A time, in nanoseconds.
    Time,
    /// An integer, from the first to the second of these.
    Integer(i64, i64),
    /// Bytes, or this word.
    SizeOr(&'static str),
    /// `on` or `off`; where no scenario sets it, also `1` or `0`.
    OnOff,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// The name of a device of this machine; a scenario, which is for any machine, cannot set it.
    Name,
    /// One of these words, or a file of this machine.
    File(&'static [&'static str]),
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct OptionEntry {
    /// Its name in a scenario.
    pub name: &'static str,
    /// The values that it takes.
    pub kind: ValueKind,
    /// Its purpose, in a line.
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
/// The word for any device.
pub(crate) const ANY: &str = "any";

/// The words of `speculation`.
pub(crate) fn speculation(word: &str) -> Speculation {
    match word {
        "off" => Speculation::Off,
        "always" => Speculation::Always,
        _ => Speculation::Adaptive,
    }
}

/// All options: first those of the protocols, which simulation and proof know too.
pub const OPTIONS: [OptionEntry; 27] = [
    OptionEntry {
        name: "eager_threshold",
        kind: ValueKind::Size,
        doc: "the largest message that a standard send sends without waiting (sim: the network's, unless set; \
              run: at most what half a ring holds)",
        default: || OptionValue::Size(Options::default().eager_threshold),
    },
    OptionEntry {
        name: "eager_window",
        kind: ValueKind::Size,
        doc: "bytes of eager messages to one rank, in one communicator, that may wait for a receive; beyond them a send \
              waits for its receive, as that of a large message does",
        default: || OptionValue::Size(Options::default().eager_window),
    },
    OptionEntry {
        name: "speculation",
        kind: ValueKind::Choice(&SPECULATION),
        doc: "when receives are announced to senders: never, whenever it is safe, or while it pays",
        default: || OptionValue::Word(SPECULATION[2].to_owned()),
    },
    OptionEntry {
        name: "rtr_limit",
        kind: ValueKind::Integer(0, u16::MAX as i64),
        doc: "the most announced receives outstanding towards one peer",
        default: || OptionValue::Integer(Options::default().rtr_limit.into()),
    },
    OptionEntry {
        name: "accumulate_eager",
        kind: ValueKind::Size,
        doc: "the largest operand of an accumulate to another node that travels with its packet; a larger one waits for a \
              buffer at its target",
        default: || OptionValue::Size(Staging::default().threshold),
    },
    OptionEntry {
        name: "accumulate_buffers",
        kind: ValueKind::Integer(1, u16::MAX as i64),
        doc: "buffers of a rank, for each window, for large operands of accumulates that are on their way to it",
        default: || OptionValue::Integer(Staging::default().buffers.into()),
    },
    OptionEntry {
        name: "intra_defer_threshold",
        kind: ValueKind::SizeOr("measured"),
        doc: "from which size on a copy to a rank of the node waits until the transfers of its epoch to other nodes are \
              posted; measured: the size whose copy takes longer than queueing it",
        default: || OptionValue::Size(DEFAULT_THRESHOLD),
    },
    OptionEntry {
        name: "shm_ring",
        kind: ValueKind::Power(1 << 12, 1 << 30),
        doc: "memory for messages in flight from one rank of a node to another, allocated when they first talk; \
              made smaller where the rings from all ranks to one would exceed 4MiB (but to no less than 64KiB each) or all \
              of a node 4GiB",
        default: || OptionValue::Size(256 << 10),
    },
    OptionEntry {
        name: "shm_direct",
        kind: ValueKind::OnOff,
        doc: "whether large messages are copied directly between the memory of processes, where the system \
              permits that",
        default: || OptionValue::OnOff(true),
    },
    OptionEntry {
        name: "verbs",
        kind: ValueKind::Choice(&VERBS),
        doc: "which ranks talk over InfiniBand or RoCE: those of different nodes, none, or all of them",
        default: || OptionValue::Word(VERBS[0].to_owned()),
    },
    OptionEntry {
        name: "verbs_device",
        kind: ValueKind::Name,
        doc: "the device, as ibv_devices names it; any: the first one with a port that is up",
        default: || OptionValue::Word(ANY.to_owned()),
    },
    OptionEntry {
        name: "verbs_port",
        kind: ValueKind::Integer(0, 254),
        doc: "the port of the device; 0: the first one that is up",
        default: || OptionValue::Integer(0),
    },
    OptionEntry {
        name: "verbs_gid",
        kind: ValueKind::Integer(-1, 254),
        doc: "the index of the port's global identifier; -1: that of RoCE v2 over IPv4 if there is one, or the next \
              best",
        default: || OptionValue::Integer(-1),
    },
    OptionEntry {
        name: "verbs_sl",
        kind: ValueKind::Integer(0, 15),
        doc: "the service level of connections (InfiniBand), or their priority (RoCE)",
        default: || OptionValue::Integer(0),
    },
    OptionEntry {
        name: "verbs_control_sl",
        kind: ValueKind::Integer(-1, 15),
        doc: "the service level of packets without data, which then have queue pairs of their own, and of the datagrams \
              by which connections are made; -1: that of verbs_sl",
        default: || OptionValue::Integer(-1),
    },
    OptionEntry {
        name: "verbs_window",
        kind: ValueKind::Integer(2, 4096),
        doc: "packets that may be in flight from one peer",
        default: || OptionValue::Integer(64),
    },
    OptionEntry {
        name: "verbs_receives",
        kind: ValueKind::Integer(8, 1 << 20),
        doc: "receive buffers of a rank, which all peers share; each takes an eager message",
        default: || OptionValue::Integer(512),
    },
    OptionEntry {
        name: "verbs_cache",
        kind: ValueKind::OnOff,
        doc: "whether memory stays registered with the adapter when its message is over, where the adapter or the \
              kernel tells of pages that are unmapped",
        default: || OptionValue::OnOff(true),
    },
    OptionEntry {
        name: "verbs_reuse_table",
        kind: ValueKind::File(&TABLES),
        doc: "after how many uses a small buffer is registered, and sent without a copy: a file that `carrousel bench \
              reuse --write` has measured on this machine, or the published table, or never",
        default: || OptionValue::Word(TABLES[0].to_owned()),
    },
    OptionEntry {
        name: "verbs_reuse_percent",
        kind: ValueKind::Integer(1, 100),
        doc: "a buffer is registered after this percentage of the uses that pay, hoping for the others",
        default: || OptionValue::Integer(25),
    },
    OptionEntry {
        name: "verbs_reuse_share",
        kind: ValueKind::Integer(0, 100),
        doc: "further buffers are not counted while less than this percentage of them is used often and there are \
              many; 0: all are",
        default: || OptionValue::Integer(20),
    },
    OptionEntry {
        name: "verbs_reuse_blocking",
        kind: ValueKind::OnOff,
        doc: "whether a send that waits anyway sends without a copy, too: it then waits until the peer's adapter has \
              acknowledged it, which takes longer than a copy",
        default: || OptionValue::OnOff(false),
    },
    OptionEntry {
        name: "verbs_timeout",
        kind: ValueKind::Integer(1, 31),
        doc: "a packet without an acknowledgement is sent again after 4.096 us times 2 to the power of this, or up \
              to four times as long",
        default: || OptionValue::Integer(16),
    },
    OptionEntry {
        name: "verbs_retries",
        kind: ValueKind::Integer(0, 6),
        doc: "how often a packet is sent again before its receiver is taken for lost",
        default: || OptionValue::Integer(6),
    },
    OptionEntry {
        name: "hang_report",
        kind: ValueKind::Time,
        doc: "how long a rank waits in one call before it reports what it waits for; 0: never",
        default: || OptionValue::TimeNs(30_000_000_000),
    },
    OptionEntry {
        name: "report",
        kind: ValueKind::OnOff,
        doc: "whether a job says once, on standard error, what it consists of: ranks, nodes, transports, devices, version",
        default: || OptionValue::OnOff(false),
    },
    OptionEntry {
        name: "check_usage",
        kind: ValueKind::Choice(&CHECK_USAGE),
        doc: "the reaction when ranks call different collectives, or have not received a message when they finalize: \
              nothing, a warning, or an error of the call; auto: an error in debug builds of the program, nothing in \
              others; the value at rank 0 counts for all",
        default: || OptionValue::Word(CHECK_USAGE[0].to_owned()),
    },
];

impl OptionEntry {
    /// The option of this name.
    pub fn named(name: &str) -> Option<&'static OptionEntry> {
        OPTIONS.iter().find(|entry| entry.name == name)
    }

    /// The variable that sets it.
    pub fn variable(&self) -> String {
        format!("CARROUSEL_{}", self.name.to_uppercase())
    }

    /// Its value unless something sets it.
    pub fn default_value(&self) -> OptionValue {
        (self.default)()
    }

    /// The range of values, for messages.
    pub fn range(&self) -> String {
        match self.kind {
            ValueKind::Size => "a size".to_owned(),
            ValueKind::SizeOr(word) => format!("a size, {word}"),
            ValueKind::Power(least, most) => {
                format!("a power of two, {} to {}", units::size(least), units::size(most))
            }
            ValueKind::Time => "a time".to_owned(),
            ValueKind::Integer(least, most) => format!("{least} to {most}"),
            ValueKind::OnOff => "on, off".to_owned(),
            ValueKind::Choice(words) => words.join(", "),
            ValueKind::Name => "a name".to_owned(),
            ValueKind::File(words) => format!("{}, a file", words.join(", ")),
        }
    }

    /// Reads a value from text.
    ///
    /// # Errors
    /// When the text is not a value of the option; the error says which values are.
    pub fn parse(&self, text: &str) -> Result<OptionValue, String> {
        let wrong = || format!("`{text}` is no value of {}; it takes {}", self.name, self.range());
        let value = match self.kind {
            ValueKind::Size | ValueKind::Power(..) => OptionValue::Size(parse_size(text)?),
            ValueKind::SizeOr(word) if word == text => OptionValue::Word(text.to_owned()),
            ValueKind::SizeOr(_) => OptionValue::Size(parse_size(text).map_err(|_| wrong())?),
            ValueKind::Time => OptionValue::TimeNs(parse_time(text)?),
            ValueKind::Integer(..) => OptionValue::Integer(text.parse().map_err(|_| wrong())?),
            ValueKind::OnOff => OptionValue::OnOff(match text {
                "on" | "1" => true,
                "off" | "0" => false,
                _ => return Err(wrong()),
            }),
            ValueKind::Choice(_) | ValueKind::Name | ValueKind::File(_) => OptionValue::Word(text.to_owned()),
        };
        if self.takes(&value) { Ok(value) } else { Err(wrong()) }
    }

    /// Whether a value is in range.
    fn takes(&self, value: &OptionValue) -> bool {
        match (self.kind, value) {
            (ValueKind::Size | ValueKind::SizeOr(_), OptionValue::Size(_))
            | (ValueKind::Time, OptionValue::TimeNs(_))
            | (ValueKind::OnOff, OptionValue::OnOff(_)) => true,
            (ValueKind::Power(least, most), OptionValue::Size(bytes)) => {
                bytes.is_power_of_two() && (least..=most).contains(bytes)
            }
            (ValueKind::Integer(least, most), OptionValue::Integer(number)) => {
                (least..=most).contains(number)
            }
            (ValueKind::Choice(words), OptionValue::Word(word)) => words.contains(&word.as_str()),
            (ValueKind::SizeOr(other), OptionValue::Word(word)) => other == word,
            (ValueKind::Name, OptionValue::Word(word)) => {
                !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || c.is_control())
            }
            (ValueKind::File(_), OptionValue::Word(word)) => {
                !word.is_empty() && !word.contains(char::is_control)
            }
            _ => false,
        }
    }

    /// Checks that a scenario sets an option within its range; the language knows only the kind of its values.
    ///
    /// # Errors
    /// When the value is out of range; the error names the range.
    pub fn check(setting: &OptionSetting) -> Result<(), String> {
        let entry = OptionEntry::named(&setting.name).filter(|_| setting.window.is_none());
        match entry {
            Some(entry) if !entry.takes(&setting.value) => {
                Err(format!("`{}` is {}, expected {}", setting.name, written(&setting.value), entry.range()))
            }
            _ => Ok(()),
        }
    }
}

/// The text of a value, as scenarios have it.
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
    let option = |entry: &OptionEntry| {
        Some(match entry.kind {
            ValueKind::Size | ValueKind::Power(..) => OptionSpec::new(entry.name, OptionKind::Size),
            ValueKind::SizeOr(word) => OptionSpec::new(entry.name, OptionKind::SizeOr(word)),
            ValueKind::Time => OptionSpec::new(entry.name, OptionKind::Time),
            ValueKind::Integer(..) => OptionSpec::new(entry.name, OptionKind::Integer),
            ValueKind::OnOff => OptionSpec::new(entry.name, OptionKind::OnOff),
            ValueKind::Choice(words) => OptionSpec::choice(entry.name, words),
            ValueKind::Name | ValueKind::File(_) => return None,
        })
    };
    Vocabulary { engine: OPTIONS.iter().filter_map(option).collect(), ..Vocabulary::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_the_language_itself_has_are_registered() {
        let all = vocabulary();
        for option in Vocabulary::default().engine {
            assert!(all.engine.contains(&option), "{}", option.name);
        }
    }

    #[test]
    fn every_default_is_a_value() {
        for entry in OPTIONS {
            let text = written(&entry.default_value());
            assert_eq!(entry.parse(&text), Ok(entry.default_value()), "{}", entry.name);
        }
    }

    #[test]
    fn one_of_two_values_may_be_a_digit() {
        let entry = OptionEntry::named("report").expect("it is registered");
        let values = ["on", "1", "off", "0"].map(|text| entry.parse(text).map(|value| written(&value)));
        assert_eq!(values, ["on", "on", "off", "off"].map(|word| Ok(word.to_owned())));
    }

    #[test]
    fn invalid_values_are_refused() {
        for (name, text) in [
            ("eager_threshold", "big"),
            ("speculation", "on"),
            ("rtr_limit", "70000"),
            ("intra_defer_threshold", "off"),
            ("shm_ring", "100000"),
            ("shm_ring", "16"),
            ("shm_direct", "yes"),
            ("report", "2"),
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
            let entry = OptionEntry::named(name).expect("it is registered");
            assert!(entry.parse(text).is_err(), "{name}={text}");
        }
    }
}
