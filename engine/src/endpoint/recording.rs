//! Recording the inputs of the rank, where the job is traced.
//!
//! A rank that is not traced pays a test for `None` where the rank is called, and nothing else.

use super::Endpoint;
use super::driver::Driver;
use super::recorder::EndpointRecorder;
use super::transports::Transports;
use super::work_executor::Data;
use crate::Error;
use crate::site::CallSite;
use carrousel_rank::{Arrived, Call, Communicator, Event, Handle, Members, Pattern, UsageError};
use carrousel_trace::{
    CallAnswer, HostLibrary, HostRank, Record, Recorder, TraceEnd, TraceEndpoint, TraceError, TraceHead,
    VERSION,
};
use carrousel_transport::Payload;
use std::env;
use std::path::Path;

/// The most bytes of the command line in a trace, where it is for a person.
const COMMAND_MAX: usize = 4 << 10;

impl Endpoint {
    /// Records all inputs of the rank from now on, in its part of the trace in `directory`. The rank must not have had any
    /// input before. With a `limit`, the part has that many bytes at most.
    pub fn trace_to(&mut self, directory: &Path, limit: Option<u64>) -> Result<(), Error> {
        self.record_in(directory, limit, None)
    }

    /// As [`Endpoint::trace_to`], of an [open](Endpoint::open) endpoint: what a launcher calls the process, and whose the
    /// endpoint is, goes into the trace, where peers are told apart by their addresses.
    pub fn trace_as(
        &mut self,
        directory: &Path,
        limit: Option<u64>,
        host: Option<HostRank>,
        library: Option<HostLibrary>,
    ) -> Result<(), Error> {
        let (address, process) = (self.full_address(), std::process::id());
        self.record_in(directory, limit, Some(TraceEndpoint { address, process, host, library }))
    }

    fn record_in(
        &mut self,
        directory: &Path,
        limit: Option<u64>,
        endpoint: Option<TraceEndpoint>,
    ) -> Result<(), Error> {
        let names = self.names.clone().filter(|_| endpoint.is_some());
        let head = TraceHead {
            carrousel_trace: VERSION,
            rank: self.me(),
            ranks: self.ranks,
            endpoint,
            command: command(),
            options: *self.driver.rank.options(),
        };
        let recorder = Recorder::create(directory, &head, limit);
        let recorder = recorder.map_err(|error: TraceError| Error::Trace(error.to_string()))?;
        self.driver.record(EndpointRecorder::new(recorder, names));
        Ok(())
    }

    /// Writes out what has been recorded, in the slow path: a process that is killed would lose it.
    pub(super) fn flush_trace(&mut self) {
        if let Some(recorder) = &mut self.driver.recorder {
            recorder.flush();
        }
    }

    /// Ends the trace of this rank.
    pub fn end_trace(&mut self, end: TraceEnd) {
        if let Some(mut recorder) = self.driver.recorder.take() {
            recorder.end(end);
        }
    }
}

/// The program and its arguments.
fn command() -> Vec<String> {
    let mut room = COMMAND_MAX;
    let words = env::args_os().map(|word| word.to_string_lossy().into_owned());
    words
        .take_while(|word| {
            let fits = word.len() < room;
            room = room.saturating_sub(word.len() + 1);
            fits
        })
        .collect()
}

impl Driver {
    #[cold]
    #[inline(never)]
    fn write_down(&mut self, record: &Record) {
        if let Some(recorder) = &mut self.recorder {
            recorder.record(record);
        }
    }

    /// Records a call and its result.
    pub(super) fn record_call(&mut self, call: Call, result: &Result<Handle, UsageError>, site: CallSite) {
        let answer = match result {
            Ok(request) => CallAnswer::Request(*request),
            Err(error) => CallAnswer::Refused(error.to_string()),
        };
        // Inside another library, the line that calls is not the application's.
        let is_open = self.recorder.as_ref().is_some_and(|recorder| recorder.is_of_open());
        let (file, line) = Some((site.file().into(), site.line())).filter(|_| !is_open).unzip();
        let ignored = std::mem::take(&mut self.ignored);
        self.write_down(&Record::Call { call, answer, file, line, ignored });
    }

    /// As [`Driver::release`], recorded.
    #[cold]
    #[inline(never)]
    pub(super) fn release_recorded(&mut self, request: Handle) {
        if let Ok(Some(status)) = self.rank.release(request) {
            self.write_down(&Record::Release { request, status });
        }
    }

    /// As [`Driver::feed`], recorded.
    #[cold]
    #[inline(never)]
    pub(super) fn event_recorded(
        &mut self,
        event: Event,
        data: Data<'_, impl Payload + ?Sized>,
        transports: &mut Transports<'_>,
    ) {
        self.record_event(event);
        self.feed(event, data, transports);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn record_event(&mut self, event: Event) {
        self.write_down(&Record::Event(event));
    }

    #[cold]
    pub(super) fn record_definition(&mut self, communicator: Communicator, members: &Members) {
        let members = members.iter().map(|rank| rank.0).collect();
        self.write_down(&Record::Define { communicator, members });
    }

    #[cold]
    pub(super) fn record_forgotten(&mut self, communicator: Communicator) {
        self.write_down(&Record::Forget { communicator });
    }

    #[cold]
    pub(super) fn record_probe(&mut self, pattern: Pattern, arrived: Arrived) {
        let Arrived { envelope, data, len } = arrived;
        self.write_down(&Record::Probe { pattern, envelope, data, len });
    }

    #[cold]
    pub(super) fn record_claim(&mut self, request: Handle, pattern: Pattern, arrived: Arrived) {
        let Arrived { envelope, data, len } = arrived;
        self.write_down(&Record::Claim { request, pattern, envelope, data, len });
    }
}
