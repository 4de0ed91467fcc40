//! What `carrousel sim --app` tells the program that it starts, and how it hears back.

use carrousel_transport_sim::{BadNetwork, Config, Network, UnknownWord};
use serde::{Deserialize, Serialize};
use std::env::{self, VarError};
use std::path::PathBuf;
use thiserror::Error;

/// The variable that has a [`Handover`] as JSON.
pub const VARIABLE: &str = carrousel_options::SIMULATION;

/// How a timeline is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Drawing {
    /// As a picture.
    Svg,
    /// As a page.
    Html,
}

/// A simulation that a program is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handover {
    /// What the report is of.
    pub title: String,
    /// How many ranks.
    pub ranks: u32,
    /// How many of them share a node.
    pub ranks_per_node: u32,
    /// The parameter set of the machine.
    pub network: String,
    /// How large messages travel.
    pub protocol: String,
    /// The means of progress while ranks compute.
    pub progress: String,
    /// Seed of the jitter.
    pub seed: u64,
    /// Thousandths by which durations are longer at random.
    pub jitter_per_mille: u32,
    /// How to draw the timeline, if at all.
    pub drawing: Option<Drawing>,
    /// The file that the program writes its [`Outcome`](crate::Outcome) to.
    pub outcome: PathBuf,
}

/// Why a handover cannot be taken.
#[derive(Debug, Error)]
pub(crate) enum HandoverError {
    /// The variable is no handover.
    #[error("{VARIABLE} is no simulation: {0}; `carrousel sim --app PROGRAM` sets it")]
    Variable(String),
    /// There is no such network.
    #[error(transparent)]
    Network(#[from] BadNetwork),
    /// There is no such protocol or means of progress.
    #[error(transparent)]
    Word(#[from] UnknownWord),
}

impl Handover {
    /// What this process is asked for; `None` if it is a rank of a real job.
    pub(crate) fn read() -> Result<Option<Self>, HandoverError> {
        let wrong = |what: String| HandoverError::Variable(what);
        match env::var(VARIABLE) {
            Err(VarError::NotPresent) => Ok(None),
            Err(error) => Err(wrong(error.to_string())),
            Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| wrong(error.to_string())),
        }
    }

    /// How to run it.
    pub(crate) fn config(&self) -> Result<Config, HandoverError> {
        let mut config = Config::new(Network::named(&self.network)?);
        config.protocol = self.protocol.parse()?;
        config.progress = self.progress.parse()?;
        config.seed = self.seed;
        config.jitter_per_mille = self.jitter_per_mille;
        config.timeline = self.drawing.is_some();
        Ok(config)
    }

    /// The node of each rank.
    pub(crate) fn nodes(&self) -> Vec<u32> {
        (0..self.ranks).map(|rank| rank / self.ranks_per_node.max(1)).collect()
    }
}
