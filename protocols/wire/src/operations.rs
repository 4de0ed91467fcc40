//! What a rank has a transport do with a peer's memory, and what is reported to it.
//!
//! One set of types for all who speak of it. A type parameter says what a packet is there: to a rank, what its protocol
//! decided; to a transport, encoded bytes.

use crate::{Context, Handle, Memory, RankId};
use core::convert::Infallible;

/// A write into a peer's memory, and the packet behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Write<N> {
    /// The peer whose memory is written.
    pub to: RankId,
    /// The source, in this process.
    pub from: Memory,
    /// The destination, at the peer.
    pub into: Memory,
    /// Bytes to copy.
    pub len: u64,
    /// The request that [`Report::Written`] names.
    pub request: Handle,
    /// The packet to send behind the data.
    pub notice: Option<N>,
}

impl<N> Write<N> {
    /// The same write, its notice as somebody else knows it.
    #[inline]
    pub fn map<M>(self, notice: impl FnOnce(N) -> M) -> Write<M> {
        let Self { to, from, into, len, request, .. } = self;
        Write { to, from, into, len, request, notice: self.notice.map(notice) }
    }
}

/// A read of a peer's memory, and the packet behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Read<N> {
    /// The peer whose memory is read.
    pub of: RankId,
    /// The source, at the peer.
    pub from: Memory,
    /// The destination, in this process.
    pub into: Memory,
    /// Bytes to copy.
    pub len: u64,
    /// The request that [`Report::Read`] names.
    pub request: Handle,
    /// The packet to send to `of` once the data is in place; it goes to the sender, as all packets of a receiver do. It
    /// leaves without the reader's help, so the peer may see it before the completion is reported here.
    pub notice: Option<N>,
}

impl<N> Read<N> {
    /// The same read, its notice as somebody else knows it.
    #[inline]
    pub fn map<M>(self, notice: impl FnOnce(N) -> M) -> Read<M> {
        let Self { of, from, into, len, request, .. } = self;
        Read { of, from, into, len, request, notice: self.notice.map(notice) }
    }
}

/// What is reported to a rank, or to its driver. `P` is a packet as the recipient knows it. `A` is what a driver adds
/// to the reports of transports, which have nothing of the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
pub enum Report<P, A = Infallible> {
    /// A packet of a peer. Its data is at hand while it is reported.
    Packet {
        /// The sender.
        from: RankId,
        /// In which context.
        context: Context,
        /// The packet.
        packet: P,
    },
    /// The write of this request is complete: its source may be reused.
    Written(Handle),
    /// The read of this request is complete: its data is in place.
    Read(Handle),
    /// The atomic of this request is complete, and has found this value.
    Fetched(Handle, u64),
    /// A driver has announced this receive.
    Announce(A),
    /// The connection to a peer is broken; nothing that it owes will come. Reported once, before completions of operations
    /// that failed because of it, and after all packets of the peer.
    Lost(RankId),
}

impl<P> Report<P> {
    /// The report of a transport as its driver hands it on: its packet, if it is one, decoded.
    ///
    /// # Errors
    /// Those of `decode`, with the sender.
    #[inline]
    pub fn decoded<Q, A, E>(
        self,
        decode: impl FnOnce(P) -> Result<Q, E>,
    ) -> Result<Report<Q, A>, (RankId, E)> {
        match self {
            Self::Packet { from, context, packet } => match decode(packet) {
                Ok(packet) => Ok(Report::Packet { from, context, packet }),
                Err(error) => Err((from, error)),
            },
            Self::Written(request) => Ok(Report::Written(request)),
            Self::Read(request) => Ok(Report::Read(request)),
            Self::Fetched(request, found) => Ok(Report::Fetched(request, found)),
            Self::Lost(peer) => Ok(Report::Lost(peer)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_decoded_or_its_sender_is_told() {
        let (peer, request) = (RankId(3), Handle { index: 1, generation: 2 });
        let packet = |packet| Report::Packet { from: peer, context: Context::MESSAGES, packet };
        let decode = |byte: u8| byte.checked_add(1).ok_or("too much");
        let decoded = |report: Report<u8>| report.decoded::<_, Infallible, _>(decode);
        assert_eq!(decoded(packet(7)), Ok(packet(8)));
        assert_eq!(decoded(packet(255)), Err((peer, "too much")));
        assert_eq!(decoded(Report::Written(request)), Ok(Report::Written(request)));
        assert_eq!(decoded(Report::Read(request)), Ok(Report::Read(request)));
        assert_eq!(decoded(Report::Lost(peer)), Ok(Report::Lost(peer)));
    }
}
