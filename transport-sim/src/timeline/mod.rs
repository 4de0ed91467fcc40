//! The data of a timeline, and its drawing.

mod draw;
mod html;
mod text;

pub use draw::svg;
pub use html::html;

/// The state of a rank's CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// The application computes.
    Computing,
    /// The library works.
    Library,
    /// The library waits.
    Waiting,
}

/// A stretch of one state. Times are virtual nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The state.
    pub state: State,
    /// Its beginning.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
}

/// A load that travelled between two ranks. Times are virtual nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The rank whose card sent it.
    pub from: u32,
    /// The rank whose card received it.
    pub to: u32,
    /// A packet's name, `WRITE`, `READ`, `PUT`, `GET` or `read request`; `data` in a real run, which does not tell writes from
    /// reads.
    pub kind: &'static str,
    /// Bytes of messages in it.
    pub bytes: u64,
    /// Whether it has bytes of messages.
    pub moves_data: bool,
    /// The time at which its first byte left.
    pub start_ns: u64,
    /// The time at which its last byte arrived.
    pub end_ns: u64,
}

/// The events of a run in time, by rank and between ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// By rank, the states of its CPU, in order. After the end of its program a rank has no intervals.
    pub lanes: Vec<Vec<Interval>>,
    /// The loads that travelled, in order of arrival.
    pub messages: Vec<Message>,
}

impl Timeline {
    /// The transfers of message data from or to `rank`, without packets that the CPU copies.
    pub fn transfers(&self, rank: u32) -> impl Iterator<Item = &Message> {
        let concerns = move |message: &&Message| message.from == rank || message.to == rank;
        self.messages
            .iter()
            .filter(|m| matches!(m.kind, "WRITE" | "READ" | "PUT" | "GET" | "data"))
            .filter(concerns)
    }

    /// The share, 0 to 1, of the time of data transfers from or to `rank` in which the rank computed.
    pub fn overlap(&self, rank: u32) -> f64 {
        let (mut moved, mut hidden) = (0, 0);
        for transfer in self.transfers(rank) {
            moved += transfer.end_ns - transfer.start_ns;
            for interval in self.lanes.get(rank as usize).into_iter().flatten() {
                let end = interval.end_ns.min(transfer.end_ns);
                if interval.state == State::Computing {
                    hidden += end.saturating_sub(interval.start_ns.max(transfer.start_ns));
                }
            }
        }
        if moved == 0 { 0.0 } else { hidden as f64 / moved as f64 }
    }
}
