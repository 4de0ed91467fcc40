//! Names of ranks, requests and statements in explanations: by the lines of the scenario, or short names without one.

use super::wording::{place_of, ranks};
use crate::admission::all_refused;
use crate::happens_before::HappensBefore;
use crate::hashed::Hashed;
use crate::later::fault;
use crate::network::Message;
use crate::program::{Act, Job, Ordinal, Program, Sought, Start, Step};
use crate::state::{Proc, State};
use crate::weakest::{Order, WindowPlan};
use carrousel_rank::epoch::Call;
use carrousel_rank::epoch::Flags;
use carrousel_rank::{Communicator, Kind, Protocol, Source, TagSelector, mpi};
use carrousel_scenario::{Op, Received, RequestId, Scenario, units};
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::mem::discriminant;
use std::sync::Arc;

/// The most colors of a split that are told with their ranks.
const COLORS_MAX: usize = 4;

/// Members of communicators among which a rank is looked for.
const NUMBERED_MAX: u32 = 256;

/// Names of ranks, requests, statements and buffers.
pub(super) struct Names<'a> {
    job: &'a Job,
    source: Option<&'a Scenario>,
    /// By rank and ordinal: the step that starts the request.
    starts: Vec<Vec<usize>>,
    /// By rank and step: which time its line takes such a step, if it takes several. Made when it is asked for.
    times: Vec<OnceCell<Vec<Option<u32>>>>,
    /// What ranks have started with values that only the execution has.
    begun: &'a HashMap<(u16, Ordinal), Start>,
    /// By rank whose next statement has a value that leaves its range: at which step it cannot go on, and why.
    faults: HashMap<u16, (usize, String)>,
    /// The order of the weakest MPI that is switched off.
    without: Option<Order>,
    /// What the text of the job says of its windows, under the weakest MPI.
    plan: OnceCell<WindowPlan>,
}

impl<'a> Names<'a> {
    /// Names for `job`, from its scenario. `begun` has the requests whose values are known only at run time, `faults`
    /// the reasons why ranks cannot go on at the end.
    pub(super) fn new(
        job: &'a Job,
        source: Option<&'a Scenario>,
        begun: &'a HashMap<(u16, Ordinal), Start>,
        faults: HashMap<u16, (usize, String)>,
        without: Option<Order>,
    ) -> Self {
        Self {
            job,
            source,
            starts: job.ranks.iter().map(|program| steps_of_starts(program)).collect(),
            times: job.ranks.iter().map(|_| OnceCell::new()).collect(),
            begun,
            faults,
            without,
            plan: OnceCell::new(),
        }
    }

    /// Why a rank cannot go on, if its next statement has a value that leaves its range.
    pub(super) fn fault(&self, rank: u16) -> Option<&str> {
        self.faults.get(&rank).map(|(_, why)| why.as_str())
    }

    /// The step at which it cannot go on.
    pub(super) fn fault_at(&self, rank: u16) -> Option<usize> {
        self.faults.get(&rank).map(|(pc, _)| *pc)
    }

    /// The values of the request that a step starts, if they are known only at run time: `to 2 tag 0 size 8`.
    pub(super) fn values(&self, rank: u16, pc: usize) -> Option<String> {
        let Some(Act::Start(ordinal)) = self.act(rank, pc) else { return None };
        let start = self.begun.get(&(rank, *ordinal))?;
        spell_start(start).split_once(' ').map(|(_, values)| values.to_owned())
    }

    /// The message that a name stands for: `source(r) is 2, tag(r) is 0`.
    pub(super) fn message_known(&self, rank: u16, (name, message): (RequestId, Received)) -> String {
        let program = self.source.and_then(|source| source.programs.get(usize::from(rank)));
        let name = program.and_then(|program| program.requests.get(name.0 as usize));
        let name = name.map_or("it", |name| name);
        format!("`source({name})` is {}, `tag({name})` is {}", message.source, message.tag)
    }

