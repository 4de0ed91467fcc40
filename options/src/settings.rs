//! The value of each option, and its origin.

use crate::file::read_text;
use crate::protocol;
use crate::registry::{ANY, OPTIONS, OptionEntry, TABLES, written};
use crate::value::parse_size;
use carrousel_rank::Options;
use carrousel_scenario::{OptionSetting, OptionValue, Scenario};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fmt};
use thiserror::Error;

const PREFIX: &str = "CARROUSEL_";
/// Names the file of options.
const FILE: &str = "CARROUSEL_OPTIONS";
/// Names the directory of a trace.
const TRACE: &str = "CARROUSEL_TRACE";
/// Says how many bytes each part of that trace has at most.
const TRACE_LIMIT: &str = "CARROUSEL_TRACE_LIMIT";
/// Tells a program to simulate its ranks, and how.
pub const SIMULATION: &str = "CARROUSEL_SIMULATION";
/// Variables that are not options: the file, the trace of this one run, and the simulator's message to a program.
const OTHER_VARIABLES: [&str; 4] = [FILE, TRACE, TRACE_LIMIT, SIMULATION];

/// An invalid option, or an invalid value of one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct OptionError {
    message: String,
    /// The remedy, if it is not in the message.
    pub help: Option<String>,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The option's default: nothing sets it.
    Default,
    /// A line of a file of options.
    File {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
    },
    /// The environment variable of this name.
    Variable(String),
    /// A line of the scenario, from 1.
    Scenario(u32),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { file, line } => write!(f, "{file}:{line}"),
            Self::Variable(name) => f.write_str(name),
            Self::Scenario(line) => write!(f, "scenario, line {line}"),
        }
    }
}

/// Which ranks talk over InfiniBand or RoCE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerbsScope {
    /// Ranks of different nodes.
    Nodes,
    /// No ranks.
    None,
    /// All ranks, also those of one node.
    All,
}

/// The reaction to usage errors that no rank can detect alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckUsage {
    /// None: ranks do not check.
    Off,
    /// A warning on standard error.
    Warn,
    /// An error of the call.
    Error,
}

impl CheckUsage {
    /// Its name as an option's value.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }

    /// The reaction of this name.
    pub fn named(word: &str) -> Option<Self> {
        [Self::Off, Self::Warn, Self::Error].into_iter().find(|check| check.word() == word)
    }
}

/// The table of the numbers of uses after which small buffers are registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReuseTable {
    /// The published table, of another machine.
    Published,
    /// The table in this file.
    File(PathBuf),
}

impl ReuseTable {
    fn named(word: String) -> Option<Self> {
        let [off, published] = TABLES;
        match word {
            word if word == off => None,
            word if word == published => Some(Self::Published),
            file => Some(Self::File(file.into())),
        }
    }
}

/// The options of small buffers that are sent without a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReuseOptions {
    /// The numbers of uses from which on registration pays.
    pub table: ReuseTable,
    /// The percentage of that number after which a buffer is registered.
    pub percent: u32,
    /// Further buffers are counted only while at least this percentage of them is used often.
    pub share: u32,
    /// Whether blocking sends are sent so, too.
    pub blocking: bool,
}

/// The options of the transport between nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerbsOptions {
    /// Which ranks use it.
    pub scope: VerbsScope,
    /// The name of the device; `None` for any.
    pub device: Option<String>,
    /// The port; `None` for the first one that is up.
    pub port: Option<u8>,
    /// The index of the global identifier; `None` for the best.
    pub gid: Option<u8>,
    /// The service level of connections.
    pub service_level: u8,
    /// The service level of packets without data, and of the datagrams by which connections are made.
    pub control_service_level: u8,
    /// Packets that may be in flight from one peer.
    pub window: u16,
    /// Receive buffers of a rank.
    pub receives: u32,
    /// Whether memory stays registered.
    pub cache: bool,
    /// The options of small buffers, if they are sent without a copy.
    pub reuse: Option<ReuseOptions>,
    /// The exponent of the time to wait for an acknowledgement.
    pub timeout: u8,
    /// How often a packet is sent again.
    pub retries: u8,
}

