//! A rank's side of PMI-1, and the extensions of our own launcher.

mod channel;
pub(crate) mod environment;
#[cfg(test)]
mod tests;

use crate::ending::Ending;
use crate::error::LaunchError;
use crate::line::{PmiLine, PmiLineWriter, from_hex, to_hex};
use crate::mapping;
use crate::server::{LINE_MAX, MESSAGE_MAX, OURS, REPORT};
use carrousel_system::{SYSTEM, System};
use channel::{Channel, Received};
use environment::{LauncherAddress, RANKS_MAX};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use std::collections::VecDeque;
use std::env;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Set by our own launcher: the process number of a rank's parent. Not `CARROUSEL_...`: those variables
/// are options, and the command refuses unknown ones.
pub(crate) const LAUNCHER: &str = "LAUNCHED_BY_CARROUSEL";

/// Set by our own launcher: how many processors the ranks of a node have together.
pub(crate) const PROCESSORS: &str = "LAUNCHED_ON_PROCESSORS";

/// How many processors the ranks of this node have together, as far as that is known: the launcher's number, since
/// the launcher may have bound each rank to some of them, or else the number that this process may use.
pub fn processors() -> Option<usize> {
    let told = env::var(PROCESSORS).ok().and_then(|text| text.parse().ok()).filter(|count| *count > 0);
    told.or_else(|| SYSTEM.processors())
}

/// The answer to the first request.
const INITIALISED: &str = "response_to_init";

/// Bytes of a key that every launcher can store: Slurm is the strictest.
const KEY_MAX: usize = 31;
/// Of those, bytes reserved for the number of a part.
const PART_MAX: usize = 7;
/// The longest request, its end included: Slurm's plugin reads no more at a time, and takes the rest for another
/// request; MPICH's clients have the same bound (`PMIU_MAXLINE`).
const REQUEST_MAX: usize = 1024;
/// Far more than an address needs; the store is not meant for data.
const VALUE_MAX: usize = 64 << 10;

/// An event of another rank.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerEvent {
    /// The rank has ended, and will not answer. The job is over: its ranks are ended after a grace period.
    Lost {
        /// The rank.
        rank: u32,
        /// How it ended.
        how: Ending,
    },
}

/// The connection of this process, a rank, to the launcher that has started it.
///
/// Requests wait for the launcher's answer; [`Self::barrier`] waits for all ranks. None may be made
/// after [`Self::finalize`], which takes the client.
#[derive(Debug)]
pub struct Client {
    channel: Channel,
    rank: u32,
    size: u32,
    kvs: Option<KvsInfo>,
    watched: bool,
    peer_events: VecDeque<PeerEvent>,
    /// The rank that was lost first, kept when its event has been taken.
    first_lost: Option<(u32, Ending)>,
}

/// The key-value space of the job. The client asks for it when the first value is put or read: a job that needs no
/// values starts sooner.
#[derive(Clone, Debug)]
struct KvsInfo {
    name: String,
    /// Hexadecimal digits that a value may have.
    digits_max: usize,
}

impl Client {
    /// Finds the launcher that has started this process, by `PMI_FD`, `PMI_RANK` and `PMI_SIZE`, or by
    /// `PMI_PORT` and `PMI_ID`. `None` without a launcher: a job of one rank. To be called at most once in a process.
    ///
    /// If the launcher is our own, and the parent of this process, the system is asked to kill this
    /// process when the launcher dies; so no rank is left behind, whatever happens to the launcher.
    pub fn from_environment() -> Result<Option<Self>, LaunchError> {
        let mut client = match environment::find_launcher(|name| env::var(name))? {
            None => return Ok(None),
            Some(LauncherAddress::Inherited { fd, rank, size }) => {
                let channel = Channel::inherit(fd).map_err(|_| LaunchError::InvalidVariable {
                    variable: "PMI_FD",
                    value: fd.to_string(),
                    expected: "a socket that this process has inherited",
                })?;
                Self::new(channel, rank, size)
            }
            Some(LauncherAddress::Listening { address, id }) => {
                let channel = Channel::connect(&address)
                    .map_err(|source| LaunchError::Connect { address: address.clone(), source })?;
                let mut client = Self::new(channel, 0, 1);
                client.introduce(&id)?;
                client
            }
        };
        client.initialise()?;
        if client.watched {
            die_with_launcher()?;
        }
        Ok(Some(client))
    }

