//! The benchmarks: names, units and definitions.

use serde::Serialize;

/// Messages that are under way at once in the measurements of a rate.
pub const WINDOW: usize = 64;
/// Messages that have come before [`Reversed`](Benchmark::Reversed) receives the first of them.
pub(crate) const REVERSED: usize = 10;
/// The tag of messages that are measured.
pub(crate) const DATA: u32 = 1;
/// The largest message. A window of larger ones would not fit into most memories.
pub const SIZE_MAX: u64 = 16 * MI;

const KI: u64 = 1 << 10;
const MI: u64 = 1 << 20;

/// A measurement: between two ranks, unless its line names more; rank 0 is the one whose time counts, unless it says
/// otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Benchmark {
    /// Half a round trip of a send and a receive, in us (speculative-rendezvous 3).
    Latency,
    /// A window of isend to a window of irecv, then an acknowledgement: MB/s (speculative-rendezvous 3).
    Bandwidth,
    /// The same both ways at once, bytes of both counted: MB/s (speculative-rendezvous 3, "both-way").
    Bibandwidth,
    /// Messages of [`Bandwidth`](Benchmark::Bandwidth) a second.
    MessageRate,
    /// Send after send, each to a recv from any source, then an acknowledgement: a message, in us.
    Stream,
    /// Ten messages with different tags have come: each is received, the last one first. What a recv takes, in us.
    Reversed,
    /// Both ranks exchange messages of this size by sendrecv: a call, in us.
    Sendrecv,
    /// [`Bandwidth`](Benchmark::Bandwidth) from each rank 2k to rank 2k+1 at once; all bytes, by the time
    /// of the slowest pair: MB/s (speculative-rendezvous 3, "aggregate throughput").
    MultiPair,
    /// Rank 0 sends to each of k partners in turn, then receives from each in turn: half of that time, by k, in us
    /// (speculative-rendezvous 3, "normalized multi-connection latency"). For k of 1, 2, 4 and so on, up to all.
    MultiLatency,
    /// [`Bandwidth`](Benchmark::Bandwidth) from rank 0 to each of k partners at once; all bytes: MB/s
    /// (speculative-rendezvous 3, "aggregate throughput"; over pairs it is [`MultiPair`](Benchmark::MultiPair)).
    /// For the same k.
    MultiBandwidth,
    /// [`Latency`](Benchmark::Latency) from and into memory that was never used for a message before: mapped, and
    /// touched, since the last batch. In us, as the next two (speculative-rendezvous 3, "buffer reuse").
    ReuseNone,
    /// The same with every second message from and into memory that all of these share.
    ReuseHalf,
    /// The same with all messages from and into that memory.
    ReuseFull,
    /// The time of [`ReuseNone`](Benchmark::ReuseNone) by that of [`ReuseFull`](Benchmark::ReuseFull), batch by batch:
    /// 1 where it does not matter whether memory is new to the library.
    ReuseRatio,
    /// Barrier; irecv at one rank, isend at the other, the second of these 50 us after the first; both compute; both
    /// wait. What each of these calls takes, in us, in each [`Case`](crate::Case) (speculative-rendezvous 4, figure 4.13).
    /// Nothing else enters the library in between.
    Overlap,
    /// Sender: isend, compute, wait; receiver: recv. The share of the transfer's time that can be hidden behind the
    /// sender's computation while the receiver waits in the library, in percent (speculative-rendezvous 3.4).
    HiddenSend,
    /// Receiver: irecv, compute, wait; sender: send. The same of the receiver's computation, in percent
    /// (speculative-rendezvous 3.4).
    HiddenReceive,
    /// An allreduce of all ranks that sums doubles, in us. A size is rounded down to whole ones.
    Allreduce,
    /// A barrier of all ranks, in us.
    Barrier,
}

/// The ranks whose clock counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// That of rank 0.
    First,
    /// The slowest of the ranks 2k.
    Leaders,
}

