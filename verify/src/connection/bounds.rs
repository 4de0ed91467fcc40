//! The bounds of an exploration, within which it is exhaustive.

/// The state machine, with the bounds of its environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionBounds {
    /// The handshake.
    Handshake(HandshakeBounds),
    /// Credits.
    Credits(CreditBounds),
    /// The order of packets that travel by two rails.
    Order(OrderBounds),
}

impl ConnectionBounds {
    /// As in a table.
    pub fn name(&self) -> String {
        match self {
            Self::Handshake(bounds) => bounds.name(),
            Self::Credits(bounds) => bounds.name(),
            Self::Order(bounds) => bounds.name(),
        }
    }
}

/// Around two handshakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandshakeBounds {
    /// Ticks without an answer before an end gives up; never if none.
    pub patience: Option<u16>,
    /// Datagrams that are lost; any number if none.
    pub losses: Option<u8>,
    /// Datagrams are doubled, any number of times.
    pub doubles: bool,
    /// No tick comes while a datagram is on its way.
    pub prompt: bool,
    /// Packets that each end may send once it is up.
    pub packets: u8,
}

impl HandshakeBounds {
    /// Any number of datagrams is lost and doubled, ticks come at any time, and no end gives up.
    pub const ANY: Self = Self { patience: None, losses: None, doubles: true, prompt: false, packets: 1 };

    fn name(&self) -> String {
        let Self { patience, losses, doubles, prompt, .. } = self;
        let mut name = "handshake: ".to_owned();
        name += &patience.map_or("patient for ever".to_owned(), |ticks| format!("patience {ticks}"));
        name += &losses.map_or(", any losses".to_owned(), |losses| format!(", {losses} lost"));
        if *doubles {
            name += ", doubled";
        }
        name + if *prompt { ", prompt" } else { ", any delays" }
    }

    /// Whether a peer always answers soon enough: an end gives up only when its first datagram, and one at each tick
    /// of its patience, were all lost.
    pub(super) fn answers_in_time(&self) -> bool {
        match (self.patience, self.losses) {
            (None, _) => true,
            (Some(patience), Some(losses)) => self.prompt && u16::from(losses) <= patience,
            (Some(_), None) => false,
        }
    }
}

/// The receive buffers of an end for its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffers {
    /// As many as it may need: a frame that finds none breaks a promise.
    Enough,
    /// So many fewer than [`Self::Enough`], with the same promise.
    Less(u32),
    /// So many. A frame that finds none waits: the adapter lets its sender wait.
    Few(u32),
}

/// Bounds for the credits of two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditBounds {
    /// Packets on their way.
    pub window: u16,
    /// The most messages of each end: every pair of numbers up to this is explored.
    pub messages: u8,
    /// Receive buffers.
    pub buffers: Buffers,
    /// Buffers that are posted again at once: so many, or all when there is nothing else to do.
    pub batch: u16,
    /// Whether frames travel by two rails, which keep no order between them.
    pub two_ways: bool,
}

impl CreditBounds {
    fn name(&self) -> String {
        let Self { window, messages, batch, two_ways, .. } = self;
        let buffers = match self.buffers {
            Buffers::Enough => "enough buffers".to_owned(),
            Buffers::Less(less) => format!("{less} buffers too few"),
            Buffers::Few(few) => format!("{few} buffers, waiting"),
        };
        let ways = if *two_ways { ", two ways" } else { "" };
        format!("credits: window {window}, {messages} messages, {buffers}, posted by {batch}{ways}")
    }
}

/// Bounds for an end that sends by two rails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderBounds {
    /// Packets on their way.
    pub window: u16,
    /// Messages of each of two lanes.
    pub messages: u8,
    /// The most writes of one lane that no packet of their own follows.
    pub writes: u8,
}

impl OrderBounds {
    fn name(&self) -> String {
        let Self { window, messages, writes } = self;
        format!("order: window {window}, {messages} messages a lane, {writes} writes, two ways")
    }
}