    /// The client of rank `rank` over the socket at whose other end its launcher is. For launchers in this process.
    ///
    /// # Errors
    /// As [`Self::from_environment`].
    #[doc(hidden)]
    pub fn over(socket: OwnedFd, rank: u32, size: u32) -> Result<Self, LaunchError> {
        let mut client = Self::new(Channel::new(socket), rank, size);
        client.initialise()?;
        Ok(client)
    }

    fn new(channel: Channel, rank: u32, size: u32) -> Self {
        Self {
            channel,
            rank,
            size,
            kvs: None,
            watched: false,
            peer_events: VecDeque::new(),
            first_lost: None,
        }
    }

    /// The number of this process in the job, from 0.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// How many ranks the job has.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Whether the launcher is our own: only then is [`Self::report`] read, and do [`Self::peer_events`] come.
    pub fn is_watched(&self) -> bool {
        self.watched
    }

    /// Stores a value for other ranks, which find it after a [`Self::barrier`]. Any text is a value; a key
    /// has at most 24 letters, digits, `_`, `.` or `-`, and is put once in a job.
    pub fn put(&mut self, key: &str, value: &str) -> Result<(), LaunchError> {
        let key_max = KEY_MAX - PART_MAX;
        let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        if key.is_empty() || key.len() > key_max || !key.bytes().all(valid) {
            return Err(LaunchError::InvalidKey { key: key.to_owned(), max: key_max });
        }
        if value.len() > VALUE_MAX {
            return Err(LaunchError::TooLong { what: "a value", len: value.len(), max: VALUE_MAX });
        }
        let kvs = self.kvs_info()?;
        let digits = to_hex(value.as_bytes());
        let request = |key: &str, value: &str| {
            PmiLineWriter::new("put").word("kvsname", &kvs.name).word("key", key).word("value", value)
        };
        // In the first part the number of parts stands before the value, in the others it is behind the key.
        let room = REQUEST_MAX.saturating_sub(request(key, "").finish().len() + PART_MAX);
        let digits_max = room.clamp(1, kvs.digits_max);
        // The first part holds the number of parts. `+` occurs in no key: so a part's key equals no other key.
        let parts = digits.len().div_ceil(digits_max).max(1);
        for part in 0..parts {
            let begin = part * digits_max;
            let some = &digits[begin..digits.len().min(begin + digits_max)];
            let request = match part {
                0 => request(key, &format!("{parts}-{some}")),
                _ => request(&format!("{key}+{part}"), some),
            };
            self.request(request, "put_result")?;
        }
        Ok(())
    }

    /// The value that a rank has put under this key before the last barrier.
    pub fn get(&mut self, key: &str) -> Result<Option<String>, LaunchError> {
        let Some(first) = self.get_raw(key)? else { return Ok(None) };
        let foreign = |got: &str| LaunchError::UnexpectedAnswer {
            asked: format!("get {key}"),
            got: got.to_owned(),
            expected: "a value that was put by this library",
        };
        let (parts, digits) = first.split_once('-').ok_or_else(|| foreign(&first))?;
        let parts: usize = parts.parse().map_err(|_| foreign(&first))?;
        let mut digits = digits.to_owned();
        for part in 1..parts {
            let more = self.get_raw(&format!("{key}+{part}"))?.ok_or_else(|| foreign(&first))?;
            digits += &more;
            // A wrong number of parts must not keep this loop going: every part has digits.
            if more.is_empty() || digits.len() > 2 * VALUE_MAX {
                return Err(foreign(&first));
            }
        }
        let bytes = from_hex(&digits).ok_or_else(|| foreign(&first))?;
        String::from_utf8(bytes).map(Some).map_err(|_| foreign(&first))
    }

    /// Waits until every rank has called this. Values that were put before it are found after it.
    ///
    /// Fails with [`LaunchError::RankLost`] if a rank has ended that the barrier needs.
    pub fn barrier(&mut self) -> Result<(), LaunchError> {
        match &self.first_lost {
            Some((rank, ending)) => Err(LaunchError::RankLost { rank: *rank, ending: ending.clone() }),
            None => self.exchange(PmiLineWriter::new("barrier_in"), "barrier_out", true).map(drop),
        }
    }

