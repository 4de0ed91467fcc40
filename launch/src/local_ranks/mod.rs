//! The ranks of one node: their processes, their connections, their output.

mod dying;
mod lines;
mod reaper;
mod spawn;
#[cfg(test)]
mod tests;
mod watchdog;

use crate::binding::CpuBindings;
use crate::ending::Ending;
use crate::error::{LaunchError, RANKS};
use crate::flow::{Inbox, Outbox};
use crate::job::{ESCALATION_DELAY, NodeShare};
use crate::limits::ensure_limits;
use crate::poll::{Interest, Poll, Token};
use crate::process_group::process_group;
use crate::server::{LINE_MAX, line_max};
use crate::signals::is_end_request;
use dying::Dying;
use reaper::Reaper;
pub(crate) use reaper::{KILL_TIMEOUT, REAP_INTERVAL, adopt};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use spawn::{OutputTarget, SpawnContext};
use std::process::{Command, Stdio};
use std::time::Duration;
use watchdog::{Watchdog, job_name};

/// An event of a local rank.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RankEvent {
    /// A rank has sent a line.
    Line { rank: u32, line: Vec<u8> },
    /// Whole lines for standard output (0) or error (1).
    Output { stream: u32, bytes: Vec<u8> },
    /// A rank's process goes on as this program, and has closed its connection, as `exec` does.
    Disconnected { rank: u32, program: String },
    /// A rank's process has ended, after all its lines.
    Ended { rank: u32, ending: Ending },
}

/// Standard input of rank 0, if it is one of these ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stdin {
    /// The standard input of this process.
    Inherited,
    /// The bytes that [`LocalRanks::write_stdin`] gets.
    Piped,
}

/// While a rank has more than this many bytes of answers left to read, the launcher reads no more of its requests.
const UNREAD_MAX: usize = 256 << 10;

/// How often to ask for the ends of ranks, at most, and what part of that time each rank adds.
const CHECK_INTERVAL: Duration = Duration::from_millis(4);
const CHECK_COST: Duration = Duration::from_micros(50);

/// The processes of a job's ranks on this node, their PMI connections and their output.
#[derive(Debug)]
pub(crate) struct LocalRanks {
    ranks: Vec<LocalRank>,
    /// How many ranks have not ended.
    running: usize,
    /// The positions of ranks whose ends the system tells only who asks, see [`LocalRanks::recheck_after`].
    asked: Vec<u32>,
    /// Whether a rank has ended with a status other than 0.
    one_has_failed: bool,
    first: u32,
    prefix: bool,
    stdin: Option<StdinPipe>,
    output_paused: bool,
    /// The ranks' PMI connections are not read.
    lines_paused: bool,
    watchdog: Option<Watchdog>,
    reaper: Reaper,
    /// When all descendants were reaped.
    reaped_at: Option<Duration>,
}

#[derive(Debug)]
struct LocalRank {
    pid: Pid,
    /// The descriptor that tells when the process has ended; `None` where the system gives none: it is asked then, see
    /// [`LocalRanks::recheck_after`].
    pidfd: Option<OwnedFd>,
    control: Option<OwnedFd>,
    /// The events for which the poll watches the connection.
    watched: Option<Interest>,
    inbox: Inbox,
    outbox: Outbox,
    outputs: [Option<OutputPipe>; 2],
    ended: bool,
    /// SIGKILL has not ended it in time.
    abandoned: bool,
}

#[derive(Debug)]
struct OutputPipe {
    fd: OwnedFd,
    inbox: Inbox,
}

#[derive(Debug)]
struct StdinPipe {
    pipe: OwnedFd,
    outbox: Outbox,
    /// No more input will come: the pipe is closed when all is written.
    over: bool,
    watched: bool,
}

const OUTPUT_TOKENS: [fn(u32) -> Token; 2] = [Token::Stdout, Token::Stderr];