/// The values of all options, by position in [`OPTIONS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    values: Vec<(OptionValue, Origin)>,
    trace: Option<PathBuf>,
    trace_limit: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        let values = OPTIONS.iter().map(|entry| (entry.default_value(), Origin::Default)).collect();
        Self { values, trace: None, trace_limit: None }
    }
}

impl Settings {
    /// The settings of this process's environment, and of the file of options that it names.
    ///
    /// # Errors
    /// When a variable or a line names an unknown option, or has an invalid value.
    pub fn read() -> Result<Self, OptionError> {
        Self::of(env::vars_os())
    }

    /// The settings of these environment variables.
    ///
    /// # Errors
    /// The errors of [`Settings::read`].
    pub fn of(variables: impl Iterator<Item = (OsString, OsString)>) -> Result<Self, OptionError> {
        let mut trace = None;
        let variables = variables.inspect(|(name, value)| {
            if name == TRACE {
                trace = Some(PathBuf::from(value));
            }
        });
        let text = |(name, value): (OsString, OsString)| {
            (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())
        };
        let mut variables: Vec<_> =
            variables.map(text).filter(|(name, _)| name.starts_with(PREFIX)).collect();
        // Sorted, so that of several errors always the same is reported.
        variables.sort();
        let mut settings = Self { trace, ..Self::default() };
        if settings.trace.as_ref().is_some_and(|directory| directory.as_os_str().is_empty()) {
            let help = Some("name a directory, or unset it".to_owned());
            return Err(OptionError { message: format!("{TRACE} is empty"), help });
        }
        if let Some((name, bytes)) = variables.iter().find(|(name, _)| name == TRACE_LIMIT) {
            let limit = parse_size(bytes);
            let wrong = |error| OptionError { message: format!("{name}: {error}"), help: None };
            settings.trace_limit = Some(limit.map_err(wrong)?);
        }
        if let Some((_, path)) = variables.iter().find(|(name, _)| name == FILE) {
            settings.read_file(path)?;
        }
        for (name, value) in variables.iter().filter(|(name, _)| !OTHER_VARIABLES.contains(&name.as_str())) {
            let known = OPTIONS.iter().position(|entry| entry.variable() == *name);
            let at =
                known.ok_or_else(|| unknown_option("the environment sets ", name, OptionEntry::variable))?;
            let value = OPTIONS[at].parse(value);
            let value =
                value.map_err(|error| OptionError { message: format!("{name}: {error}"), help: None })?;
            settings.values[at] = (value, Origin::Variable(name.clone()));
        }
        Ok(settings)
    }

    fn read_file(&mut self, path: &str) -> Result<(), OptionError> {
        let text = read_text(Path::new(path)).map_err(|error| OptionError {
            message: format!("cannot read {path}, the file that {FILE} names: {error}"),
            help: Some(format!("unset {FILE}, or write lines `NAME VALUE` there")),
        })?;
        for (line, text) in (1..).zip(text.lines()) {
            let statement = text.split('#').next().unwrap_or_default().trim();
            if statement.is_empty() {
                continue;
            }
            let (name, value) = statement.split_once(char::is_whitespace).unwrap_or((statement, ""));
            let place = format!("{path}:{line}: ");
            let known = OPTIONS.iter().position(|entry| entry.name == name);
            let at = known.ok_or_else(|| unknown_option(&place, name, |entry| entry.name.to_owned()))?;
            let value = OPTIONS[at].parse(value.trim());
            let value =
                value.map_err(|error| OptionError { message: format!("{place}{error}"), help: None })?;
            self.values[at] = (value, Origin::File { file: path.to_owned(), line });
        }
        Ok(())
    }

    /// Applies the scenario's options, which take precedence over all others.
    #[must_use]
    pub fn with_scenario(mut self, scenario: &Scenario) -> Self {
        for setting in scenario.options.iter().filter(|setting| setting.window.is_none() && setting.line > 0)
        {
            if let Some(at) = OPTIONS.iter().position(|entry| entry.name == setting.name) {
                self.values[at] = (setting.value.clone(), Origin::Scenario(setting.line));
            }
        }
        self
    }

