//! The frames between a launcher and its agent on another host: a line with a length and a header in JSON, and then
//! as many bytes.

use crate::ending::Ending;
use crate::flow::Inbox;
use crate::job::NodeShare;
use crate::server::LINE_MAX;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The first line of an agent, after any text that the login itself prints.
pub(crate) const HELLO: &str = concat!("carrousel agent ", env!("CARGO_PKG_VERSION"));
/// The beginning of that line in every version.
pub(crate) const AGENT: &str = "carrousel agent ";
/// Bytes of the longest header, which holds a job's arguments and environment.
const HEADER_MAX: usize = 8 << 20;

/// A command of the launcher to the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum AgentCommand {
    /// Start these ranks. Always the first frame, and only the first.
    Start(NodeShare),
    /// Write the bytes to this rank's PMI connection.
    Line { rank: u32 },
    /// Send this signal to all ranks.
    Signal(i32),
    /// The bytes are standard input of rank 0.
    Input,
    /// Standard input has ended.
    InputOver,
    /// Stop reading the output of ranks, so that they block; or resume. All other events are sent as before.
    Pause(bool),
}

/// An event of the ranks of an agent, which the agent sends to the launcher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum AgentEvent {
    /// This rank has sent the line in the bytes.
    Line { rank: u32 },
    /// Ranks have written the lines in the bytes, for standard output (0) or error (1).
    Output { stream: u32 },
    /// Rank 0 has taken this many more bytes of standard input.
    StdinTaken { bytes: usize },
    /// A rank's process goes on as this program, and has closed its connection.
    Disconnected { rank: u32, program: String },
    /// A rank's process has ended.
    Ended { rank: u32, ending: Ending },
    /// The ranks cannot be started: the error's text and its [`LaunchError::status`](crate::LaunchError::status).
    Failed { message: String, status: Option<u8> },
    /// Nothing is left on this host.
    Done,
}

/// The other side does not keep to the format. Both sides are this library, so the connection is broken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum FrameError {
    #[error("a frame has no valid header")]
    InvalidHeader,
    #[error("a frame of {length} bytes is too long")]
    TooLong { length: usize },
}

/// A frame as bytes.
pub(crate) fn encode(header: &impl Serialize, payload: &[u8]) -> Vec<u8> {
    let header = serde_json::to_string(header).expect("headers have no maps with keys that are no text");
    let mut bytes = format!("{} {header}\n", payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

/// Takes a frame, if a whole one has arrived.
pub(crate) fn decode<H: DeserializeOwned>(inbox: &mut Inbox) -> Result<Option<(H, Vec<u8>)>, FrameError> {
    let Some(end) = inbox.line_end() else {
        return if inbox.len() < HEADER_MAX { Ok(None) } else { Err(FrameError::InvalidHeader) };
    };
    if end > HEADER_MAX {
        return Err(FrameError::InvalidHeader);
    }
    let header = str::from_utf8(&inbox.bytes()[..end]).map_err(|_| FrameError::InvalidHeader)?;
    let (length, header) = header.split_once(' ').ok_or(FrameError::InvalidHeader)?;
    let length: usize = length.parse().map_err(|_| FrameError::InvalidHeader)?;
    if length > LINE_MAX + 1 {
        return Err(FrameError::TooLong { length });
    }
    if inbox.len() < end + 1 + length {
        return Ok(None);
    }
    let header = serde_json::from_str(header).map_err(|_| FrameError::InvalidHeader)?;
    let mut bytes = inbox.take(end + 1 + length);
    bytes.drain(..=end);
    Ok(Some((header, bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn inbox(bytes: &[u8]) -> Inbox {
        let (read, mut write) = std::io::pipe().expect("there are pipes");
        write.write_all(bytes).expect("it fits");
        drop(write);
        let mut inbox = Inbox::default();
        inbox.fill(&read);
        inbox
    }

    #[test]
    fn frames_are_read_back() {
        let first = encode(&AgentEvent::Output { stream: 1 }, b"a\n\xff\n");
        let second = encode(&AgentEvent::Ended { rank: 3, ending: Ending::Killed(9) }, b"");
        let mut both = inbox(&[first, second].concat());
        let read: Option<(AgentEvent, _)> = decode(&mut both).expect("it is right");
        assert_eq!(read, Some((AgentEvent::Output { stream: 1 }, b"a\n\xff\n".to_vec())));
        let read: Option<(AgentEvent, _)> = decode(&mut both).expect("it is right");
        assert_eq!(read, Some((AgentEvent::Ended { rank: 3, ending: Ending::Killed(9) }, Vec::new())));
        assert_eq!(decode::<AgentEvent>(&mut both), Ok(None));
    }

    #[test]
    fn half_a_frame_is_waited_for() {
        let whole = encode(&AgentCommand::Input, b"data");
        for length in 0..whole.len() {
            assert_eq!(decode::<AgentCommand>(&mut inbox(&whole[..length])), Ok(None), "{length}");
        }
    }

    #[test]
    fn invalid_frames_are_refused() {
        assert_eq!(decode::<AgentCommand>(&mut inbox(b"x \"Input\"\n")), Err(FrameError::InvalidHeader));
        assert_eq!(decode::<AgentCommand>(&mut inbox(b"0 \"Nothing\"\n")), Err(FrameError::InvalidHeader));
        let length = 99_999_999;
        assert_eq!(
            decode::<AgentCommand>(&mut inbox(b"99999999 \"Input\"\n")),
            Err(FrameError::TooLong { length })
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_frame_or_not(bytes in "[0-9]{0,2} ?(\"Input\"|\"Done\"|\\{\"Signal\":[0-9]{0,12}\\})?\n?\\PC{0,5}") {
            let _ = decode::<AgentCommand>(&mut inbox(bytes.as_bytes()));
            let _ = decode::<AgentEvent>(&mut inbox(bytes.as_bytes()));
        }
    }
}