    /// What the text of the job says of its windows, under the weakest MPI.
    pub(super) fn plan(&self) -> &WindowPlan {
        self.plan.get_or_init(|| match self.is_portable() {
            true => {
                let steps = HappensBefore::new(self.job, self.without);
                WindowPlan::new(self.job, &all_refused(self.job), &steps, self.without)
            }
            false => WindowPlan::default(),
        })
    }

    /// The reorder flags of a window.
    pub(super) fn flags(&self, window: u16) -> Flags {
        self.job.windows.get(usize::from(window)).map_or(Flags::default(), |window| window.flags)
    }

    /// The name of a window.
    pub(super) fn window_name(&self, window: u16) -> Option<&str> {
        Some(self.source?.windows.get(usize::from(window))?.name.as_str())
    }

    /// Whether there is more than one window.
    pub(super) fn has_several_windows(&self) -> bool {
        self.job.windows.len() > 1
    }

    /// The program of a rank.
    pub(super) fn program(&self, rank: u16) -> Option<&'a Program> {
        self.job.ranks.get(usize::from(rank)).map(|program| &**program)
    }

    /// How many ranks there are.
    pub(super) fn ranks(&self) -> u16 {
        self.job.ranks.len() as u16
    }

    /// The largest message that a standard send sends eagerly; none if a send of any size may wait.
    pub(super) fn eager_threshold(&self) -> Option<u64> {
        Some(self.job.options.eager_threshold).filter(|bytes| *bytes != u64::MAX)
    }

    /// Whether the job is explored under the weakest MPI.
    pub(super) fn is_portable(&self) -> bool {
        self.eager_threshold().is_none()
    }

    /// The room for eager messages to one rank without a receive, in bytes.
    pub(super) fn eager_window(&self) -> u64 {
        self.job.options.eager_window
    }

    /// What a request does.
    pub(super) fn start(&self, rank: u16, ordinal: Ordinal) -> Option<&'a Start> {
        self.begun.get(&(rank, ordinal)).or(self.program(rank)?.starts.get(usize::from(ordinal)))
    }

    /// The act of a step.
    pub(super) fn act(&self, rank: u16, pc: usize) -> Option<&'a Act> {
        Some(&self.program(rank)?.steps.get(pc)?.act)
    }

    /// The step that starts a request.
    pub(super) fn step_of(&self, rank: u16, ordinal: Ordinal) -> Option<usize> {
        self.starts.get(usize::from(rank))?.get(usize::from(ordinal)).copied()
    }

    /// The line of a step.
    pub(super) fn line(&self, rank: u16, pc: usize) -> Option<u32> {
        let step = self.program(rank)?.steps.get(pc)?;
        Some(step.line).filter(|line| *line > 0)
    }

    /// Which time a step of a line is taken, from 1; `None` if that happens once, or the reader has no lines.
    pub(super) fn time(&self, rank: u16, pc: usize) -> Option<u32> {
        let times = self.times.get(usize::from(rank)).filter(|_| self.has_lines())?;
        let of_program = || self.program(rank).map_or_else(Vec::new, times_of_steps);
        times.get_or_init(of_program).get(pc).copied().flatten()
    }

    /// ``on `rows` ``, or `on all ranks`: a communicator of a rank.
    pub(super) fn on(&self, rank: u16, communicator: Communicator) -> String {
        if communicator == Communicator::WORLD {
            return "on all ranks".to_owned();
        }
        let lines = self.program(rank).into_iter().flat_map(|program| &program.steps);
        let defines = |step: &&Step| step.act == Act::Define(communicator);
        let line = lines.filter(defines).map(|step| step.line).next();
        let all = self.source.map_or(&[][..], |source| &source.communicators);
        let name = all.iter().find(|one| Some(one.line) == line).map(|one| &one.name);
        name.map_or_else(
            || format!("on communicator {}", communicator.index()),
            |name| format!("on `{name}`"),
        )
    }

    /// ` (0 on `rows`)`: the number of a rank in a communicator of another rank, if it is not that of all ranks.
    pub(super) fn numbered(&self, of: u16, communicator: Communicator, rank: u16) -> String {
        let number = || {
            let program = self.program(of).filter(|_| communicator != Communicator::WORLD)?;
            let all = u32::from(self.ranks()).min(NUMBERED_MAX);
            (0..all).find(|number| program.rank_in(communicator, *number) == rank)
        };
        number().map_or_else(String::new, |number| format!(" ({number} {})", self.on(of, communicator)))
    }

    /// Whether lines are of a scenario that the reader knows.
    pub(super) fn has_lines(&self) -> bool {
        self.source.is_some()
    }

    /// A request in a word or two: `line 4`, `line 4, 2nd time`, or `s0` without a scenario.
    pub(super) fn tag(&self, rank: u16, ordinal: Ordinal) -> String {
        let place = self.step_of(rank, ordinal).filter(|_| self.has_lines()).and_then(|pc| {
            let line = self.line(rank, pc)?;
            Some(place_of(line, self.time(rank, pc)))
        });
        place.unwrap_or_else(|| self.short(rank, ordinal))
    }

    /// `s0`, `r1`, `b2`.
    fn short(&self, rank: u16, ordinal: Ordinal) -> String {
        let letter = match self.start(rank, ordinal) {
            Some(Start::Send { .. }) => 's',
            Some(Start::Collective { kind: Kind::Barrier, .. }) => 'b',
            Some(Start::Collective { .. }) => 'c',
            _ => 'r',
        };
        format!("{letter}{ordinal}")
    }

    /// What a rank's collectives in a communicator are called: by their name if they are all of one kind.
    pub(super) fn collective(&self, rank: u16, communicator: Communicator) -> &'static str {
        let starts = self.program(rank).into_iter().flat_map(|program| (0..).zip(&program.starts));
        let mut names = starts.filter_map(|(ordinal, start)| match *start {
            Start::Collective { kind, communicator: other, .. } if other == communicator => {
                Some(self.kind(rank, ordinal, kind))
            }
            _ => None,
        });
        match names.next() {
            Some(first) if names.all(|name| name == first) => first,
            _ => "collective",
        }
    }

    /// The kind of a collective: `split` if the ranks tell each other color and key by it.
    fn kind(&self, rank: u16, ordinal: Ordinal, kind: Kind) -> &'static str {
        let line = self.step_of(rank, ordinal).and_then(|pc| self.line(rank, pc));
        let program = self.source.and_then(|source| source.programs.get(usize::from(rank)));
        // Splits are the first statements of a rank.
        let mut splits = program.into_iter().flat_map(|it| &it.steps).take_while(|step| is_split(step));
        if splits.any(|step| Some(step.line) == line) { "split" } else { kind.name() }
    }

    /// `send (line 4)`, `receive r1`.
    pub(super) fn request(&self, rank: u16, ordinal: Ordinal) -> String {
        let kind = match self.start(rank, ordinal) {
            Some(Start::Send { .. }) => "send",
            Some(Start::Receive { .. }) => "receive",
            Some(Start::Collective { kind, .. }) => self.kind(rank, ordinal, *kind),
            Some(Start::Synchronize(_)) => {
                self.synchronization(rank, ordinal).map_or("request", |(_, call)| call_name(call))
            }
            Some(Start::Access(access)) => return self.access(rank, *access),
            Some(Start::Later(_)) | None => "request",
        };
        self.with_tag(kind, rank, ordinal)
    }

    fn with_tag(&self, kind: &str, rank: u16, ordinal: Ordinal) -> String {
        let tag = self.tag(rank, ordinal);
        if self.source.is_some() { format!("{kind} ({tag})") } else { format!("{kind} {tag}") }
    }

    /// `rank 1's receive (line 9)`.
    pub(super) fn request_of(&self, rank: u16, ordinal: Ordinal) -> String {
        format!("rank {rank}'s {}", self.request(rank, ordinal))
    }

    /// `rank 0's send (line 4)`, by the message that it sends.
    pub(super) fn send_of(&self, message: Message) -> String {
        match self.start(message.from, message.send) {
            Some(Start::Send { .. }) => self.request_of(message.from, message.send),
            _ => "a message".to_owned(),
        }
    }

    /// `rank 0's message (line 4)`.
    pub(super) fn message(&self, message: Message) -> String {
        match self.start(message.from, message.send) {
            Some(Start::Send { .. }) => {
                format!("rank {}'s {}", message.from, self.with_tag("message", message.from, message.send))
            }
            _ => "a message".to_owned(),
        }
    }

    /// `message (line 4)`.
    pub(super) fn message_itself(&self, message: Message) -> String {
        self.with_tag("message", message.from, message.send)
    }

    /// Where a request is: `at line 4`, `r1`.
    pub(super) fn whereabouts(&self, rank: u16, ordinal: Ordinal) -> String {
        let tag = self.tag(rank, ordinal);
        if tag.starts_with("line ") { format!("at {tag}") } else { tag }
    }

    /// A request with its statement: ``send (line 4, `isend to 1 tag 0 size 64KiB`)``.
    pub(super) fn request_in_full(&self, rank: u16, ordinal: Ordinal) -> String {
        let request = self.request(rank, ordinal);
        let Some(pc) = self.step_of(rank, ordinal) else { return request };
        let statement = self.statement(rank, pc);
        match request.strip_suffix(')') {
            Some(open) => format!("{open}, `{statement}`)"),
            None => format!("{request} (`{statement}`)"),
        }
    }

    /// Where a step is: ``at line 5 (`wait r`)``.
    pub(super) fn place(&self, rank: u16, pc: usize) -> String {
        let statement = self.statement(rank, pc);
        match self.line(rank, pc) {
            Some(line) if self.source.is_some() => format!("at line {line} (`{statement}`)"),
            _ => format!("in `{statement}`"),
        }
    }

    /// The statement that a step belongs to, as written in a scenario.
    pub(super) fn statement(&self, rank: u16, pc: usize) -> String {
        self.written(rank, pc)
            .unwrap_or_else(|| self.act(rank, pc).map_or_else(String::new, |act| self.spell(rank, act)))
    }

    fn written(&self, rank: u16, pc: usize) -> Option<String> {
        let source = self.source?;
        let line = self.line(rank, pc)?;
        let program = source.programs.get(usize::from(rank))?;
        let step = program.steps.iter().find(|step| step.line == line)?;
        Some(step.written(source, program).to_string())
    }

    /// A split without what it is for one rank, and which ranks get which color: ``comm row = split`, `color 0: ranks 0 and 1;
    /// color 1: rank 2``. `None` for another statement.
    pub(super) fn split(&self, rank: u16, pc: usize) -> Option<(String, String)> {
        let (source, line) = (self.source?, self.line(rank, pc)?);
        let mut name = None;
        let mut by_color: BTreeMap<Option<u32>, Vec<(i32, u16)>> = BTreeMap::new();
        for (rank, program) in (0..=u16::MAX).zip(&source.programs) {
            let its = program.steps.iter().take_while(|step| is_split(step)).find(|step| step.line == line);
            if let Some(Op::Split { name: made, color, key, .. }) = its.map(|step| &step.op) {
                name = Some(Arc::clone(made));
                by_color.entry(*color).or_default().push((*key, rank));
            }
        }
        // The members of a color are numbered by their keys.
        by_color.values_mut().for_each(|members| members.sort_unstable());
        let group = |(color, members): (&Option<u32>, &Vec<(i32, u16)>)| {
            let members: Vec<u16> = members.iter().map(|(_, rank)| *rank).collect();
            let order = if members.is_sorted() { "" } else { " in this order" };
            match color {
                Some(color) => format!("color {color}: {}{order}", ranks(&members)),
                None => format!("no color: {}", ranks(&members)),
            }
        };
        let mut groups: Vec<String> = by_color.iter().take(COLORS_MAX).map(group).collect();
        let more = by_color.len().saturating_sub(COLORS_MAX);
        groups.extend((more > 0).then(|| format!("and {more} more colors")));
        Some((format!("comm {} = split", name?), groups.join("; ")))
    }

    fn spell(&self, rank: u16, act: &Act) -> String {
        let list = |ordinals: &[Ordinal]| {
            ordinals.iter().map(|ordinal| format!(" {}", self.short(rank, *ordinal))).collect::<String>()
        };
        match act {
            Act::Start(ordinal) => {
                let name = self.short(rank, *ordinal);
                self.start(rank, *ordinal)
                    .map_or(String::new(), |start| format!("{name} = {}", spell_start(start)))
            }
            Act::Wait(ordinals) => format!("wait{}", list(ordinals)),
            Act::Test(ordinal) => format!("test {}", self.short(rank, *ordinal)),
            Act::Define(communicator) => format!("comm {}", communicator.index()),
            Act::Probe { sought: Sought::Known(_, source, tag), .. } => {
                format!("probe from {} tag {}", source_text(*source), tag_text(*tag))
            }
            Act::Probe { sought: Sought::Later(_), .. } => "probe".to_owned(),
            Act::Compute(_) => "compute".to_owned(),
            Act::Claim(ordinal) => {
                let name = self.short(rank, *ordinal);
                self.start(rank, *ordinal)
                    .map_or(String::new(), |start| format!("{name} = claim for {}", spell_start(start)))
            }
            Act::ReceiveClaimed(ordinal) => format!("receive claimed {}", self.short(rank, *ordinal)),
            Act::Discard(ordinal) => format!("discard {}", self.short(rank, *ordinal)),
            Act::Cancel(ordinal) => format!("cancel {}", self.short(rank, *ordinal)),
            Act::Access(access) => self.access(rank, *access),
            Act::AwaitGrants(opening) => {
                let call = self.synchronization(rank, *opening);
                call.map_or_else(String::new, |(window, call)| format!("{} {window}", call_name(call)))
            }
            Act::TouchWindow(own) => {
                let verb = if own.write { "store" } else { "load" };
                format!("{verb} {} at {} size {}", own.window.0, own.offset, units::size(own.len))
            }
            Act::Touch { buffer, write } => {
                format!("{} buf {}", if *write { "write" } else { "read" }, self.buffer(rank, *buffer))
            }
        }
    }

    /// The name of a buffer; of one without a name, its number.
    pub(super) fn buffer(&self, rank: u16, buffer: u16) -> String {
        let program = self.source.and_then(|source| source.programs.get(usize::from(rank)));
        let named = program.and_then(|program| program.buffers.get(usize::from(buffer)));
        named.map_or_else(|| buffer.to_string(), |buffer| buffer.name.to_string())
    }

    /// Another line of the rank that binds the name of this request again, and the name.
    pub(super) fn bound_again(&self, rank: u16, ordinal: Ordinal) -> Option<(String, u32)> {
        let program = self.source?.programs.get(usize::from(rank))?;
        let line = self.line(rank, self.step_of(rank, ordinal)?)?;
        let name = program.steps.iter().find(|step| step.line == line)?.bind?;
        let rounds = program.steps.iter().filter(|step| step.line == line).count();
        let again = program.steps.iter().find(|step| step.bind == Some(name) && step.line > line);
        let at = again.map(|step| step.line).or((rounds > 1).then_some(line))?;
        Some((program.requests.get(name.0 as usize)?.to_string(), at))
    }
}

