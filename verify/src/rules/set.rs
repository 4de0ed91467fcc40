//! The sets of rules, as the registers and the command line name them.

/// A set of rules. A name of a rule is unique within its set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuleSet {
    /// The rendezvous in which the sender mirrors the posted receives.
    Mirror,
    /// The thesis's handshake in its sound reading.
    Published,
    /// Initial progress and flow control.
    Progress,
    /// Registered memory.
    Registration,
    /// Connections.
    Connection,
    /// Epochs of windows.
    Epoch,
    /// The order of an epoch's transfers.
    Schedule,
    /// Locks of windows.
    Lock,
}

impl RuleSet {
    /// As in the registers, and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mirror => "mirror",
            Self::Published => "published",
            Self::Progress => "progress",
            Self::Registration => "registration",
            Self::Connection => "connection",
            Self::Epoch => "epoch",
            Self::Schedule => "schedule",
            Self::Lock => "lock",
        }
    }
}
