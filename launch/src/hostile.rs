//! Access to the parsers of this crate that read untrusted input, for fuzz targets and the replay of their corpora.
//! Not a part of the interface.

use crate::ending::Ending;
use crate::flow::Inbox;
use crate::line::{PmiLine, PmiLineWriter};
use crate::remote::frame::{AgentCommand, AgentEvent, decode, encode};
use crate::server::{self, PmiEffect};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::Write;

/// The launcher's side of PMI-1.
#[derive(Debug)]
pub struct FuzzedPmiServer(server::PmiServer);

impl FuzzedPmiServer {
    /// A server for the ranks of one program, so many on each of nodes 0, 1, ...
    pub fn new(ranks_by_node: &[u32]) -> Self {
        Self(server::PmiServer::new(ranks_by_node, &[ranks_by_node.iter().sum()]))
    }

    /// Takes a line of a rank, without its end. Returns the lines that are sent to ranks, each with its receiver.
    pub fn line(&mut self, rank: u32, line: &[u8]) -> Vec<(u32, String)> {
        let mut effects = Vec::new();
        self.0.handle(rank, line, &mut effects);
        let sent = |effect| match effect {
            PmiEffect::Send(rank, line) => Some((rank, line)),
            _ => None,
        };
        effects.into_iter().filter_map(sent).collect()
    }
}

/// Reads a launcher's line about the end of a rank, and writes it again.
pub fn ending(line: &[u8]) -> Option<String> {
    let ending = Ending::read(&PmiLine::parse(line).ok()?)?;
    Some(ending.write(PmiLineWriter::new("lost")).finish())
}

/// The node of each of `size` ranks, if the text is a process mapping.
pub fn mapping(text: &str, size: u32) -> Option<Vec<u32>> {
    crate::mapping::parse(text, size)
}

/// Reads the frames of a launcher up to the first invalid one, and writes each again.
pub fn commands(bytes: &[u8]) -> Vec<Vec<u8>> {
    frames::<AgentCommand>(bytes)
}

/// Reads the frames of an agent up to the first invalid one, and writes each again.
pub fn events(bytes: &[u8]) -> Vec<Vec<u8>> {
    frames::<AgentEvent>(bytes)
}

fn frames<H: Serialize + DeserializeOwned>(bytes: &[u8]) -> Vec<Vec<u8>> {
    /// Less than a pipe holds: it is filled before it is read.
    const BYTES_MAX: usize = 32 << 10;
    let Ok((read, mut write)) = std::io::pipe() else { return Vec::new() };
    let mut inbox = Inbox::default();
    if write.write_all(&bytes[..bytes.len().min(BYTES_MAX)]).is_err() {
        return Vec::new();
    }
    drop(write);
    while inbox.fill(&read) {}
    let mut frames = Vec::new();
    while let Ok(Some((header, payload))) = decode::<H>(&mut inbox) {
        frames.push(encode(&header, &payload));
    }
    frames
}