    /// The node of each rank. Nodes are numbers; ranks with the same one share memory.
    ///
    /// To be called by every rank: if the launcher has no mapping, the ranks exchange the names of their hosts.
    pub fn nodes(&mut self) -> Result<Vec<u32>, LaunchError> {
        if let Some(text) = self.get_raw(mapping::KEY)? {
            return mapping::parse(&text, self.size).ok_or_else(|| LaunchError::UnexpectedAnswer {
                asked: format!("get {}", mapping::KEY),
                got: shorten(&text),
                expected: "(vector,(FIRST,NODES,RANKS),...)",
            });
        }
        self.put(&format!("host.{}", self.rank), &host())?;
        self.barrier()?;
        let mut hosts: Vec<String> = Vec::new();
        let mut nodes = Vec::new();
        for rank in 0..self.size {
            let key = format!("host.{rank}");
            let host = self.get(&key)?.ok_or_else(|| LaunchError::UnexpectedAnswer {
                asked: format!("get {key}"),
                got: "nothing".to_owned(),
                expected: "the value that the rank has put before the barrier",
            })?;
            let node = hosts.iter().position(|known| *known == host).unwrap_or_else(|| {
                hosts.push(host);
                hosts.len() - 1
            });
            nodes.push(node as u32);
        }
        Ok(nodes)
    }

    /// Tells the launcher that this rank is done: from now on its exit with status 0 is no failure.
    pub fn finalize(mut self) -> Result<(), LaunchError> {
        self.request(PmiLineWriter::new("finalize"), "finalize_ack").map(drop)
    }

    /// Tells the launcher that the job cannot go on. The launcher soon ends all ranks, this one too. A long message
    /// is cut: to 8 KiB, or, for other launchers, to the length that they read at once.
    pub fn abort(&mut self, code: i32, message: &str) -> Result<(), LaunchError> {
        let line =
            |message| PmiLineWriter::new("abort").word("exitcode", code).word("message", message).finish();
        let max = if self.watched { MESSAGE_MAX } else { REQUEST_MAX - line("").len() };
        self.send("abort", &line(&message[..message.floor_char_boundary(max)]))
    }

    /// Sends a line of JSON to our own launcher, without waiting for an answer. Other launchers are sent nothing.
    pub fn report(&mut self, json: &str) -> Result<(), LaunchError> {
        let max = LINE_MAX - REPORT.len() - 1;
        if let Some(at) = json.find('\n') {
            return Err(LaunchError::ReportNotOneLine { at });
        }
        if json.len() > max {
            return Err(LaunchError::TooLong { what: "a report", len: json.len(), max });
        }
        if !self.watched {
            return Ok(());
        }
        self.send("report", &format!("cmd=report {json}\n"))
    }

    /// Tells our own launcher that this rank lets go of what its peers use, without [`Self::finalize`]: they may fail because
    /// of it before its process ends. Waits for no answer. Other launchers are sent nothing.
    pub fn leave(&mut self) -> Result<(), LaunchError> {
        if !self.watched {
            return Ok(());
        }
        self.send("leave", &PmiLineWriter::new("leave").finish())
    }

    /// The events of other ranks that have arrived since the last call. Does not wait: when there may be events,
    /// the descriptor ([`AsFd`]) is readable. Only our own launcher sends them.
    ///
    /// Fails with [`LaunchError::LauncherGone`] when the launcher has died.
    pub fn peer_events(&mut self) -> Result<Vec<PeerEvent>, LaunchError> {
        self.receive_events()?;
        Ok(self.peer_events.drain(..).collect())
    }

    /// The rank that was lost first, as far as the launcher has told, and how it ended. Its event, and all others, stay to
    /// be taken by [`Self::peer_events`].
    pub fn first_lost(&mut self) -> Option<(u32, Ending)> {
        // A launcher that has died tells no more.
        let _ = self.receive_events();
        self.first_lost.clone()
    }

