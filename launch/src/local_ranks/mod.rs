//! The ranks of one node: their processes, their connections, their output.

mod lines;
mod reaper;
mod spawn;
#[cfg(test)]
mod tests;
mod watchdog;

use crate::binding::Places;
use crate::ending::Ending;
use crate::error::{LaunchError, RANKS};
use crate::flow::{Inbox, Outbox};
use crate::job::{INSISTENCE, Share};
use crate::limits::make_room;
use crate::poll::{Interest, Poll, Token};
use crate::server::{LINE_MAX, line_max};
use crate::signals::asks_for_the_end;
use reaper::Reaper;
pub(crate) use reaper::{PATIENCE, PAUSE, adopt};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpgid, kill_process_group, pidfd_send_signal, waitid,
};
use spawn::{Common, Output};
use std::process::{Command, Stdio};
use std::time::Duration;
use watchdog::{Watchdog, job_name};

/// What a local rank has done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RankEvent {
    /// A rank has sent a line.
    Line { rank: u32, line: Vec<u8> },
    /// Whole lines for standard output (0) or error (1).
    Output { stream: u32, bytes: Vec<u8> },
    /// A rank's process has ended, after all its lines.
    Ended { rank: u32, ending: Ending },
}

/// Where rank 0 reads from, if it is one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stdin {
    /// What this process reads from.
    Inherited,
    /// What [`LocalRanks::feed`] is given.
    Fed,
}

/// With more than this in hand for a rank that does not read its answers, it is not asked for more.
const UNREAD_MAX: usize = 256 << 10;

/// The processes of a job's ranks on this node, their PMI connections and their output.
#[derive(Debug)]
pub(crate) struct LocalRanks {
    members: Vec<LocalRank>,
    /// How many have not ended.
    running: usize,
    first: u32,
    prefix: bool,
    feed: Option<Feed>,
    paused: bool,
    /// No lines are read, either.
    held: bool,
    watchdog: Option<Watchdog>,
    reaper: Reaper,
    /// When all was swept.
    swept: Option<Duration>,
}

#[derive(Debug)]
struct LocalRank {
    pid: Pid,
    pidfd: OwnedFd,
    control: Option<OwnedFd>,
    /// For what the poll watches it.
    watched: Option<Interest>,
    inbox: Inbox,
    outbox: Outbox,
    taps: [Option<Tap>; 2],
    ended: bool,
    /// It cannot be killed.
    abandoned: bool,
}

#[derive(Debug)]
struct Tap {
    fd: OwnedFd,
    inbox: Inbox,
}

#[derive(Debug)]
struct Feed {
    pipe: OwnedFd,
    outbox: Outbox,
    /// No more will come: close when all is written.
    over: bool,
    watched: bool,
}

const TAPS: [fn(u32) -> Token; 2] = [Token::Stdout, Token::Stderr];

impl LocalRanks {
    /// Starts the ranks of a share. `direct` ranks write where this process does, with nothing in between. Before
    /// each, `may` is asked, with the number of those that have been started. What is to be said goes to `out`.
    ///
    /// On an error those that were started are still there: [`Self::signal`] and [`Self::sweep`] end them.
    pub(crate) fn start(
        &mut self,
        share: &Share,
        (stdin, direct): (Stdin, bool),
        poll: &Poll,
        may: &mut dyn FnMut(u32) -> Result<(), LaunchError>,
        out: &mut Vec<RankEvent>,
    ) -> Result<(), LaunchError> {
        (self.first, self.prefix) = (share.first, share.prefix);
        let output = match &share.output_directory {
            Some(directory) => Output::Files(directory),
            None if direct => Output::Inherited,
            None => Output::Piped,
        };
        if let Output::Files(path) = output {
            std::fs::create_dir_all(path).map_err(|source| LaunchError::File {
                doing: "make",
                path: path.to_owned(),
                source,
            })?;
        }
        // Its end, its lines, and its output.
        let descriptors = if matches!(output, Output::Piped) { 4 } else { 2 };
        make_room(share.count, RANKS, descriptors)?;
        let places = Places::find(share.bind, share.count)?;
        let common = Common { share, job: job_name(), processors: places.processors() };
        self.watchdog = Watchdog::start(&common.job);
        let mut command: Option<(usize, Command)> = None;
        for (index, number) in (0..).zip(share.programs_of_ranks()) {
            may(index)?;
            let rank = share.first + index;
            let stdin = match stdin {
                _ if rank > 0 => Stdio::null(),
                Stdin::Inherited => Stdio::inherit(),
                Stdin::Fed => Stdio::piped(),
            };
            let program = &share.programs[number];
            let (_, command) = match &mut command {
                Some(known) if known.0 == number => known,
                other => other.insert((number, spawn::command(&common, program)?)),
            };
            places.enter(index)?;
            let started = spawn::start(command, &program.program, rank, stdin, output)?;
            if let Some(watchdog) = &mut self.watchdog {
                watchdog.watch(started.pid);
            }
            self.add(index, started, poll).map_err(LaunchError::system("watch a rank"))?;
            if share.report_bindings {
                out.push(RankEvent::Output { stream: 1, bytes: places.describe(rank, index).into_bytes() });
            }
        }
        Ok(())
    }