    /// Adds to a scenario the options that are set here and not by the scenario itself.
    pub fn apply(&self, scenario: &mut Scenario) {
        for chosen in self.chosen() {
            let same = |setting: &OptionSetting| setting.window.is_none() && setting.name == chosen.name;
            if !scenario.options.iter().any(same) {
                scenario.options.push(chosen);
            }
        }
    }

    /// The options that do not have their default, in the form of a scenario's.
    pub fn chosen(&self) -> Vec<OptionSetting> {
        let chosen = |(entry, value, _): (&OptionEntry, &OptionValue, _)| {
            let (name, value) = (entry.name.to_owned(), value.clone());
            // Line 0: the option comes from no line of the scenario.
            OptionSetting { window: None, name, value, line: 0 }
        };
        self.set().map(chosen).collect()
    }

    /// Each option with the text and the origin of its value.
    pub fn all(&self) -> impl Iterator<Item = (&'static OptionEntry, String, &Origin)> {
        OPTIONS.iter().zip(&self.values).map(|(entry, (value, origin))| (entry, written(value), origin))
    }

    /// The options that do not have their default, each as `NAME VALUE`.
    pub fn written(&self) -> Vec<String> {
        self.set().map(|(entry, value, _)| format!("{} {}", entry.name, written(value))).collect()
    }

    fn set(&self) -> impl Iterator<Item = (&'static OptionEntry, &OptionValue, &Origin)> {
        let all = OPTIONS.iter().zip(&self.values).map(|(entry, (value, origin))| (entry, value, origin));
        all.filter(|(.., origin)| **origin != Origin::Default)
    }

    /// The origin of an option's value, for a message about it.
    pub fn origin(&self, name: &str) -> Option<&Origin> {
        let at = OPTIONS.iter().position(|entry| entry.name == name)?;
        Some(&self.values[at].1)
    }

    fn value(&self, name: &str) -> &OptionValue {
        let at = OPTIONS.iter().position(|entry| entry.name == name);
        debug_assert!(at.is_some(), "{name} is registered");
        &self.values[at.unwrap_or(0)].0
    }

    fn number(&self, name: &str) -> u64 {
        match self.value(name) {
            OptionValue::Size(number) | OptionValue::TimeNs(number) => *number,
            OptionValue::Integer(number) => number.unsigned_abs(),
            OptionValue::OnOff(on) => u64::from(*on),
            OptionValue::Word(_) => 0,
        }
    }

    /// The options of the protocols.
    pub fn protocol(&self) -> Options {
        let all = OPTIONS.iter().zip(&self.values);
        all.fold(Options::default(), |options, (entry, (value, _))| {
            protocol::with_option(options, entry.name, value)
        })
    }

    /// `shm_ring`, in bytes.
    pub fn shm_ring(&self) -> u64 {
        self.number("shm_ring")
    }

    /// `shm_direct`.
    pub fn shm_direct(&self) -> bool {
        self.number("shm_direct") != 0
    }

    /// The options of the transport between nodes.
    pub fn verbs(&self) -> VerbsOptions {
        let small = |name: &str| u8::try_from(self.number(name)).unwrap_or(u8::MAX);
        let word = |name: &str| match self.value(name) {
            OptionValue::Word(word) => word.clone(),
            _ => String::new(),
        };
        let scope = match word("verbs").as_str() {
            "off" => VerbsScope::None,
            "always" => VerbsScope::All,
            _ => VerbsScope::Nodes,
        };
        let is_given = |name: &str| !matches!(self.value(name), OptionValue::Integer(..0));
        VerbsOptions {
            scope,
            device: Some(word("verbs_device")).filter(|name| name != ANY),
            port: Some(small("verbs_port")).filter(|port| *port > 0),
            gid: is_given("verbs_gid").then(|| small("verbs_gid")),
            service_level: small("verbs_sl"),
            control_service_level: small(if is_given("verbs_control_sl") {
                "verbs_control_sl"
            } else {
                "verbs_sl"
            }),
            window: u16::try_from(self.number("verbs_window")).unwrap_or(u16::MAX),
            receives: u32::try_from(self.number("verbs_receives")).unwrap_or(u32::MAX),
            cache: self.number("verbs_cache") != 0,
            reuse: ReuseTable::named(word("verbs_reuse_table")).map(|table| ReuseOptions {
                table,
                percent: self.number("verbs_reuse_percent") as u32,
                share: self.number("verbs_reuse_share") as u32,
                blocking: self.number("verbs_reuse_blocking") != 0,
            }),
            timeout: small("verbs_timeout"),
            retries: small("verbs_retries"),
        }
    }

