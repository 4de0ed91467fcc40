//! Reading a trace, of which nothing is believed.

use crate::seal::Seal;
use crate::{Record, TraceEnd, TraceHead, VERSION, part_of, rank_of};
use carrousel_rank::Options;
use serde::Deserialize;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// More ranks than a trace may have are refused: whoever replays it names them by 16 bits.
pub const RANKS_MAX: u32 = 1 << 16;
/// Bytes of the longest line: a communicator of all ranks that there may be has fewer.
const LINE_MAX: u64 = 1 << 20;

/// What is wrong with a trace.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The system refuses.
    #[error("cannot {doing} {}: {source}", path.display())]
    System {
        /// What was tried.
        doing: &'static str,
        /// With this file or directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A directory is no place for a trace.
    #[error("{} is no part of a trace: a new trace does not go where other things are", path.display())]
    NotATrace {
        /// What is there.
        path: PathBuf,
    },
    /// There is no part.
    #[error("{} has no part of a trace (rank-0.jsonl, rank-1.jsonl, ..)", path.display())]
    Empty {
        /// The directory.
        path: PathBuf,
    },
    /// A line is not what should stand there.
    #[error("{}:{line}: {why}", path.display())]
    InvalidLine {
        /// The part.
        path: PathBuf,
        /// From 1.
        line: u64,
        /// What is wrong.
        why: String,
    },
    /// A line is not the one that was recorded there.
    #[error("{}:{line}: {why}", path.display())]
    Altered {
        /// The part.
        path: PathBuf,
        /// From 1.
        line: u64,
        /// How that shows.
        why: String,
    },
    /// Two parts are not of one job.
    #[error("{} is of another job than {}: their {what} differ", path.display(), other.display())]
    OtherJob {
        /// A part.
        path: PathBuf,
        /// Another one.
        other: PathBuf,
        /// In what they differ.
        what: &'static str,
    },
}

impl TraceError {
    /// What to do about it, if that can be said.
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
    /// What all of them were made with.
    pub options: Options,
    /// The program and its arguments, as the first rank that has a part was started with.
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
    /// When there is none, a part has no head that can be read, or parts are not of one job.
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

/// One rank's part, record after record.
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

/// What every version of the format begins with.
#[derive(Deserialize)]
struct Version {
    carrousel_trace: u32,
}

impl TracePart {
    fn open(path: &Path) -> Result<(Self, TraceHead), TraceError> {
        let system = |source| TraceError::System { doing: "read", path: path.to_owned(), source };
        // Before it is opened: whoever opens a pipe waits for its writer.
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

    /// Where it is.
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

    /// How it ends; `None` as long as its last line has not been read, and for good if it is cut short.
    pub fn end(&self) -> Option<TraceEnd> {
        self.end
    }

    /// The next record; `None` behind the last one.
    ///
    /// # Errors
    /// When a line is no record, or not the one that was recorded there, or something stands behind the last one.
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

    /// Checks the value at the end of the line that was read, and takes it away.
    fn open_seal(&mut self) -> Result<(), TraceError> {
        let Self { seal, text, .. } = self;
        let opened = seal.open(text);
        opened.map_err(|error| TraceError::Altered {
            path: self.path.clone(),
            line: self.line,
            why: error.to_string(),
        })
    }

    /// Reads a line. False at the end; what is not ended by a line feed was cut short, and is none.
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
