//! Reading a part, in either form. Nothing about its file is trusted.

use crate::compact::{CompactError, Decoder, MAGIC};
use crate::seal::Seal;
use crate::{Record, TraceEnd, TraceEndpoint, TraceError, TraceHead, VERSION};
use serde::Deserialize;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Ranks of the largest trace that is read: a replay numbers them with 16 bits.
pub const RANKS_MAX: u32 = 1 << 16;
/// Bytes of the longest line: the definition of a communicator of [`RANKS_MAX`] ranks has fewer.
const LINE_MAX: usize = 1 << 20;

/// The part of a rank or endpoint, which is read record by record.
#[derive(Debug)]
pub struct TracePart {
    path: PathBuf,
    from: BufReader<File>,
    text: Vec<u8>,
    form: Form,
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

/// How the lines of a part are written.
#[derive(Debug)]
enum Form {
    /// As text, each with its check value.
    Text,
    /// As a recorder writes them; with the check value of the line that was read last.
    Compact(Decoder, u32),
}

/// The field of the head that every version of the format has.
#[derive(Deserialize)]
struct Version {
    carrousel_trace: u32,
}

impl TracePart {
    pub(crate) fn open(path: &Path) -> Result<(Self, TraceHead), TraceError> {
        let mut part = Self::of(path)?;
        let head = part.read_head()?;
        Ok((part, head))
    }

    /// A part of which nothing has been read.
    pub(crate) fn of(path: &Path) -> Result<Self, TraceError> {
        let system = |source| TraceError::System { doing: "read", path: path.to_owned(), source };
        // Checked before it is opened: opening a pipe waits for a writer.
        let metadata = fs::metadata(path).map_err(system)?;
        if !metadata.is_file() {
            return Err(system(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")));
        }
        let bytes = metadata.len();
        let file = File::open(path).map_err(system)?;
        let mut from = BufReader::new(file);
        let mut form = Form::Text;
        let mut read = 0;
        if from.fill_buf().map_err(system)?.starts_with(MAGIC) {
            from.consume(MAGIC.len());
            read = MAGIC.len() as u64;
            form = Form::Compact(Decoder::default(), 0);
        }
        Ok(Self {
            path: path.to_owned(),
            from,
            text: Vec::new(),
            form,
            seal: Seal::default(),
            line: 0,
            bytes,
            read,
            end: None,
            rank: 0,
            ranks: 0,
            endpoint: None,
        })
    }

    fn read_head(&mut self) -> Result<TraceHead, TraceError> {
        if !self.read_line()? {
            self.line = 1;
            return Err(self.invalid_line("the head is missing, or cut short"));
        }
        let version = serde_json::from_slice::<Version>(&self.text);
        let version =
            version.map_err(|error| self.invalid_line(format_args!("no head of a trace: {error}")))?;
        if version.carrousel_trace != VERSION {
            let found = version.carrousel_trace;
            return Err(self.invalid_line(format_args!(
                "version {found} of the format, and this command reads {VERSION}"
            )));
        }
        self.open_seal()?;
        let head: TraceHead = serde_json::from_slice(&self.text).map_err(|error| self.invalid_line(error))?;
        if head.ranks > RANKS_MAX || head.rank >= head.ranks {
            let TraceHead { rank, ranks, .. } = head;
            return Err(self
                .invalid_line(format_args!("rank {rank} of {ranks}: expected one of at most {RANKS_MAX}")));
        }
        (self.rank, self.ranks, self.endpoint) = (head.rank, head.ranks, head.endpoint.clone());
        Ok(head)
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

    /// The next line as text, without its check value and with its line feed; `None` at the end.
    ///
    /// # Errors
    /// When a line is not the one that was recorded there.
    pub(crate) fn next_line(&mut self) -> Result<Option<&[u8]>, TraceError> {
        if !self.read_line()? {
            return Ok(None);
        }
        self.open_seal()?;
        Ok(Some(&self.text))
    }

    /// Checks the check value of the line that was read, and removes it.
    fn open_seal(&mut self) -> Result<(), TraceError> {
        let Self { form, seal, text, .. } = self;
        let opened = match form {
            Form::Text => seal.open(text),
            Form::Compact(_, value) => seal.check(text, *value),
        };
        opened.map_err(|error| TraceError::Altered {
            path: self.path.clone(),
            line: self.line,
            why: error.to_string(),
        })
    }

    /// Reads a line. False at the end: a line that was cut short does not count.
    fn read_line(&mut self) -> Result<bool, TraceError> {
        let Self { form, from, text, .. } = self;
        match form {
            Form::Text => self.read_text(),
            Form::Compact(decoder, value) => {
                let before = decoder.read();
                let decoded = decoder.decode(from, text, LINE_MAX);
                self.read += decoder.read() - before;
                match decoded {
                    Ok(Some(found)) => {
                        *value = found;
                        text.push(b'\n');
                        self.line += 1;
                        Ok(true)
                    }
                    Ok(None) | Err(CompactError::Cut) => Ok(false),
                    Err(CompactError::System(source)) => Err(self.not_read(source)),
                    Err(error) => {
                        self.line += 1;
                        Err(self.invalid_line(error))
                    }
                }
            }
        }
    }

    /// Reads a line of text: bytes without a line feed are one that was cut short.
    fn read_text(&mut self) -> Result<bool, TraceError> {
        self.text.clear();
        let mut from = (&mut self.from).take(LINE_MAX as u64);
        let got = from.read_until(b'\n', &mut self.text).map_err(|source| self.not_read(source))?;
        self.read += got as u64;
        if self.text.last() == Some(&b'\n') {
            self.line += 1;
            return Ok(true);
        }
        if got == LINE_MAX {
            self.line += 1;
            return Err(self.invalid_line(format_args!("a line of more than {LINE_MAX} bytes")));
        }
        Ok(false)
    }

    fn not_read(&self, source: io::Error) -> TraceError {
        TraceError::System { doing: "read", path: self.path.clone(), source }
    }
}