    /// The directory of the trace that `CARROUSEL_TRACE` asks for.
    pub fn trace(&self) -> Option<&Path> {
        self.trace.as_deref()
    }

    /// The most bytes of each part of that trace, if `CARROUSEL_TRACE_LIMIT` says so.
    pub fn trace_limit(&self) -> Option<u64> {
        self.trace_limit
    }

    /// The same settings, but with the trace of a run in `directory`, each part of `limit` bytes at most.
    #[must_use]
    pub fn with_trace(mut self, directory: PathBuf, limit: Option<u64>) -> Self {
        self.trace = Some(directory);
        self.trace_limit = limit.or(self.trace_limit);
        self
    }

    /// The variables that ask a process for a trace in this directory: see [`Settings::trace`] and
    /// [`Settings::trace_limit`].
    pub fn trace_variables(
        directory: &Path,
        limit: Option<u64>,
    ) -> impl Iterator<Item = (OsString, OsString)> {
        let limit = limit.map(|limit| (TRACE_LIMIT.into(), limit.to_string().into()));
        [(TRACE.into(), directory.into())].into_iter().chain(limit)
    }

    /// The variables of this process that [`Settings::read`] reads, to give processes on other hosts the same settings.
    pub fn variables() -> impl Iterator<Item = (OsString, OsString)> {
        env::vars_os()
            .filter(|(name, _)| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()) && name != SIMULATION)
    }

    /// `check_usage`; `None` for `auto`.
    pub fn check_usage(&self) -> Option<CheckUsage> {
        match self.value("check_usage") {
            OptionValue::Word(word) => CheckUsage::named(word),
            _ => None,
        }
    }

    /// `report`.
    pub fn report(&self) -> bool {
        self.number("report") != 0
    }

    /// `hang_report`, in nanoseconds; `None` for never.
    pub fn hang_report(&self) -> Option<u64> {
        Some(self.number("hang_report")).filter(|ns| *ns > 0)
    }
}