    pub(crate) fn new() -> Self {
        Self {
            members: Vec::new(),
            running: 0,
            first: 0,
            prefix: false,
            feed: None,
            paused: false,
            held: false,
            watchdog: None,
            reaper: Reaper::default(),
            swept: None,
        }
    }

    fn add(&mut self, index: u32, started: spawn::Started, poll: &Poll) -> std::io::Result<()> {
        poll.add(&started.pidfd, Token::Ended(index), Interest::Read)?;
        poll.add(&started.control, Token::Control(index), Interest::Read)?;
        let mut taps = [None, None];
        for (tap, fd) in [started.stdout, started.stderr].into_iter().enumerate() {
            if let Some(fd) = fd {
                poll.add(&fd, TAPS[tap](index), Interest::Read)?;
                taps[tap] = Some(Tap { fd, inbox: Inbox::default() });
            }
        }
        if let Some(pipe) = started.stdin {
            self.feed = Some(Feed { pipe, outbox: Outbox::default(), over: false, watched: false });
        }
        self.members.push(LocalRank {
            pid: started.pid,
            pidfd: started.pidfd,
            control: Some(started.control),
            watched: Some(Interest::Read),
            inbox: Inbox::default(),
            outbox: Outbox::default(),
            taps,
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

    /// When all ranks have ended: whether nothing is left of them, nor of their output. Sweeps; if false, to be
    /// asked again after [`PAUSE`]. Output that nobody ends is waited for as long as [`INSISTENCE`]; what is not
    /// read for the sake of a slow reader has not had its time, unless there is a `hurry`.
    pub(crate) fn is_over(&mut self, now: Duration, hurry: bool) -> bool {
        if self.swept.is_none() && self.sweep(now) || self.swept.is_some() && self.paused && !hurry {
            self.swept = Some(now);
        }
        self.swept.is_some_and(|since| self.is_silent() || now >= since + INSISTENCE)
    }

    /// Whether all output has come to its end.
    pub(crate) fn is_silent(&self) -> bool {
        self.members.iter().flat_map(|member| &member.taps).all(Option::is_none)
    }

    /// The processes that [`Self::is_over`] could not end, for a person. Told once.
    pub(crate) fn take_left(&mut self) -> Vec<String> {
        let name = |process: Pid| {
            let is_it = |member: &LocalRank| member.abandoned && member.pid == process;
            match (self.first..).zip(&self.members).find(|(_, member)| is_it(member)) {
                Some((rank, _)) => format!("rank {rank}, {}", reaper::name(process)),
                None => reaper::name(process),
            }
        };
        self.reaper.take_left().into_iter().map(name).collect()
    }

    /// When all ranks have ended: ends what they have left behind, and all other children of this process.
    /// `true` when nothing is left; otherwise to be called again after [`PAUSE`].
    pub(crate) fn sweep(&mut self, now: Duration) -> bool {
        // Where the system does not list children, the watchdog cannot be told from what is left.
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

    /// Something is ready. Appends what has happened.
    pub(crate) fn ready(&mut self, token: Token, poll: &Poll, out: &mut Vec<RankEvent>) {
        match token {
            Token::Ended(index) => self.reap(index, poll, out),
            Token::Control(index) => {
                self.listen(index, poll, out);
                self.flush(index, poll);
            }
            Token::Stdout(index) => self.tap(index, 0, poll, out),
            Token::Stderr(index) => self.tap(index, 1, poll, out),
            Token::Feed => self.flush_feed(poll),
            _ => {}
        }
    }

    /// Sends a line to a local rank; a rank that has ended gets nothing.
    pub(crate) fn send(&mut self, rank: u32, line: &[u8], poll: &Poll) {
        let index = rank.wrapping_sub(self.first);
        if let Some(member) = self.members.get_mut(index as usize) {
            member.outbox.push(line);
            self.flush(index, poll);
        }
    }

    /// Sends a signal to the ranks that run, and to the groups of their descendants.
    pub(crate) fn signal(&self, number: i32) {
        let Some(signal) = Signal::from_named_raw(number) else { return };
        for member in self.members.iter().filter(|member| !member.ended) {
            member.signal(signal);
            if asks_for_the_end(number) {
                // One that was stopped would notice only when it goes on.
                member.signal(Signal::CONT);
            }
        }
    }

    /// Ranks that have been killed, and are there still, are not waited for any longer: they are among what
    /// [`Self::is_over`] tries to end, and [`Self::take_left`] names.
    pub(crate) fn abandon(&mut self, poll: &Poll, out: &mut Vec<RankEvent>) {
        for (member, rank) in self.members.iter_mut().zip(self.first..).filter(|(member, _)| !member.ended) {
            (member.ended, member.abandoned) = (true, true);
            poll.remove(&member.pidfd);
            out.push(RankEvent::Ended { rank, ending: Ending::Killed(Signal::KILL.as_raw()) });
            self.running -= 1;
        }
    }

    /// Passes standard input on to rank 0.
    pub(crate) fn feed(&mut self, bytes: &[u8], poll: &Poll) {
        if let Some(feed) = &mut self.feed {
            feed.outbox.push(bytes);
            self.flush_feed(poll);
        }
    }

    /// Standard input has ended.
    pub(crate) fn feed_over(&mut self, poll: &Poll) {
        if let Some(feed) = &mut self.feed {
            feed.over = true;
            self.flush_feed(poll);
        }
    }

    /// How many bytes rank 0 has not taken yet; `None` when it takes no more.
    pub(crate) fn backlog(&self) -> Option<usize> {
        self.feed.as_ref().map(|feed| feed.outbox.len())
    }

    /// Reads no output, so that the ranks wait when they write; or reads it again.
    pub(crate) fn pause(&mut self, paused: bool, poll: &Poll) {
        if std::mem::replace(&mut self.paused, paused) == paused {
            return;
        }
        for (member, index) in self.members.iter().zip(0..) {
            for (tap, token) in member.taps.iter().zip(TAPS) {
                match tap {
                    Some(tap) if paused => poll.remove(&tap.fd),
                    Some(tap) => drop(poll.add(&tap.fd, token(index), Interest::Read)),
                    None => {}
                }
            }
        }
    }

    /// Reads no lines, so that the ranks wait for their answers; or reads them again.
    pub(crate) fn hold(&mut self, held: bool, poll: &Poll) {
        if std::mem::replace(&mut self.held, held) != held {
            for (member, index) in self.members.iter_mut().zip(0..) {
                member.watch(index, held, poll);
            }
        }
    }

    fn reap(&mut self, index: u32, poll: &Poll, out: &mut Vec<RankEvent>) {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let Some(member) = self.members.get_mut(index as usize) else { return };
        let status = match waitid(WaitId::PidFd(member.pidfd.as_fd()), options) {
            Ok(Some(status)) => Some(status),
            Ok(None) | Err(Errno::INTR) => return,
            // It is gone, and will never be more so.
            Err(_) => None,
        };
        self.running -= usize::from(!std::mem::replace(&mut member.ended, true));
        poll.remove(&member.pidfd);
        let ending = match status.map(|status| (status.exit_status(), status.terminating_signal())) {
            Some((Some(code), _)) => Ending::Exited(code),
            Some((None, signal)) => Ending::Killed(signal.unwrap_or_default()),
            None => Ending::Misbehaved { what: "the system does not say how it ended".to_owned() },
        };
        // What it said before comes before its end.
        self.listen(index, poll, out);
        out.push(RankEvent::Ended { rank: self.first + index, ending });
    }

    fn listen(&mut self, index: u32, poll: &Poll, out: &mut Vec<RankEvent>) {
        let rank = self.first + index;
        let Some(member) = self.members.get_mut(index as usize) else { return };
        let Some(control) = &member.control else { return };
        let mut open = member.inbox.fill(control);
        // When the rank has ended, all that it has written is there to be read, and nothing will follow.
        while open && member.ended {
            let before = member.inbox.len();
            open = member.inbox.fill(control) && member.inbox.len() > before;
        }
        // Of one that is too long, the server needs no more to refuse it; and no more fits a frame.
        let cut = |mut line: Vec<u8>| {
            line.truncate(LINE_MAX + 1);
            RankEvent::Line { rank, line }
        };
        while let Some(line) = member.inbox.line() {
            out.push(cut(line));
        }
        if member.inbox.len() > line_max(member.inbox.bytes()) {
            out.push(cut(member.inbox.take(member.inbox.len())));
            open = false;
        }
        if !open {
            poll.remove(control);
            member.control = None;
        }
    }

    fn flush(&mut self, index: u32, poll: &Poll) {
        let Some(member) = self.members.get_mut(index as usize) else { return };
        let Some(control) = &member.control else { return };
        if member.outbox.is_empty() {
            return;
        }
        if member.outbox.flush(control, usize::MAX, || true).is_err() {
            // It has closed its end, or died: its own end says more.
            member.outbox.clear();
        }
        member.watch(index, self.held, poll);
    }

    fn tap(&mut self, index: u32, stream: u32, poll: &Poll, out: &mut Vec<RankEvent>) {
        let prefix = self.prefix.then(|| format!("[{}] ", self.first + index));
        let Some(member) = self.members.get_mut(index as usize) else { return };
        let slot = &mut member.taps[stream as usize];
        let Some(tap) = slot else { return };
        let open = tap.inbox.fill(&tap.fd);
        let bytes = lines::take(&mut tap.inbox, prefix.as_deref(), !open);
        if !bytes.is_empty() {
            out.push(RankEvent::Output { stream, bytes });
        }
        if !open {
            poll.remove(&tap.fd);
            *slot = None;
        }
    }

    fn flush_feed(&mut self, poll: &Poll) {
        let Some(feed) = &mut self.feed else { return };
        let open = feed.outbox.flush(&feed.pipe, usize::MAX, || true).is_ok();
        let over = feed.over && feed.outbox.is_empty();
        let wait = open && !feed.outbox.is_empty();
        if wait && !feed.watched {
            feed.watched = poll.add(&feed.pipe, Token::Feed, Interest::Write).unwrap_or(false);
        } else if !wait && feed.watched {
            poll.remove(&feed.pipe);
            feed.watched = false;
        }
        if !open || over {
            self.feed = None;
        }
    }
}

impl LocalRank {
    fn signal(&self, signal: Signal) {
        // The number cannot be another's: nobody has collected the rank yet.
        let _ = kill_process_group(self.pid, signal);
        if getpgid(Some(self.pid)) != Ok(self.pid) {
            // It has moved to another group of its session.
            let _ = pidfd_send_signal(&self.pidfd, signal);
        }
    }

    /// Waits for what can be done at its connection: a rank that reads no answers is not read either, so that they
    /// do not pile up here.
    fn watch(&mut self, index: u32, held: bool, poll: &Poll) {
        let Some(control) = &self.control else { return };
        let read = !held && self.outbox.len() <= UNREAD_MAX;
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
