//! The message of `carrousel sim --app` to the program that it starts.

use carrousel_transport_sim::{BadNetwork, Config, Network, UnknownWord};
use serde::{Deserialize, Serialize};
use std::env::{self, VarError};
use std::path::PathBuf;
use thiserror::Error;

/// The environment variable that contains a [`Handover`] as JSON.
pub const VARIABLE: &str = carrousel_options::SIMULATION;

/// How a timeline is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Drawing {
    /// As a picture.
    Svg,
    /// As a page.
    Html,
}

/// The simulation that a program has to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handover {
    /// The title of the report.
    pub title: String,
    /// The number of ranks.
    pub ranks: u32,
    /// The number of ranks that share a node.
    pub ranks_per_node: u32,
    /// The parameter set of the machine.
    pub network: String,
    /// The protocol of large messages.
    pub protocol: String,
    /// The means of progress while ranks compute.
    pub progress: String,
    /// When copies within a node are made.
    pub copies: String,
    /// When locks are requested.
    pub locks: String,
    /// Seed of the jitter.
    pub seed: u64,
    /// The largest random addition to a duration, in thousandths of it.
    pub jitter_per_mille: u32,
    /// Of how many statements the report has the times of each.
    pub statements_max: u64,
    /// How many waits for late ranks the report has.
    pub late_max: usize,
    /// The form in which to draw the timeline; `None` for no drawing.
    pub drawing: Option<Drawing>,
    /// The file into which the program writes its [`Outcome`](crate::Outcome).
    pub outcome: PathBuf,
}

/// The reason why a handover is refused.
#[derive(Debug, Error)]
pub(crate) enum HandoverError {
    /// The variable does not contain a handover.
    #[error("{VARIABLE} is no simulation: {0}; `carrousel sim --app PROGRAM` sets it")]
    Variable(String),
    /// There is no such network.
    #[error(transparent)]
    Network(#[from] BadNetwork),
    /// There is no such protocol, means of progress, or time of copies or locks.
    #[error(transparent)]
    Word(#[from] UnknownWord),
}

impl Handover {
    /// The handover for this process; `None` if it is a rank of a real job.
    pub(crate) fn read() -> Result<Option<Self>, HandoverError> {
        let wrong = |what: String| HandoverError::Variable(what);
        match env::var(VARIABLE) {
            Err(VarError::NotPresent) => Ok(None),
            Err(error) => Err(wrong(error.to_string())),
            Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| wrong(error.to_string())),
        }
    }

    /// The configuration of the simulator.
    pub(crate) fn config(&self) -> Result<Config, HandoverError> {
        let mut config = Config::new(Network::named(&self.network)?);
        config.protocol = self.protocol.parse()?;
        config.progress = self.progress.parse()?;
        config.copies = self.copies.parse()?;
        config.acquisition = self.locks.parse()?;
        config.seed = self.seed;
        config.jitter_per_mille = self.jitter_per_mille;
        config.statements_max = self.statements_max;
        config.late_max = self.late_max;
        config.timeline = self.drawing.is_some();
        Ok(config)
    }

    /// The node of each rank.
    pub(crate) fn nodes(&self) -> Vec<u32> {
        (0..self.ranks).map(|rank| rank / self.ranks_per_node.max(1)).collect()
    }
}