impl LocalRanks {
    /// Starts the ranks of a share. `direct` ranks inherit the output of this process. Before each start,
    /// `may_continue` gets the number of ranks started so far, and can end this with an error. Reports of bindings go
    /// to `out`.
    ///
    /// On an error the ranks that were started still run: [`Self::signal`] and [`Self::reap_descendants`] end them.
    pub(crate) fn start(
        &mut self,
        share: &NodeShare,
        (stdin, direct): (Stdin, bool),
        poll: &Poll,
        may_continue: &mut dyn FnMut(u32) -> Result<(), LaunchError>,
        out: &mut Vec<RankEvent>,
    ) -> Result<(), LaunchError> {
        (self.first, self.prefix) = (share.first, share.prefix);
        let target = match &share.output_directory {
            Some(directory) => OutputTarget::Files(directory),
            None if direct => OutputTarget::Inherited,
            None => OutputTarget::Piped,
        };
        if let OutputTarget::Files(path) = target {
            std::fs::create_dir_all(path).map_err(|source| LaunchError::File {
                doing: "make",
                path: path.to_owned(),
                source,
            })?;
        }
        // The process, the PMI connection, and two pipes of output.
        let descriptors = if matches!(target, OutputTarget::Piped) { 4 } else { 2 };
        ensure_limits(share.count, RANKS, descriptors)?;
        let bindings = CpuBindings::assign(share.bind, share.count)?;
        let context = SpawnContext { share, job: job_name(), processors: bindings.processors() };
        self.watchdog = Watchdog::start(&context.job);
        let mut command: Option<(usize, Command)> = None;
        for (index, number) in (0..).zip(share.programs_of_ranks()) {
            may_continue(index)?;
            let rank = share.first + index;
            let stdin = match stdin {
                _ if rank > 0 => Stdio::null(),
                Stdin::Inherited => Stdio::inherit(),
                Stdin::Piped => Stdio::piped(),
            };
            let program = &share.programs[number];
            let (_, command) = match &mut command {
                Some(known) if known.0 == number => known,
                other => other.insert((number, spawn::command(&context, program)?)),
            };
            bindings.apply(index)?;
            let started = spawn::start(command, &program.program, rank, stdin, target)?;
            if let Some(watchdog) = &mut self.watchdog {
                watchdog.watch(started.pid);
            }
            self.add_rank(index, started, poll).map_err(LaunchError::system("watch a rank"))?;
            if share.report_bindings {
                out.push(RankEvent::Output { stream: 1, bytes: bindings.describe(rank, index).into_bytes() });
            }
        }
        Ok(())
    }

    pub(crate) fn new() -> Self {
        Self {
            ranks: Vec::new(),
            running: 0,
            asked: Vec::new(),
            one_has_failed: false,
            first: 0,
            prefix: false,
            stdin: None,
            output_paused: false,
            lines_paused: false,
            watchdog: None,
            reaper: Reaper::default(),
            reaped_at: None,
        }
    }

    fn add_rank(&mut self, index: u32, started: spawn::StartedRank, poll: &Poll) -> std::io::Result<()> {
        match &started.pidfd {
            Some(pidfd) => drop(poll.add(pidfd, Token::Ended(index), Interest::Read)?),
            None => self.asked.push(index),
        }
        poll.add(&started.control, Token::Control(index), Interest::Read)?;
        let mut outputs = [None, None];
        for (stream, fd) in [started.stdout, started.stderr].into_iter().enumerate() {
            if let Some(fd) = fd {
                poll.add(&fd, OUTPUT_TOKENS[stream](index), Interest::Read)?;
                outputs[stream] = Some(OutputPipe { fd, inbox: Inbox::default() });
            }
        }
        if let Some(pipe) = started.stdin {
            self.stdin = Some(StdinPipe { pipe, outbox: Outbox::default(), over: false, watched: false });
        }
        self.ranks.push(LocalRank {
            pid: started.pid,
            pidfd: started.pidfd,
            control: Some(started.control),
            watched: Some(Interest::Read),
            inbox: Inbox::default(),
            outbox: Outbox::default(),
            outputs,
            ended: false,
            abandoned: false,
        });
        self.running += 1;
        Ok(())
    }

    /// Whether every rank's process has ended.
    pub(crate) fn all_ended(&self) -> bool {
        self.running == 0
    }

    /// When all ranks have ended: whether no descendants and no output of them are left. Reaps descendants; if false,
    /// to be called again after [`REAP_INTERVAL`]. Waits for the end of output for [`ESCALATION_DELAY`]; while output
    /// is paused for a slow reader, that time does not begin, unless the end was requested.
    pub(crate) fn is_over(&mut self, now: Duration, end_requested: bool) -> bool {
        if self.reaped_at.is_none() && self.reap_descendants(now)
            || self.reaped_at.is_some() && self.output_paused && !end_requested
        {
            self.reaped_at = Some(now);
        }
        self.reaped_at.is_some_and(|since| self.is_silent() || now >= since + ESCALATION_DELAY)
    }

