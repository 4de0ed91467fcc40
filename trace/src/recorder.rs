//! Writing a part.

use crate::compact::{Encoder, MAGIC};
use crate::names::{endpoint_part, is_part, part_of};
use crate::seal::Seal;
use crate::{Record, TraceEnd, TraceError, TraceHead};
use carrousel_system::record;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Bytes that wait to be written, at most: a process that is killed loses them.
const BUFFER_BYTES: usize = 64 << 10;
/// Bytes that are kept free for the last record, whose form may be new.
const END_BYTES: u64 = 64;
/// The most endpoints that processes with one number have in a directory.
const ENDPOINTS_MAX: u32 = 1 << 16;

/// Records the inputs of one rank.
///
/// The part is in the compact form. Where it may have so many bytes only, its last record says that it has reached
/// its limit, and nothing is recorded from then on.
///
/// A recorder that is dropped before [`Recorder::end`] records that the process has left without it. An error of
/// writing is reported on standard error, once, and the part is cut short there: recording does not end a job.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    /// `None` after an error of writing, and after the last record.
    out: Option<BufWriter<record::Record>>,
    /// The line that is being written.
    text: Vec<u8>,
    /// Its compact form.
    packed: Vec<u8>,
    encoder: Encoder,
    seal: Seal,
    /// Bytes that may still be written.
    room: u64,
}

/// Makes `directory` ready for the parts of a new trace: it is created, or an old trace in it is removed.
///
/// # Errors
/// When the directory contains a file that is not part of a trace, which stays there, or the system refuses.
pub fn prepare(directory: &Path) -> Result<(), TraceError> {
    let system = |doing| move |source| TraceError::System { doing, path: directory.to_owned(), source };
    fs::create_dir_all(directory).map_err(system("create"))?;
    let mut old = Vec::new();
    for entry in fs::read_dir(directory).map_err(system("read"))? {
        let path = entry.map_err(system("read"))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !is_part(&name) {
            return Err(TraceError::NotATrace { path });
        }
        old.push(path);
    }
    for path in old {
        fs::remove_file(&path).map_err(|source| TraceError::System { doing: "remove", path, source })?;
    }
    Ok(())
}

/// A new part for the next endpoint of a process.
fn new_part(directory: &Path, process: u32) -> Result<(PathBuf, File), TraceError> {
    let mut number = 0;
    loop {
        let path = endpoint_part(directory, process, number);
        match record::create_new(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < ENDPOINTS_MAX => {
                number += 1
            }
            Err(source) => return Err(TraceError::System { doing: "create", path, source }),
        }
    }
}

impl Recorder {
    /// Begins the part of the rank or endpoint that `head` names, in a directory that is created if it is not there. A part
    /// of that rank is replaced; that of an endpoint replaces none, as nobody but the trace knows the endpoints of a job.
    ///
    /// With a `limit`, the part has that many bytes at most, or those of its head.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn create(directory: &Path, head: &TraceHead, limit: Option<u64>) -> Result<Self, TraceError> {
        let system = |doing, path: &Path| {
            let path = path.to_owned();
            move |source| TraceError::System { doing, path, source }
        };
        fs::create_dir_all(directory).map_err(system("create", directory))?;
        let (path, file) = match &head.endpoint {
            None => {
                let path = part_of(directory, head.rank);
                let file = record::replace(&path).map_err(system("create", &path))?;
                (path, file)
            }
            Some(endpoint) => new_part(directory, endpoint.process)?,
        };
        let mut recorder = Self {
            path: path.clone(),
            out: Some(BufWriter::with_capacity(BUFFER_BYTES, record::Record::new(file))),
            text: Vec::new(),
            packed: MAGIC.to_vec(),
            encoder: Encoder::default(),
            seal: Seal::default(),
            room: limit.unwrap_or(u64::MAX),
        };
        recorder.pack(head).map_err(system("write", &path))?;
        recorder.write().and_then(|()| recorder.try_flush()).map_err(system("write", &path))?;
        recorder.packed.clear();
        Ok(recorder)
    }

    /// Writes a record, or the last one, if there is room for no other.
    pub fn record(&mut self, record: &Record) {
        if self.out.is_none() {
            return;
        }
        let before = self.seal.clone();
        let packed = self.pack(record);
        if packed.is_ok() && self.packed.len() as u64 + END_BYTES > self.room {
            // As if the record had never been: nothing that follows has its form.
            self.seal = before;
            self.packed.clear();
            return self.close(TraceEnd::Limit);
        }
        let done = packed.and_then(|()| self.write());
        self.packed.clear();
        self.close_on_error(done);
    }

    /// Hands the records so far to the system: from now on they survive this process.
    pub fn flush(&mut self) {
        let done = self.try_flush();
        self.close_on_error(done);
    }

    /// Writes the last record.
    pub fn end(&mut self, end: TraceEnd) {
        if self.out.is_some() {
            self.close(end);
        }
    }

    /// Writes the last record, with nothing behind it.
    fn close(&mut self, end: TraceEnd) {
        let done = self.pack(&Record::End(end)).and_then(|()| self.write()).and_then(|()| self.try_flush());
        self.packed.clear();
        self.close_on_error(done);
        self.out = None;
    }

    /// Appends the next line to those that are packed.
    fn pack(&mut self, it: &impl serde::Serialize) -> io::Result<()> {
        self.text.clear();
        serde_json::to_writer(&mut self.text, it)?;
        self.text.push(b'\n');
        let value = self.seal.next(&self.text);
        self.text.pop();
        self.encoder.encode(&self.text, value, &mut self.packed);
        Ok(())
    }

    /// Writes what is packed.
    fn write(&mut self) -> io::Result<()> {
        let Some(out) = &mut self.out else { return Ok(()) };
        self.room = self.room.saturating_sub(self.packed.len() as u64);
        // In one call, so that the buffer is flushed between records and not within one.
        out.write_all(&self.packed)
    }

    fn try_flush(&mut self) -> io::Result<()> {
        self.out.as_mut().map_or(Ok(()), BufWriter::flush)
    }

    fn close_on_error(&mut self, done: io::Result<()>) {
        if let Err(error) = done {
            eprintln!("carrousel: the trace {} ends here: {error}", self.path.display());
            if let Some(out) = self.out.take() {
                // A drop would try to write the bytes in the buffer again.
                let _ = out.into_parts();
            }
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.end(TraceEnd::Left);
    }
}
