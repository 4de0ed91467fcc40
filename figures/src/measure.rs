//! Runs scenarios for figures, and reads times from their reports.

use carrousel_scenario::Scenario;
use carrousel_transport_sim::{BadNetwork, Config, Inefficiency, Network, Report, SimError, simulate};

/// Why there is no figure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FigureError {
    /// A scenario of the figure is none.
    #[error("a figure's scenario is wrong: {0}")]
    Scenario(String),
    /// It does not run.
    #[error("a figure's scenario fails: {error}\n{text}")]
    Failed {
        /// Why.
        error: SimError,
        /// Its text.
        text: String,
    },
    /// It cannot be explored.
    #[error("a figure's scenario cannot be explored: {error}\n{text}")]
    Unexplored {
        /// Why.
        error: carrousel_verify::run::Error,
        /// Its text.
        text: String,
    },
    /// The figure asks for a network that is not there.
    #[error(transparent)]
    Network(#[from] BadNetwork),
    /// The figure asks for a statement that is not there, or has not completed.
    #[error("no statement `{0}` has completed")]
    NoLabel(String),
    /// A diagram cannot be drawn.
    #[error("a diagram cannot be drawn: {0}")]
    Drawing(String),
}

/// A simulated machine and library: what all runs of a series share.
pub(crate) struct Machine(Config);

impl Machine {
    /// Our library over this network.
    pub(crate) fn new(network: &str) -> Result<Self, FigureError> {
        Ok(Self(Config { timeline: false, ..Config::new(Network::named(network)?) }))
    }

    /// The same with a change.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.0);
        self
    }

    pub(crate) fn network(&self) -> &Network {
        &self.0.network
    }

    /// Runs a scenario.
    pub(crate) fn run(&self, text: &str) -> Result<Report, FigureError> {
        simulate(&scenario(text)?, &self.0)
            .map_err(|error| FigureError::Failed { error, text: text.to_owned() })
    }
}

/// The scenario with this text.
pub(crate) fn scenario(text: &str) -> Result<Scenario, FigureError> {
    let scenario = carrousel_scenario::load("figure.scn", text.as_bytes());
    scenario.map_err(|error| FigureError::Scenario(format!("{}\n{text}", error.render(false))))
}

/// Times of labelled statements, in virtual microseconds. A label is of one statement, or of one in each round.
pub(crate) trait Labelled {
    /// When the first statement with this label was called.
    fn called(&self, label: &str) -> Result<f64, FigureError>;
    /// When the last statement with this label returned.
    fn returned(&self, label: &str) -> Result<f64, FigureError>;
    /// When the request of the first statement with this label was complete.
    fn completed(&self, label: &str) -> Result<f64, FigureError>;
    /// From the call of one statement to the return of another.
    fn between(&self, from: &str, to: &str) -> Result<f64, FigureError> {
        Ok(self.returned(to)? - self.called(from)?)
    }
    /// Whether the report says that `by` made `rank` wait so.
    fn has(&self, pattern: Inefficiency, rank: u32, by: u32) -> bool;
    /// What the report says about late ranks, as a person reads it.
    fn lateness(&self) -> String;
}

impl Labelled for Report {
    fn called(&self, label: &str) -> Result<f64, FigureError> {
        let first = self.statements.iter().find(|statement| statement.label.as_deref() == Some(label));
        first.map(|statement| statement.begin_us).ok_or_else(|| FigureError::NoLabel(label.to_owned()))
    }

    fn returned(&self, label: &str) -> Result<f64, FigureError> {
        let last = self.statements.iter().rfind(|statement| statement.label.as_deref() == Some(label));
        last.map(|statement| statement.end_us).ok_or_else(|| FigureError::NoLabel(label.to_owned()))
    }

    fn completed(&self, label: &str) -> Result<f64, FigureError> {
        let first = self.statements.iter().find(|statement| statement.label.as_deref() == Some(label));
        let complete = first.and_then(|statement| statement.complete_us);
        complete.ok_or_else(|| FigureError::NoLabel(label.to_owned()))
    }

    fn has(&self, pattern: Inefficiency, rank: u32, by: u32) -> bool {
        self.late.iter().any(|late| (late.pattern, late.rank, late.by) == (pattern, rank, by))
    }

    fn lateness(&self) -> String {
        let told = self.late.iter().map(|late| {
            format!(
                "{} of rank {} by {}, {:.0} us",
                late.pattern,
                late.rank,
                late.by,
                late.to_us - late.from_us
            )
        });
        let told: Vec<String> = told.collect();
        if told.is_empty() { "nobody is late".to_owned() } else { told.join("; ") }
    }
}

/// `64 KiB`.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes / 1024),
        _ => format!("{} MiB", bytes / 1_048_576),
    }
}
