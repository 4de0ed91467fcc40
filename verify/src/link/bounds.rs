//! How much can happen. Everything within the bounds is explored.

/// Which machine, and how much happens around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkBounds {
    /// The handshake.
    Handshake(HandshakeBounds),
    /// Credits.
    Credits(CreditBounds),
    /// The order of packets that travel by two ways.
    Order(OrderBounds),
}

impl LinkBounds {
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
    /// Ticks without an answer; none is for ever.
    pub patience: Option<u16>,
    /// Datagrams that are lost; none is any number.
    pub losses: Option<u8>,
    /// Datagrams are doubled, any number of times.
    pub doubles: bool,
    /// No tick comes while a datagram is on its way.
    pub prompt: bool,
    /// Packets that each end may send once it is up.
    pub packets: u8,
}

impl HandshakeBounds {
    /// Any number of datagrams is lost and doubled, ticks come at any time, and nobody gives up.
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

    /// Whether a peer always answers soon enough: an end gives up when what it tells first, and at each tick of its
    /// patience, has come to nothing.
    pub(super) fn answers_in_time(&self) -> bool {
        match (self.patience, self.losses) {
            (None, _) => true,
            (Some(patience), Some(losses)) => self.prompt && u16::from(losses) <= patience,
            (Some(_), None) => false,
        }
    }
}

/// How many receive buffers an end has for its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffers {
    /// As many as it may need: a frame that finds none breaks a promise.
    Enough,
    /// So many less than that, with the same promise.
    Less(u32),
    /// So many: a frame that finds none waits, as the adapter has its sender wait.
    Few(u32),
}

/// Around the credits of two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditBounds {
    /// Packets on their way.
    pub window: u16,
    /// Messages of each end: every number of one end up to this, with every one of the other.
    pub messages: u8,
    /// Receive buffers.
    pub buffers: Buffers,
    /// Buffers that are posted again at once: so many, or all when there is nothing else to do.
    pub batch: u16,
    /// Whether frames travel by two ways, which keep no order between them.
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

/// Around an end that sends by two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderBounds {
    /// Packets on their way.
    pub window: u16,
    /// Messages of each of two lanes.
    pub messages: u8,
    /// Writes of one of them that no packet of their own follows, at most.
    pub writes: u8,
}

impl OrderBounds {
    fn name(&self) -> String {
        let Self { window, messages, writes } = self;
        format!("order: window {window}, {messages} messages a lane, {writes} writes, two ways")
    }
}