/// Of the ranks that cannot go on in a state because a value leaves its range: at which step, and why.
pub(super) fn faults<P: Protocol>(job: &Job, state: Option<&State<P>>) -> HashMap<u16, (usize, String)> {
    let procs = state.into_iter().flat_map(|state| state.procs.iter());
    let of = |(rank, (program, proc)): (u16, (&Arc<Program>, &Hashed<Proc<P>>))| {
        Some((rank, (usize::from(proc.pc), fault(program, proc)?.to_string())))
    };
    (0..=u16::MAX).zip(job.ranks.iter().zip(procs)).filter_map(of).collect()
}

/// The step that starts each request of a program.
fn steps_of_starts(program: &Program) -> Vec<usize> {
    let starts = |act: &Act| match act {
        Act::Start(_) => true,
        Act::Access(index) => {
            program.accesses.get(usize::from(*index)).is_some_and(|access| access.request.is_some())
        }
        _ => false,
    };
    (0..).zip(&program.steps).filter(|(_, step)| starts(&step.act)).map(|(pc, _)| pc).collect()
}

/// By step: which time its line takes such a step, if it takes several.
fn times_of_steps(program: &Program) -> Vec<Option<u32>> {
    // A `sendrecv` starts a send and a receive at one line, whose values may be known only at run time.
    let start = |request: Ordinal| {
        let start = program.starts.get(usize::from(request))?;
        let sends = match *start {
            Start::Later(index) => program.later.get(usize::from(index)).is_some_and(|later| later.sends),
            _ => false,
        };
        Some((discriminant(start), sends))
    };
    let mut times: HashMap<_, u32> = HashMap::new();
    let mut steps = Vec::with_capacity(program.steps.len());
    for step in &program.steps {
        let of = if let Act::Start(request) = step.act { start(request) } else { None };
        let key = (step.line, discriminant(&step.act), of);
        let time = times.entry(key).or_default();
        *time += 1;
        steps.push((key, *time));
    }
    steps.into_iter().map(|(key, time)| (times.get(&key) > Some(&1)).then_some(time)).collect()
}