    fn receive_events(&mut self) -> Result<(), LaunchError> {
        while self.watched {
            match self.channel.receive(false) {
                Ok(Received::WouldBlock) => break,
                Ok(Received::Line(line)) => self.record_lost(&line, "events of other ranks")?,
                // Events that arrived before the end are returned before the error.
                Ok(Received::Closed) if !self.peer_events.is_empty() => break,
                Ok(Received::Closed) => {
                    return Err(LaunchError::LauncherGone { asked: "events of other ranks".to_owned() });
                }
                Err(source) => return Err(LaunchError::System { doing: "read from the launcher", source }),
            }
        }
        Ok(())
    }

    /// After connecting to a launcher that listens: asks it for the rank of this process, the size of the job and
    /// the debug level, which come in a line each.
    fn introduce(&mut self, id: &str) -> Result<(), LaunchError> {
        self.request(PmiLineWriter::new("initack").word("pmiid", id), "initack")?;
        let mut of = |key: &'static str| {
            let asked = format!("initack ({key})");
            let bytes = self.wait_for_line(&asked)?;
            let value = PmiLine::parse(&bytes).ok().filter(|line| line.command == "set");
            let value = value.and_then(|line| line.number::<u32>(key));
            value.ok_or_else(|| unexpected_answer(&asked, &bytes, "cmd=set size=N, rank=R and debug=D"))
        };
        let (size, rank) = (of("size")?, of("rank")?);
        of("debug")?;
        if rank >= size || size > RANKS_MAX {
            let got = format!("rank {rank} of {size}");
            let expected = "a rank below the size, which is at most 1048576";
            return Err(LaunchError::UnexpectedAnswer { asked: "initack".to_owned(), got, expected });
        }
        (self.size, self.rank) = (size, rank);
        Ok(())
    }

    fn initialise(&mut self) -> Result<(), LaunchError> {
        // Slurm takes versions 1.1 and 2.0, MPICH gives up 2.0.
        let request = PmiLineWriter::new("init").word("pmi_version", 1).word("pmi_subversion", 1);
        let bytes = self.request(request, INITIALISED)?;
        self.watched = PmiLine::parse(&bytes).is_ok_and(|line| line.get("launcher") == Some(OURS));
        Ok(())
    }

    fn kvs_info(&mut self) -> Result<KvsInfo, LaunchError> {
        if let Some(kvs) = &self.kvs {
            return Ok(kvs.clone());
        }
        let maxes = self.request(PmiLineWriter::new("get_maxes"), "maxes")?;
        let maxes = PmiLine::parse(&maxes).ok().and_then(|line| line.number::<usize>("vallen_max"));
        // Room for the end of a C string, and for the number of parts.
        let digits_max = maxes.unwrap_or(256).max(64) - 1 - PART_MAX;
        let bytes = self.request(PmiLineWriter::new("get_my_kvsname"), "my_kvsname")?;
        let name = PmiLine::parse(&bytes).ok().and_then(|line| line.get("kvsname"));
        let name =
            name.ok_or_else(|| unexpected_answer("get_my_kvsname", &bytes, "kvsname=NAME"))?.to_owned();
        Ok(self.kvs.insert(KvsInfo { name, digits_max }).clone())
    }

    /// The text under a key, as it is in the store: hexadecimal, or in parts.
    fn get_raw(&mut self, key: &str) -> Result<Option<String>, LaunchError> {
        let kvs = self.kvs_info()?;
        let request = PmiLineWriter::new("get").word("kvsname", &kvs.name).word("key", key);
        match self.request(request, "get_result") {
            Ok(bytes) => {
                Ok(PmiLine::parse(&bytes).ok().and_then(|line| line.get("value").map(ToOwned::to_owned)))
            }
            // Launchers refuse a `get` only if there is no such key.
            Err(LaunchError::Refused { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a request and waits for its answer.
    fn request(&mut self, request: PmiLineWriter, expected: &'static str) -> Result<Vec<u8>, LaunchError> {
        self.exchange(request, expected, false)
    }

    /// Sends a request and waits for its answer, never two at a time: Slurm reads one request with one `read`. Lines
    /// about lost ranks that come first are recorded, and are an error if `fails_if_rank_lost`.
    fn exchange(
        &mut self,
        request: PmiLineWriter,
        expected: &'static str,
        fails_if_rank_lost: bool,
    ) -> Result<Vec<u8>, LaunchError> {
        let request = request.finish();
        let asked = request.trim_end();
        self.send(asked, &request)?;
        loop {
            let bytes = self.wait_for_line(asked)?;
            let line = PmiLine::parse(&bytes).map_err(|_| unexpected_answer(asked, &bytes, expected))?;
            // Our launcher may announce lost ranks before the answer that identifies it; other launchers never do.
            let may_announce = self.watched || expected == INITIALISED;
            if may_announce && line.command == "lost" {
                self.record_lost(&bytes, asked)?;
                if let (true, Some((rank, ending))) = (fails_if_rank_lost, self.first_lost.clone()) {
                    return Err(LaunchError::RankLost { rank, ending });
                }
                continue;
            }
            if line.command != expected {
                return Err(unexpected_answer(asked, &bytes, expected));
            }
            return match line.get("rc") {
                None | Some("0") => Ok(bytes),
                Some(rc) => Err(LaunchError::Refused {
                    asked: shorten(asked),
                    message: shorten(line.get("msg").unwrap_or(rc)),
                }),
            };
        }
    }

    fn send(&mut self, asked: &str, line: &str) -> Result<(), LaunchError> {
        self.channel.send(line).map_err(|source| match source.kind() {
            std::io::ErrorKind::BrokenPipe | std::io::ErrorKind::ConnectionReset => {
                LaunchError::LauncherGone { asked: shorten(asked) }
            }
            _ => LaunchError::System { doing: "write to the launcher", source },
        })
    }

    fn wait_for_line(&mut self, asked: &str) -> Result<Vec<u8>, LaunchError> {
        match self.channel.receive(true) {
            Ok(Received::Line(line)) => Ok(line),
            Ok(Received::Closed | Received::WouldBlock) => {
                Err(LaunchError::LauncherGone { asked: shorten(asked) })
            }
            Err(source) => Err(LaunchError::System { doing: "read from the launcher", source }),
        }
    }

    /// Records the lost rank that a line announces.
    fn record_lost(&mut self, bytes: &[u8], asked: &str) -> Result<(), LaunchError> {
        let line = PmiLine::parse(bytes).ok().filter(|line| line.command == "lost");
        let lost = line.and_then(|line| {
            let rank = line.number("rank").filter(|rank| *rank < self.size)?;
            Some((rank, Ending::read(&line)?))
        });
        let (rank, how) = lost.ok_or_else(|| unexpected_answer(asked, bytes, "cmd=lost rank=R how=..."))?;
        self.first_lost.get_or_insert((rank, how.clone()));
        self.peer_events.push_back(PeerEvent::Lost { rank, how });
        Ok(())
    }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

fn unexpected_answer(asked: &str, got: &[u8], expected: &'static str) -> LaunchError {
    let got = shorten(&String::from_utf8_lossy(got));
    LaunchError::UnexpectedAnswer { asked: shorten(asked), got, expected }
}

/// Shortens text of the other side, so that an error message stays readable whatever it is.
fn shorten(text: &str) -> String {
    let shown: String = text.chars().take(120).map(|c| if c.is_control() { '.' } else { c }).collect();
    if text.chars().nth(120).is_some() { shown + "..." } else { shown }
}

/// A text that ranks of one node have in common: names alone may be equal in containers.
fn host() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    format!("{} {}", rustix::system::uname().nodename().to_string_lossy(), boot.trim())
}

/// Asks the system to kill this process with the launcher, if that is its parent.
fn die_with_launcher() -> Result<(), LaunchError> {
    let launcher = env::var(LAUNCHER).ok().and_then(|text| text.parse().ok()).and_then(Pid::from_raw);
    if launcher.is_none() || getppid() != launcher {
        return Ok(());
    }
    match set_parent_process_death_signal(Some(Signal::KILL)) {
        // Where a filter refuses this, the launcher's watchdog alone ends the ranks.
        Ok(()) | Err(Errno::PERM | Errno::ACCESS | Errno::NOSYS) => {}
        Err(error) => return Err(LaunchError::system("ask to be killed with the launcher")(error)),
    }
    // The launcher may have died before the system call.
    if getppid() != launcher {
        return Err(LaunchError::LauncherGone { asked: "init".to_owned() });
    }
    Ok(())
}
