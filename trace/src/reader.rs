//! Reading a trace. Nothing about its files is trusted.

use crate::seal::Seal;
use crate::{Record, TraceEnd, TraceHead, VERSION, part_of, rank_of};
use carrousel_rank::Options;
use serde::Deserialize;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Ranks of the largest trace that is read: a replay numbers them with 16 bits.
pub const RANKS_MAX: u32 = 1 << 16;
/// Bytes of the longest line: the definition of a communicator of [`RANKS_MAX`] ranks has fewer.
const LINE_MAX: u64 = 1 << 20;

/// Why a trace cannot be read, or not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The system has refused an operation.
    #[error("cannot {doing} {}: {source}", path.display())]
    System {
        /// The operation.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A directory for a new trace contains a file that is not part of a trace.
    #[error("{} is no part of a trace: a new trace does not go where other things are", path.display())]
    NotATrace {
        /// That file.
        path: PathBuf,
    },
    /// A directory has no part of a trace.
    #[error("{} has no part of a trace (rank-0.jsonl, rank-1.jsonl, ..)", path.display())]
    Empty {
        /// The directory.
        path: PathBuf,
    },
    /// A line is not valid there.
    #[error("{}:{line}: {why}", path.display())]
    InvalidLine {
        /// The part.
        path: PathBuf,
        /// From 1.
        line: u64,
        /// The reason.
        why: String,
    },
    /// A line is not the one that was recorded there: its check value is missing or wrong.
    #[error("{}:{line}: {why}", path.display())]
    Altered {
        /// The part.
        path: PathBuf,
        /// From 1.
        line: u64,
        /// How it was detected.
        why: String,
    },
    /// Two parts belong to different jobs.
    #[error("{} is of another job than {}: their {what} differ", path.display(), other.display())]
    OtherJob {
        /// A part.
        path: PathBuf,
        /// Another one.
        other: PathBuf,
        /// The property in which they differ.
        what: &'static str,
    },
}

impl TraceError {
    /// The remedy, if one is known.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::NotATrace { .. } => Some("name a directory that is empty, or not there yet"),
            Self::Empty { .. } => Some("`carrousel run --trace DIRECTORY ..` writes one"),
            Self::OtherJob { .. } => Some("remove what is left of an earlier trace, and record once more"),
            Self::Altered { .. } => Some(
                "this is not what was recorded: copy it once more from where it was, or record once more",
            ),
            Self::System { .. } | Self::InvalidLine { .. } => None,
        }
    }
}

/// The parts of a trace.
#[derive(Debug)]
pub struct Trace {
    /// How many ranks the job had.
    pub ranks: u32,
    /// The options that all ranks were made with.
    pub options: Options,
    /// The program and its arguments, from the first part that there is.
    pub command: Vec<String>,
    /// By rank; `None` for a rank that has recorded nothing.
    pub parts: Vec<Option<TracePart>>,
    /// Bytes of all parts.
    pub bytes: u64,
}

impl Trace {
    /// Opens the trace in `directory`.
    ///
    /// # Errors
    /// When the directory has no part, a part has no valid head, or parts belong to different jobs.
    pub fn open(directory: &Path) -> Result<Self, TraceError> {
        let system = |source| TraceError::System { doing: "read", path: directory.to_owned(), source };
        let mut found = Vec::new();
        for entry in fs::read_dir(directory).map_err(system)? {
            let name = entry.map_err(system)?.file_name();
            found.extend(rank_of(&name.to_string_lossy()));
        }
        found.sort_unstable();
        let mut bytes = 0;
        let mut parts = Vec::new();
        let mut first: Option<(TraceHead, PathBuf)> = None;
        for rank in found {
            let path = part_of(directory, rank);
            let (part, head) = TracePart::open(&path)?;
            bytes += part.bytes;
            let (of, other) = first.get_or_insert_with(|| (head.clone(), path.clone()));
            let other_job = |what| TraceError::OtherJob { path: path.clone(), other: other.clone(), what };
            if head.ranks != of.ranks {
                return Err(other_job("numbers of ranks"));
            }
            if head.options != of.options {
                return Err(other_job("options"));
            }
            if head.rank != rank {
                return Err(part.invalid_line(format_args!("it is the part of rank {}", head.rank)));
            }
            parts.resize_with(rank as usize, || None);
            parts.push(Some(part));
        }
        let Some((TraceHead { ranks, options, command, .. }, _)) = first else {
            return Err(TraceError::Empty { path: directory.to_owned() });
        };
        parts.resize_with(ranks as usize, || None);
        Ok(Self { ranks, options, command, parts, bytes })
    }
}

/// One rank's part, which is read record by record.
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
}

/// The field of the head that every version of the format has.
#[derive(Deserialize)]
struct Version {
    carrousel_trace: u32,
}

impl TracePart {
    fn open(path: &Path) -> Result<(Self, TraceHead), TraceError> {
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
        Ok((part, head))
    }

    /// The path of the part.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The line that was read last, from 1.
    pub fn line(&self) -> u64 {
        self.line
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

    fn invalid_line(&self, why: impl ToString) -> TraceError {
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
