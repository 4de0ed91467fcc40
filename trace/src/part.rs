//! Reading a part. Nothing about its file is trusted.

use crate::seal::Seal;
use crate::{Record, TraceEnd, TraceEndpoint, TraceError, TraceHead, VERSION};
use serde::Deserialize;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Ranks of the largest trace that is read: a replay numbers them with 16 bits.
pub const RANKS_MAX: u32 = 1 << 16;
/// Bytes of the longest line: the definition of a communicator of [`RANKS_MAX`] ranks has fewer.
const LINE_MAX: u64 = 1 << 20;

/// The part of a rank or endpoint, which is read record by record.
#[derive(Debug)]
pub struct TracePart {
    path: PathBuf,
    from: BufReader<File>,
    text: Vec<u8>,
    seal: Seal,
    line: u64,
    /// Bytes of the file.
    bytes: u64,
    read: u64,
    end: Option<TraceEnd>,
    rank: u32,
    ranks: u32,
    endpoint: Option<TraceEndpoint>,
}

/// The field of the head that every version of the format has.
#[derive(Deserialize)]
struct Version {
    carrousel_trace: u32,
}

impl TracePart {
    pub(crate) fn open(path: &Path) -> Result<(Self, TraceHead), TraceError> {
        let system = |source| TraceError::System { doing: "read", path: path.to_owned(), source };
        // Checked before it is opened: opening a pipe waits for a writer.
        let metadata = fs::metadata(path).map_err(system)?;
        if !metadata.is_file() {
            return Err(system(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")));
        }
        let bytes = metadata.len();
        let file = File::open(path).map_err(system)?;
        let mut part = Self {
            path: path.to_owned(),
            from: BufReader::new(file),
            text: Vec::new(),
            seal: Seal::default(),
            line: 0,
            bytes,
            read: 0,
            end: None,
            rank: 0,
            ranks: 0,
            endpoint: None,
        };
        if !part.read_line()? {
            part.line = 1;
            return Err(part.invalid_line("the head is missing, or cut short"));
        }
        let version = serde_json::from_slice::<Version>(&part.text);
        let version =
            version.map_err(|error| part.invalid_line(format_args!("no head of a trace: {error}")))?;
        if version.carrousel_trace != VERSION {
            let found = version.carrousel_trace;
            return Err(part.invalid_line(format_args!(
                "version {found} of the format, and this command reads {VERSION}"
            )));
        }
        part.open_seal()?;
        let head: TraceHead = serde_json::from_slice(&part.text).map_err(|error| part.invalid_line(error))?;
        if head.ranks > RANKS_MAX || head.rank >= head.ranks {
            let TraceHead { rank, ranks, .. } = head;
            return Err(part
                .invalid_line(format_args!("rank {rank} of {ranks}: expected one of at most {RANKS_MAX}")));
        }
        (part.rank, part.ranks, part.endpoint) = (head.rank, head.ranks, head.endpoint.clone());
        Ok((part, head))
    }

    /// The rank of the part, and how many there are: those of the job, or an [endpoint](TracePart::endpoint)'s own
    /// numbers.
    pub fn numbers(&self) -> (u32, u32) {
        (self.rank, self.ranks)
    }

    /// The endpoint that has recorded, if it has numbered its peers itself.
    pub fn endpoint(&self) -> Option<&TraceEndpoint> {
        self.endpoint.as_ref()
    }

    /// The path of the part.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The line that was read last, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Bytes of the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes that have been read.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// How the part ends; `None` until its last line has been read, and always for a part that was cut short.
    pub fn end(&self) -> Option<TraceEnd> {
        self.end
    }

    /// The next record; `None` after the last one.
    ///
    /// # Errors
    /// When a line is not a record, or not the one that was recorded there, or a line follows the last one.
    pub fn next_record(&mut self) -> Result<Option<Record>, TraceError> {
        if !self.read_line()? {
            return Ok(None);
        }
        if self.end.is_some() {
            return Err(self.invalid_line("something stands behind the end"));
        }
        self.open_seal()?;
        let record = serde_json::from_slice(&self.text).map_err(|error| self.invalid_line(error))?;
        match record {
            Record::End(end) => {
                self.end = Some(end);
                self.next_record()
            }
            record => Ok(Some(record)),
        }
    }

    /// The line that was read last is not valid.
    pub(crate) fn invalid_line(&self, why: impl ToString) -> TraceError {
        TraceError::InvalidLine { path: self.path.clone(), line: self.line, why: why.to_string() }
    }

    /// Checks the check value of the line that was read, and removes it.
    fn open_seal(&mut self) -> Result<(), TraceError> {
        let Self { seal, text, .. } = self;
        let opened = seal.open(text);
        opened.map_err(|error| TraceError::Altered {
            path: self.path.clone(),
            line: self.line,
            why: error.to_string(),
        })
    }

    /// Reads a line. False at the end: bytes without a line feed are a line that was cut short, and do not count.
    fn read_line(&mut self) -> Result<bool, TraceError> {
        self.text.clear();
        let mut from = (&mut self.from).take(LINE_MAX);
        let got = from.read_until(b'\n', &mut self.text).map_err(|source| TraceError::System {
            doing: "read",
            path: self.path.clone(),
            source,
        })?;
        self.read += got as u64;
        if self.text.last() == Some(&b'\n') {
            self.line += 1;
            return Ok(true);
        }
        if got as u64 == LINE_MAX {
            self.line += 1;
            return Err(self.invalid_line(format_args!("a line of more than {LINE_MAX} bytes")));
        }
        Ok(false)
    }
}
