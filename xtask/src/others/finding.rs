//! What judges find.

use serde::Serialize;

/// What a judge has found.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Finding {
    pub(super) judge: String,
    pub(super) host: String,
    /// `None` if each test of the judge has its own number.
    pub(super) ranks: Option<u32>,
    /// Over the provider.
    pub(super) ours: String,
    /// Without it.
    pub(super) reference: String,
    pub(super) verdict: Comparison,
}

impl Finding {
    /// What is told of it as soon as it is known.
    pub(super) fn line(&self) -> String {
        let Self { judge, ours, reference, verdict, .. } = self;
        let against =
            if reference.is_empty() { String::new() } else { format!(" (without it: {reference})") };
        format!("  {judge}: {}: {ours}{against}", verdict.word())
    }
}

/// How that compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Comparison {
    /// As it should be.
    Met,
    /// It runs, and misses what it should reach.
    Missed,
    /// It does not run, or what comes of it is wrong.
    Failed,
}

impl Comparison {
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "missed",
            Self::Failed => "failed",
        }
    }

    pub(super) fn of(is_met: bool) -> Self {
        if is_met { Self::Met } else { Self::Missed }
    }
}

/// A finding, without what all of a run have in common.
pub(super) struct Compared {
    /// Behind the judge's name.
    pub(super) of: String,
    pub(super) ours: String,
    pub(super) reference: String,
    pub(super) verdict: Comparison,
}
