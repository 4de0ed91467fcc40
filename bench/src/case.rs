//! The cases of an overlap, and its calls.

use serde::{Serialize, Serializer};

/// The most messages of a case.
pub(crate) const MESSAGES_MAX: usize = 2;

/// Which rank begins, and with how many messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Case {
    /// The receive is posted before its message is sent.
    ReceiverEarly,
    /// The same with two receives, one right after the other, and two sends.
    ReceiverEarlyTwo,
    /// The message is sent before its receive is posted.
    SenderEarly,
    /// The same with two sends, one right after the other, and two receives.
    SenderEarlyTwo,
}

impl Case {
    /// In the order in which they are measured.
    pub const ALL: [Self; 4] =
        [Self::ReceiverEarly, Self::ReceiverEarlyTwo, Self::SenderEarly, Self::SenderEarlyTwo];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReceiverEarly => "receiver_early",
            Self::ReceiverEarlyTwo => "receiver_early_two",
            Self::SenderEarly => "sender_early",
            Self::SenderEarlyTwo => "sender_early_two",
        }
    }

    /// How many messages there are.
    pub fn messages(self) -> usize {
        match self {
            Self::ReceiverEarly | Self::SenderEarly => 1,
            Self::ReceiverEarlyTwo | Self::SenderEarlyTwo => MESSAGES_MAX,
        }
    }

    /// The calls that are measured, message by message.
    pub fn calls(self) -> impl Iterator<Item = Call> {
        (0..self.messages()).flat_map(|message| CallKind::ALL.map(|kind| Call { kind, message }))
    }

    /// Whether it is the sender that is late.
    pub fn receiver_is_early(self) -> bool {
        matches!(self, Self::ReceiverEarly | Self::ReceiverEarlyTwo)
    }
}

/// A call of an overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// Which.
    pub kind: CallKind,
    /// Of which message, from 0.
    pub message: usize,
}

/// The calls of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallKind {
    /// The receiver's first call.
    Irecv,
    /// Its wait, after it has computed.
    RecvWait,
    /// The sender's first call.
    Isend,
    /// Its wait, after it has computed.
    SendWait,
}

impl CallKind {
    /// The receiver's, then the sender's.
    pub const ALL: [Self; 4] = [Self::Irecv, Self::RecvWait, Self::Isend, Self::SendWait];

    /// Whether it is the sender's.
    pub fn is_sender(self) -> bool {
        matches!(self, Self::Isend | Self::SendWait)
    }

    /// Whether it ends a request.
    pub fn is_wait(self) -> bool {
        matches!(self, Self::RecvWait | Self::SendWait)
    }
}

impl Call {
    /// Its name in results: `irecv`, `recv_wait`, `isend`, `send_wait`; of the second message with a `2`.
    pub fn name(self) -> &'static str {
        match (self.kind, self.message) {
            (CallKind::Irecv, 0) => "irecv",
            (CallKind::RecvWait, 0) => "recv_wait",
            (CallKind::Isend, 0) => "isend",
            (CallKind::SendWait, 0) => "send_wait",
            (CallKind::Irecv, _) => "irecv2",
            (CallKind::RecvWait, _) => "recv_wait2",
            (CallKind::Isend, _) => "isend2",
            (CallKind::SendWait, _) => "send_wait2",
        }
    }
}

impl Serialize for Call {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The subject of a value of an overlap.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Overlapped {
    /// Which rank begins.
    pub case: Case,
    /// Which call the value is the time of.
    pub call: Call,
    /// How long both ranks compute.
    pub compute_us: u64,
    /// Exchanges in which the late rank began before the early one's first calls had returned, because the system had
    /// stopped that one: their times are among the others.
    pub out_of_order: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_call_of_each_message_has_a_name_of_its_own() {
        for case in Case::ALL {
            let names: BTreeSet<&str> = case.calls().map(Call::name).collect();
            assert_eq!(names.len(), 4 * case.messages(), "{names:?}");
            assert_eq!(serde_json::to_value(case).expect("it is text"), case.name());
        }
        let waits = Case::SenderEarlyTwo.calls().filter(|call| call.kind.is_wait());
        let names: Vec<&str> = waits.map(Call::name).collect();
        assert_eq!(names, ["recv_wait", "send_wait", "recv_wait2", "send_wait2"]);
    }
}