impl Benchmark {
    /// In the order in which they are measured. A library that adapts to what it has seen carries that from
    /// one measurement into the next: those in which announcing a receive never pays (both ranks begin at
    /// the same moment) come late, where they spoil little.
    pub const ALL: [Self; 19] = [
        Self::Latency,
        Self::ReuseNone,
        Self::ReuseHalf,
        Self::ReuseFull,
        Self::ReuseRatio,
        Self::Overlap,
        Self::HiddenSend,
        Self::Bandwidth,
        Self::MessageRate,
        Self::Stream,
        Self::Reversed,
        Self::HiddenReceive,
        Self::Bibandwidth,
        Self::Sendrecv,
        Self::MultiLatency,
        Self::MultiBandwidth,
        Self::MultiPair,
        Self::Allreduce,
        Self::Barrier,
    ];

    /// Its name in command lines and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Bandwidth => "bandwidth",
            Self::Bibandwidth => "bibandwidth",
            Self::MessageRate => "message_rate",
            Self::Stream => "stream",
            Self::Reversed => "reversed",
            Self::Sendrecv => "sendrecv",
            Self::MultiPair => "multi_pair",
            Self::MultiLatency => "multi_latency",
            Self::MultiBandwidth => "multi_bandwidth",
            Self::ReuseNone => "reuse_none",
            Self::ReuseHalf => "reuse_half",
            Self::ReuseFull => "reuse_full",
            Self::ReuseRatio => "reuse_ratio",
            Self::Overlap => "overlap",
            Self::HiddenSend => "hidden_send",
            Self::HiddenReceive => "hidden_receive",
            Self::Allreduce => "allreduce",
            Self::Barrier => "barrier",
        }
    }

    /// The one of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|benchmark| benchmark.name() == name)
    }

    /// The unit of its values. `MB` are 10^6 bytes.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Latency | Self::ReuseNone | Self::ReuseHalf | Self::ReuseFull | Self::MultiLatency => "us",
            Self::Stream | Self::Reversed | Self::Sendrecv => "us",
            Self::Overlap | Self::Allreduce | Self::Barrier => "us",
            Self::Bandwidth | Self::Bibandwidth | Self::MultiPair | Self::MultiBandwidth => "MB/s",
            Self::ReuseRatio => "ratio",
            Self::MessageRate => "messages/s",
            Self::HiddenSend | Self::HiddenReceive => "percent",
        }
    }

    /// Its definition, in a line.
    pub fn says(self) -> &'static str {
        match self {
            Self::Latency => "half a round trip of send and recv",
            Self::Bandwidth => "64 isend to 64 irecv, then an acknowledgement",
            Self::Bibandwidth => "`bandwidth` both ways at once, bytes of both counted",
            Self::MessageRate => "messages of `bandwidth` a second",
            Self::Stream => "a message of send after send, each to a recv from any source",
            Self::Reversed => "a recv of one of 10 messages that have come, the last one first",
            Self::Sendrecv => "a call, with as much both ways at once",
            Self::MultiPair => "`bandwidth` from each rank 2k to rank 2k+1 at once, all bytes counted",
            Self::MultiLatency => {
                "a message to each of k partners, then one from each: half of the time, by k"
            }
            Self::MultiBandwidth => {
                "`bandwidth` from rank 0 to each of k partners at once, all bytes counted"
            }
            Self::ReuseNone => "half a round trip, from and into memory that is new to the library",
            Self::ReuseHalf => "half a round trip, every second one in memory that was used before",
            Self::ReuseFull => "half a round trip, all in memory that was used before",
            Self::ReuseRatio => "`reuse_none` by `reuse_full`",
            Self::Overlap => {
                "barrier; irecv | isend; both compute; both wait: what each call and each wait takes"
            }
            Self::HiddenSend => {
                "isend, compute, wait | recv: the share of the transfer that the sender can hide"
            }
            Self::HiddenReceive => {
                "irecv, compute, wait | send: the share of the transfer that the receiver can hide"
            }
            Self::Allreduce => "an allreduce of all ranks that sums doubles",
            Self::Barrier => "a barrier of all ranks",
        }
    }

    /// The sizes that are measured unless others are asked for, in bytes.
    pub fn own_sizes(self) -> &'static [u64] {
        match self {
            Self::Latency => &[0, 8, 64, 512, 2 * KI, 4 * KI, 16 * KI, 64 * KI, 256 * KI, MI],
            Self::Bandwidth | Self::Bibandwidth | Self::MultiPair => {
                &[8, 64, 512, 4 * KI, 16 * KI, 64 * KI, 256 * KI, MI, 4 * MI]
            }
            Self::ReuseNone | Self::ReuseHalf | Self::ReuseFull | Self::ReuseRatio => {
                &[64, 512, 4 * KI, 8 * KI, 16 * KI, 64 * KI, 256 * KI, MI]
            }
            Self::MultiLatency | Self::MultiBandwidth => &[8, 4 * KI, 64 * KI, MI],
            Self::MessageRate | Self::Stream | Self::Reversed => &[8],
            Self::Sendrecv => &[8, 64 * KI, MI],
            Self::Allreduce => &[8, 512, 4 * KI, 64 * KI, MI],
            Self::Overlap => &[64 * KI, 256 * KI, MI, 4 * MI],
            Self::HiddenSend | Self::HiddenReceive => &[64 * KI, MI],
            Self::Barrier => &[0],
        }
    }

    /// Whether its messages have a size.
    pub fn has_sizes(self) -> bool {
        self != Self::Barrier
    }

    /// Whether it is between exactly two ranks.
    pub fn is_of_two(self) -> bool {
        !matches!(self, Self::MultiPair | Self::Allreduce | Self::Barrier) && !self.has_connections()
    }

    /// Whether it is between rank 0 and several partners, and has a value for each number of them.
    pub fn has_connections(self) -> bool {
        matches!(self, Self::MultiLatency | Self::MultiBandwidth)
    }

    /// How many percent of the messages are in memory that was used before; none where that is not measured.
    pub(crate) fn reused_percent(self) -> Option<usize> {
        match self {
            Self::ReuseNone => Some(0),
            Self::ReuseHalf => Some(50),
            Self::ReuseFull | Self::ReuseRatio => Some(100),
            _ => None,
        }
    }

    /// Whether a greater value is the better one.
    pub fn is_rate(self) -> bool {
        matches!(self.unit(), "MB/s" | "messages/s")
    }

    /// Whether the value is a share of the time, found by a search, rather than the time of a batch.
    pub(crate) fn is_hidden_share(self) -> bool {
        matches!(self, Self::HiddenSend | Self::HiddenReceive)
    }

    /// Whether a batch is a single call: each begins with both ranks at the same place, or with new memory.
    pub(crate) fn is_single(self) -> bool {
        self.is_hidden_share() || self == Self::Overlap || self.reused_percent().is_some()
    }

    /// Whether the receivers need a place for each message of a window.
    pub(crate) fn is_windowed(self) -> bool {
        matches!(self, Self::Bandwidth | Self::Bibandwidth | Self::MessageRate)
            || matches!(self, Self::MultiPair | Self::MultiBandwidth)
    }

    /// Messages of a call of one pair, both directions counted.
    pub(crate) fn messages(self) -> usize {
        match self {
            Self::Bibandwidth => 2 * WINDOW,
            Self::Reversed => REVERSED,
            _ if self.is_windowed() => WINDOW,
            _ => 1,
        }
    }

    pub(crate) fn clock(self) -> Clock {
        match self {
            Self::MultiPair => Clock::Leaders,
            _ => Clock::First,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_its_name_and_written_by_it() {
        for benchmark in Benchmark::ALL {
            assert_eq!(Benchmark::from_name(benchmark.name()), Some(benchmark));
            let json = serde_json::to_value(benchmark).expect("it is text");
            assert_eq!(json, benchmark.name());
        }
        assert_eq!(Benchmark::from_name("latencies"), None);
    }

    #[test]
    fn own_sizes_ascend_and_can_be_measured() {
        for sizes in Benchmark::ALL.map(Benchmark::own_sizes) {
            assert!(sizes.is_sorted() && sizes.iter().all(|size| *size <= SIZE_MAX), "{sizes:?}");
        }
    }
}