    /// Whether all output has ended.
    pub(crate) fn is_silent(&self) -> bool {
        self.ranks.iter().flat_map(|local_rank| &local_rank.outputs).all(Option::is_none)
    }

    /// Descriptions of the processes that [`Self::is_over`] could not end. Returned once.
    pub(crate) fn take_left(&mut self) -> Vec<String> {
        let name = |process: Pid| {
            let is_it = |local_rank: &LocalRank| local_rank.abandoned && local_rank.pid == process;
            match (self.first..).zip(&self.ranks).find(|(_, local_rank)| is_it(local_rank)) {
                Some((rank, _)) => format!("rank {rank}, {}", reaper::name(process)),
                None => reaper::name(process),
            }
        };
        self.reaper.take_left().into_iter().map(name).collect()
    }

    /// When all ranks have ended: ends their descendants, and all other children of this process.
    /// `true` when none is left; otherwise to be called again after [`REAP_INTERVAL`].
    pub(crate) fn reap_descendants(&mut self, now: Duration) -> bool {
        // Where the system does not list children, the watchdog cannot be told from descendants of ranks.
        if let Some(watchdog) =
            self.watchdog.take_if(|watchdog| !reaper::children().contains(&watchdog.pid()))
        {
            watchdog.dismiss();
        }
        let is_over = self.reaper.step(now, self.watchdog.as_mut());
        if let Some(watchdog) = self.watchdog.take_if(|_| is_over) {
            watchdog.dismiss();
        }
        is_over
    }

    /// Handles a descriptor that is ready. Appends the events that follow.
    pub(crate) fn handle_ready(&mut self, token: Token, poll: &Poll, out: &mut Vec<RankEvent>) {
        match token {
            Token::Ended(index) => self.collect_status(index, poll, out),
            Token::Control(index) => {
                self.read_lines(index, poll, out);
                self.flush(index, poll);
            }
            Token::Stdout(index) => self.read_output(index, 0, poll, out),
            Token::Stderr(index) => self.read_output(index, 1, poll, out),
            Token::Stdin => self.flush_stdin(poll),
            _ => {}
        }
    }

    /// Where the system tells of the end of a process only who asks: the longest time until [`Self::check_ends`] has to be
    /// called again. It grows with the number of ranks, so that asking takes a small part of a processor.
    pub(crate) fn recheck_after(&self) -> Option<Duration> {
        (!self.asked.is_empty()).then(|| CHECK_INTERVAL.max(CHECK_COST * self.ranks.len() as u32))
    }

    /// Asks for the ends of ranks of which the system does not tell by itself. Appends the events that follow.
    pub(crate) fn check_ends(&mut self, poll: &Poll, out: &mut Vec<RankEvent>) {
        for index in self.asked.clone() {
            self.collect_status(index, poll, out);
        }
        self.asked.retain(|index| !self.ranks[*index as usize].ended);
    }

    /// Sends a line to a local rank; a rank that has ended gets nothing.
    pub(crate) fn send(&mut self, rank: u32, line: &[u8], poll: &Poll) {
        let index = rank.wrapping_sub(self.first);
        if let Some(local_rank) = self.ranks.get_mut(index as usize) {
            local_rank.outbox.push(line);
            self.flush(index, poll);
        }
    }

    /// Sends a signal to the ranks that run, and to the groups of their descendants.
    pub(crate) fn signal(&self, number: i32) {
        let Some(signal) = Signal::from_named_raw(number) else { return };
        for local_rank in self.ranks.iter().filter(|local_rank| !local_rank.ended) {
            local_rank.signal(signal);
            if is_end_request(number) {
                // A stopped rank handles the signal only when it is continued.
                local_rank.signal(Signal::CONT);
            }
        }
    }

    /// Stops waiting for ranks that have been sent SIGKILL and still have not ended: they count as ended, and are among
    /// the processes that [`Self::is_over`] tries to end and [`Self::take_left`] names.
    pub(crate) fn abandon(&mut self, poll: &Poll, out: &mut Vec<RankEvent>) {
        for (local_rank, rank) in
            self.ranks.iter_mut().zip(self.first..).filter(|(local_rank, _)| !local_rank.ended)
        {
            (local_rank.ended, local_rank.abandoned) = (true, true);
            local_rank.unwatch_end(poll);
            out.push(RankEvent::Ended { rank, ending: Ending::Killed(Signal::KILL.as_raw()) });
            self.running -= 1;
        }
    }