fn is_split(step: &carrousel_scenario::Step) -> bool {
    matches!(step.op, Op::Split { .. })
}

fn spell_start(start: &Start) -> String {
    match *start {
        Start::Send { to, tag, len, synchronous, .. } => {
            let verb = if synchronous { "issend" } else { "isend" };
            format!("{verb} to {to} tag {tag} size {}", units::size(len))
        }
        Start::Receive { from, tag, len, .. } => {
            format!("irecv from {} tag {} size {}", source_text(from), tag_text(tag), units::size(len))
        }
        Start::Collective { kind: Kind::Barrier, .. } => "ibarrier".to_owned(),
        // It has not begun.
        Start::Later(_) | Start::Synchronize(_) | Start::Access(_) => "request".to_owned(),
        Start::Collective { kind, root, len, .. } => {
            let rooted = matches!(kind, Kind::Broadcast | Kind::Reduce | Kind::Gather);
            let root = if rooted { format!(" root {root}") } else { String::new() };
            format!("{}{root} size {}", kind.name(), units::size(len))
        }
    }
}

fn source_text(source: Source) -> String {
    match source {
        Source::Rank(rank) => rank.0.to_string(),
        Source::Any => "any".to_owned(),
    }
}

fn tag_text(tag: TagSelector) -> String {
    match tag {
        mpi::ANY_TAG => "any".to_owned(),
        _ if tag.is_exact() => tag.tag().0.to_string(),
        _ => format!("{} ignoring {:#b}", tag.tag().0, tag.ignore()),
    }
}

/// The form of a call on epochs that starts a request.
fn call_name(call: Call<'_>) -> &'static str {
    match call {
        Call::Post(_) => "post",
        Call::Wait | Call::Test => "wait_epoch",
        Call::Start(_) => "start",
        Call::Complete => "complete",
        Call::Lock { .. } => "lock",
        Call::Unlock(_) => "unlock",
        Call::LockAll => "lock_all",
        Call::UnlockAll => "unlock_all",
        Call::Fence => "fence",
        Call::Transfer { .. } => "access",
        Call::Flush(_) | Call::FlushWithRequest(_) => "flush",
    }
}
