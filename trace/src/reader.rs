//! Reading a trace: which files there are, and whose they are.

use crate::names::{is_endpoint, rank_of};
use crate::numbering::number;
use crate::{TraceError, TraceHead, TracePart};
use carrousel_rank::Options;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The parts of a trace.
#[derive(Debug)]
pub struct Trace {
    /// How many ranks the job had. A trace of endpoints has a rank for each, and for each rank of the host's jobs.
    pub ranks: u32,
    /// The options that all ranks were made with.
    pub options: Options,
    /// The program and its arguments, from the first part that there is.
    pub command: Vec<String>,
    /// By rank; `None` for a rank that has recorded nothing.
    pub parts: Vec<Option<TracePart>>,
    /// Bytes of all parts.
    pub bytes: u64,
    /// The ranks of endpoints, by address.
    pub addresses: HashMap<String, u32>,
}

impl Trace {
    /// Opens the trace in `directory`.
    ///
    /// # Errors
    /// When the directory has no part, a part has no valid head, or parts belong to different jobs.
    pub fn open(directory: &Path) -> Result<Self, TraceError> {
        let system = |source| TraceError::System { doing: "read", path: directory.to_owned(), source };
        let (mut ranks, mut endpoints) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(directory).map_err(system)? {
            let name = entry.map_err(system)?.file_name();
            let text = name.to_string_lossy();
            ranks.extend(rank_of(&text).map(|rank| (rank, directory.join(&name))));
            if is_endpoint(&text) {
                endpoints.push(directory.join(&name));
            }
        }
        ranks.sort_unstable();
        endpoints.sort_unstable();
        if let Some([(rank, path), (_, other)]) =
            ranks.array_windows().find(|[(one, _), (two, _)]| one == two)
        {
            return Err(TraceError::RankTwice { path: path.clone(), other: other.clone(), rank: *rank });
        }
        let paths = ranks.into_iter().map(|(rank, path)| (Some(rank), path));
        let mut opened = Opened::default();
        for (rank, path) in paths.chain(endpoints.into_iter().map(|path| (None, path))) {
            opened.add(rank, path)?;
        }
        let Some((head, _)) = opened.first else {
            return Err(TraceError::Empty { path: directory.to_owned() });
        };
        let TraceHead { ranks, options, command, endpoint, .. } = head;
        let mut parts = opened.parts;
        if endpoint.is_some() {
            parts = number(parts.into_iter().flatten())?;
        } else {
            parts.resize_with(ranks as usize, || None);
        }
        let mut addresses = HashMap::new();
        for (part, rank) in parts.iter().zip(0..) {
            if let Some(part) = part
                && let Some(endpoint) = part.endpoint()
                && addresses.insert(endpoint.address.clone(), rank).is_some()
            {
                return Err(part.invalid_line("another part is of the endpoint with this address"));
            }
        }
        Ok(Self { ranks: parts.len() as u32, options, command, parts, bytes: opened.bytes, addresses })
    }
}

/// The parts that were opened so far.
#[derive(Default)]
struct Opened {
    first: Option<(TraceHead, PathBuf)>,
    parts: Vec<Option<TracePart>>,
    bytes: u64,
}

impl Opened {
    /// Opens a part: that of a rank, or that of an endpoint.
    fn add(&mut self, rank: Option<u32>, path: PathBuf) -> Result<(), TraceError> {
        let (part, head) = TracePart::open(&path)?;
        self.bytes += part.bytes();
        let (of, other) = self.first.get_or_insert_with(|| (head.clone(), path.clone()));
        let other_job = |what| TraceError::OtherJob { path: path.clone(), other: other.clone(), what };
        if head.endpoint.is_some() != of.endpoint.is_some() {
            return Err(other_job("kinds of ranks"));
        }
        if head.ranks != of.ranks {
            return Err(other_job("numbers of ranks"));
        }
        if head.options != of.options {
            return Err(other_job("options"));
        }
        match (rank, &head.endpoint) {
            (None, Some(_)) => {}
            (Some(rank), None) if head.rank == rank => {
                self.parts.resize_with(rank as usize, || None);
            }
            (_, None) => return Err(part.invalid_line(format_args!("it is the part of rank {}", head.rank))),
            (Some(_), Some(_)) => return Err(part.invalid_line("it is the part of an endpoint")),
        }
        self.parts.push(Some(part));
        Ok(())
    }
}