    /// Passes standard input on to rank 0.
    pub(crate) fn write_stdin(&mut self, bytes: &[u8], poll: &Poll) {
        if let Some(stdin) = &mut self.stdin {
            stdin.outbox.push(bytes);
            self.flush_stdin(poll);
        }
    }

    /// Standard input has ended.
    pub(crate) fn close_stdin(&mut self, poll: &Poll) {
        if let Some(stdin) = &mut self.stdin {
            stdin.over = true;
            self.flush_stdin(poll);
        }
    }

    /// How many bytes rank 0 has not taken yet; `None` when it takes no more.
    pub(crate) fn stdin_backlog(&self) -> Option<usize> {
        self.stdin.as_ref().map(|stdin| stdin.outbox.len())
    }

    /// Stops reading output, so that ranks block when they write; or resumes.
    pub(crate) fn pause_output(&mut self, paused: bool, poll: &Poll) {
        if std::mem::replace(&mut self.output_paused, paused) == paused {
            return;
        }
        for (local_rank, index) in self.ranks.iter().zip(0..) {
            for (pipe, token) in local_rank.outputs.iter().zip(OUTPUT_TOKENS) {
                match pipe {
                    Some(pipe) if paused => poll.remove(&pipe.fd),
                    Some(pipe) => drop(poll.add(&pipe.fd, token(index), Interest::Read)),
                    None => {}
                }
            }
        }
    }

    /// Stops reading PMI connections, so that ranks wait for their answers; or resumes.
    pub(crate) fn pause_lines(&mut self, paused: bool, poll: &Poll) {
        if std::mem::replace(&mut self.lines_paused, paused) != paused {
            for (local_rank, index) in self.ranks.iter_mut().zip(0..) {
                local_rank.watch(index, paused, poll);
            }
        }
    }

    fn collect_status(&mut self, index: u32, poll: &Poll, out: &mut Vec<RankEvent>) {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let local_rank = self.ranks.get_mut(index as usize).filter(|local_rank| !local_rank.ended);
        let Some(local_rank) = local_rank else { return };
        // By its number, which no other process has before it is reaped.
        let status = match waitid(WaitId::Pid(local_rank.pid), options) {
            Ok(Some(status)) => Some(status),
            Ok(None) | Err(Errno::INTR) => return,
            // There is no such child any more: its status will never be known.
            Err(_) => None,
        };
        local_rank.ended = true;
        self.running -= 1;
        local_rank.unwatch_end(poll);
        let ending = match status.map(|status| (status.exit_status(), status.terminating_signal())) {
            Some((Some(code), _)) => Ending::Exited(code),
            Some((None, signal)) => Ending::Killed(signal.unwrap_or_default()),
            None => Ending::Misbehaved { what: "the system does not say how it ended".to_owned() },
        };
        if matches!(ending, Ending::Exited(code) if code != 0) {
            self.collect_dying(poll, out);
        }
        // The lines that it sent come before its end.
        self.read_lines(index, poll, out);
        out.push(RankEvent::Ended { rank: self.first + index, ending });
    }

    /// Before the first rank that has failed by its status: reads what the others have sent, as one may have said that it
    /// leaves, and collects the ranks that are dying. Their peers can find their memory gone before the system says that
    /// they have ended, and fail for that reason.
    fn collect_dying(&mut self, poll: &Poll, out: &mut Vec<RankEvent>) {
        if std::mem::replace(&mut self.one_has_failed, true) {
            return;
        }
        for index in 0..self.ranks.len() as u32 {
            self.read_lines(index, poll, out);
        }
        let running = (0..).zip(&self.ranks).filter(|(_, local_rank)| !local_rank.ended);
        let dying = running.filter_map(|(index, local_rank)| Some((Dying::of(local_rank.pid)?, index)));
        let mut dying: Vec<(Dying, u32)> = dying.collect();
        dying.sort_unstable();
        dying::wait_for(dying.iter().map(|(_, index)| self.ranks[*index as usize].pid));
        for (_, index) in dying {
            self.collect_status(index, poll, out);
        }
    }