fn unknown_option(place: &str, name: &str, of: impl Fn(&OptionEntry) -> String) -> OptionError {
    /// A word at a greater distance is not a misspelt name.
    const DISTANCE_MAX: usize = 4;
    let distance = |known: &String| strsim::damerau_levenshtein(known, name);
    let nearest = OPTIONS.iter().map(of).min_by_key(distance).filter(|known| distance(known) <= DISTANCE_MAX);
    let list = "`carrousel info` lists the options";
    let help = nearest.map_or(list.to_owned(), |known| format!("did you mean {known}? {list}"));
    OptionError { message: format!("{place}{name}, which is no option"), help: Some(help) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn of(variables: &[(&str, &str)]) -> Result<Settings, OptionError> {
        Settings::of(variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))))
    }

    #[test]
    fn a_trace_is_asked_for_by_a_directory() {
        assert_eq!(Settings::default().trace(), None);
        for limit in [None, Some(1 << 20)] {
            let settings = Settings::of(Settings::trace_variables(Path::new("/tmp/out"), limit));
            let settings = settings.expect("it is one");
            assert_eq!((settings.trace(), settings.trace_limit()), (Some(Path::new("/tmp/out")), limit));
        }
        let limited = of(&[("CARROUSEL_TRACE_LIMIT", "1MiB")]).expect("it is a size");
        assert_eq!(limited.trace_limit(), Some(1 << 20));
        let error = of(&[("CARROUSEL_TRACE_LIMIT", "much")]).expect_err("it is no size");
        assert!(error.to_string().starts_with("CARROUSEL_TRACE_LIMIT: `much` is no size"), "{error}");
        let error = of(&[("CARROUSEL_TRACE", "")]).expect_err("it is no directory");
        assert_eq!(error.to_string(), "CARROUSEL_TRACE is empty");
    }

    #[test]
    fn options_of_the_scenario_take_precedence() {
        let settings =
            of(&[("CARROUSEL_EAGER_THRESHOLD", "1KiB"), ("CARROUSEL_RTR_LIMIT", "3"), ("HOME", "/")]);
        let settings = settings.expect("these are options");
        let text = b"ranks 1\noption eager_threshold 2KiB\n";
        let mut scenario = carrousel_scenario::load("x.scn", text).expect("it is a scenario");
        settings.apply(&mut scenario);
        let set: Vec<_> = scenario.options.iter().map(|o| (o.name.as_str(), o.value.clone())).collect();
        let expected = [("eager_threshold", OptionValue::Size(2048)), ("rtr_limit", OptionValue::Integer(3))];
        assert_eq!(set, expected);
        let settings = settings.with_scenario(&scenario);
        assert_eq!((settings.protocol().eager_threshold, settings.protocol().rtr_limit), (2048, 3));
        let from: Vec<String> = settings.all().take(4).map(|(.., origin)| origin.to_string()).collect();
        assert_eq!(from, ["scenario, line 2", "default", "default", "CARROUSEL_RTR_LIMIT"]);
    }

    #[test]
    fn a_misspelt_variable_is_an_error() {
        let help = |result: Result<Settings, OptionError>| result.err().and_then(|error| error.help);
        let misspelt = help(of(&[("CARROUSEL_EAGER_TRESHOLD", "1KiB")])).expect("it is no option");
        assert!(misspelt.contains("did you mean CARROUSEL_EAGER_THRESHOLD?"), "{misspelt}");
        assert!(of(&[("CARROUSEL_eager_threshold", "1KiB")]).is_err());
        assert!(of(&[("CARROUSEL_RTR_LIMIT", "-1")]).is_err());
        assert!(of(&[(SIMULATION, "1")]).is_ok());
    }

    #[test]
    fn a_file_sets_options_that_no_variable_sets() {
        let path = env::temp_dir().join(format!("carrousel-options-{}", std::process::id()));
        let path = path.to_string_lossy().into_owned();
        let read = |text: &str| {
            fs::write(&path, text).expect("it can be written");
            of(&[(FILE, &path), ("CARROUSEL_RTR_LIMIT", "3")])
        };
        let settings =
            read("# here\nrtr_limit 5\nhang_report  2s # soon\n\nshm_direct off\n").expect("it is right");
        assert_eq!(settings.protocol().rtr_limit, 3);
        assert_eq!(settings.hang_report(), Some(2_000_000_000));
        assert!(!settings.shm_direct());
        assert_eq!(settings.written(), ["rtr_limit 3", "shm_direct off", "hang_report 2s"]);
        let wrong = read("rtr_limits 5\n").expect_err("there is no such option");
        assert!(wrong.to_string().contains(":1: rtr_limits"), "{wrong}");
        assert!(read("hang_report\n").is_err());
        fs::remove_file(&path).expect("it is there");
        assert!(of(&[(FILE, &path)]).is_err());
    }

    #[test]
    fn a_file_without_end_is_an_error_that_names_variable_and_file() {
        let error = of(&[(FILE, "/dev/zero")]).expect_err("it has no end");
        let expected = "cannot read /dev/zero, the file that CARROUSEL_OPTIONS names: it is too large, or has no end: \
                        expected at most 1048576 bytes";
        assert_eq!(error.to_string(), expected);
        assert!(of(&[(FILE, "/dev/null")]).is_ok(), "an empty one");
    }
}
