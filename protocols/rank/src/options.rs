//! What is fixed for the life of a rank.

/// The job that a rank belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    /// Number of ranks.
    pub ranks: u32,
}

/// When receives are announced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
pub enum Speculation {
    /// Never: the classical protocols.
    Off,
    /// Whenever the rules permit.
    Always,
    /// While it pays (speculative-rendezvous 4.2.6).
    #[default]
    Adaptive,
}

/// How the data of a message moves whose RTS has met its receive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
pub enum Transfer {
    /// The receiver reads it (`rget`).
    #[default]
    Read,
    /// The receiver sends CTS and the sender writes it (`rput`).
    Write,
}

/// Options of the protocols, equal on all ranks of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Options {
    /// Largest message, in bytes, that a standard send sends eagerly.
    pub eager_threshold: u64,
    /// Bytes of eager messages, each with [`carrousel_rendezvous::MESSAGE_COST`] more, that a rank may have sent to another
    /// one in one communicator, and no receive has taken; beyond it a message is a rendezvous. One always fits,
    /// and all do with [`carrousel_rendezvous::NO_WINDOW`].
    pub eager_window: u64,
    /// When receives are announced.
    pub speculation: Speculation,
    /// How data moves after an RTS.
    pub transfer: Transfer,
    /// Greatest number of announced receives outstanding in one flow.
    pub rtr_limit: u16,
    /// Matching messages of one flow that are processed without telling the sender; bounds what it keeps of them.
    pub credit_every: u16,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            eager_threshold: 8 << 10,
            eager_window: 4 << 20,
            speculation: Speculation::default(),
            transfer: Transfer::default(),
            rtr_limit: 64,
            credit_every: 64,
        }
    }
}