    fn read_lines(&mut self, index: u32, poll: &Poll, out: &mut Vec<RankEvent>) {
        let rank = self.first + index;
        let Some(local_rank) = self.ranks.get_mut(index as usize) else { return };
        let Some(control) = &local_rank.control else { return };
        let mut open = local_rank.inbox.fill(control);
        // When the rank has ended, all its lines have arrived, and no more will follow.
        while open && local_rank.ended {
            let before = local_rank.inbox.len();
            open = local_rank.inbox.fill(control) && local_rank.inbox.len() > before;
        }
        // A line that is too long is cut: the server needs no more to refuse it, and a frame holds no more.
        let cut = |mut line: Vec<u8>| {
            line.truncate(LINE_MAX + 1);
            RankEvent::Line { rank, line }
        };
        while let Some(line) = local_rank.inbox.line() {
            out.push(cut(line));
        }
        if local_rank.inbox.len() > line_max(local_rank.inbox.bytes()) {
            out.push(cut(local_rank.inbox.take(local_rank.inbox.len())));
            open = false;
        }
        if !open {
            poll.remove(control);
            local_rank.control = None;
            // A process that is ending closes its connection, too: its status will say more.
            let program = (!local_rank.ended).then(|| Dying::name_of_living(local_rank.pid)).flatten();
            out.extend(program.map(|program| RankEvent::Disconnected { rank, program }));
        }
    }

    fn flush(&mut self, index: u32, poll: &Poll) {
        let Some(local_rank) = self.ranks.get_mut(index as usize) else { return };
        let Some(control) = &local_rank.control else { return };
        if local_rank.outbox.is_empty() {
            return;
        }
        if local_rank.outbox.flush(control, usize::MAX, || true).is_err() {
            // The rank has closed the connection, or died: its exit status says more.
            local_rank.outbox.clear();
        }
        local_rank.watch(index, self.lines_paused, poll);
    }

    fn read_output(&mut self, index: u32, stream: u32, poll: &Poll, out: &mut Vec<RankEvent>) {
        let prefix = self.prefix.then(|| format!("[{}] ", self.first + index));
        let Some(local_rank) = self.ranks.get_mut(index as usize) else { return };
        let slot = &mut local_rank.outputs[stream as usize];
        let Some(pipe) = slot else { return };
        let open = pipe.inbox.fill(&pipe.fd);
        let bytes = lines::take(&mut pipe.inbox, prefix.as_deref(), !open);
        if !bytes.is_empty() {
            out.push(RankEvent::Output { stream, bytes });
        }
        if !open {
            poll.remove(&pipe.fd);
            *slot = None;
        }
    }

    fn flush_stdin(&mut self, poll: &Poll) {
        let Some(stdin) = &mut self.stdin else { return };
        let open = stdin.outbox.flush(&stdin.pipe, usize::MAX, || true).is_ok();
        let over = stdin.over && stdin.outbox.is_empty();
        let wait = open && !stdin.outbox.is_empty();
        if wait && !stdin.watched {
            stdin.watched = poll.add(&stdin.pipe, Token::Stdin, Interest::Write).unwrap_or(false);
        } else if !wait && stdin.watched {
            poll.remove(&stdin.pipe);
            stdin.watched = false;
        }
        if !open || over {
            self.stdin = None;
        }
    }
}

impl LocalRank {
    fn signal(&self, signal: Signal) {
        // The number cannot be another process's: the rank has not been reaped yet.
        let _ = kill_process_group(self.pid, signal);
        if process_group(Some(self.pid)) != Some(self.pid) {
            // The rank has moved to another group of its session.
            let _ = kill_process(self.pid, signal);
        }
    }

    /// Stops watching for the end of the process.
    fn unwatch_end(&self, poll: &Poll) {
        if let Some(pidfd) = &self.pidfd {
            poll.remove(pidfd);
        }
    }

    /// Watches the connection for the events that can be handled. The requests of a rank that reads no answers are not
    /// read, so that answers do not pile up here.
    fn watch(&mut self, index: u32, lines_paused: bool, poll: &Poll) {
        let Some(control) = &self.control else { return };
        let read = !lines_paused && self.outbox.len() <= UNREAD_MAX;
        let wanted = match (read, !self.outbox.is_empty()) {
            (true, true) => Some(Interest::Both),
            (true, false) => Some(Interest::Read),
            (false, true) => Some(Interest::Write),
            (false, false) => None,
        };
        let token = Token::Control(index);
        match (std::mem::replace(&mut self.watched, wanted), wanted) {
            (before, wanted) if before == wanted => {}
            (None, Some(interest)) => drop(poll.add(control, token, interest)),
            (Some(_), Some(interest)) => drop(poll.change(control, token, interest)),
            (_, None) => poll.remove(control),
        }
    }
}
