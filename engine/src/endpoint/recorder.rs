//! What records the inputs of a rank: of an [open](super::Endpoint::open) endpoint, with the addresses of its peers.

use super::names::Names;
use carrousel_rank::RankId;
use carrousel_trace::{Record, Recorder, TraceEnd};

/// A recorder, and of an open endpoint, which of its peers have been named so far.
pub(super) struct EndpointRecorder {
    recorder: Recorder,
    names: Option<Names>,
    named: u32,
}

impl EndpointRecorder {
    /// With the names of an open endpoint's peers; its own number is in the head.
    pub(super) fn new(recorder: Recorder, names: Option<Names>) -> Self {
        Self { recorder, names, named: 1 }
    }

    /// Whether the endpoint numbers its peers itself.
    pub(super) fn is_of_open(&self) -> bool {
        self.names.is_some()
    }

    /// Records, after the peers that the endpoint has numbered since the last record.
    pub(super) fn record(&mut self, record: &Record) {
        if let Some(names) = &self.names {
            while let Some(address) = names.address_of(RankId(self.named)) {
                self.recorder.record(&Record::Peer { rank: self.named, address });
                self.named += 1;
            }
        }
        self.recorder.record(record);
    }

    /// Hands the records so far to the system.
    pub(super) fn flush(&mut self) {
        self.recorder.flush();
    }

    /// Writes the last record.
    pub(super) fn end(&mut self, end: TraceEnd) {
        self.recorder.end(end);
    }
}
