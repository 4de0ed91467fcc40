//! Programs with windows in the smallest form that the oracle needs, and their text in the scenario language.
//!
//! A program has no loops and no branches. So everything about it is a number: a statement is a rank and a position, and
//! has happened once, or not at all.

use std::fmt::Write as _;

/// A job: the program of each rank, and what the ranks share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    /// By window: its settings.
    pub windows: Vec<WindowSettings>,
    /// By rank: its statements.
    pub ranks: Vec<Vec<Statement>>,
}

/// The settings of a window. Each has room for two cells of 8 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WindowSettings {
    /// By [`Flag`]: whether it is set.
    pub flags: [bool; 4],
    /// Accumulates of one origin are not ordered (`accumulate_ordering none`).
    pub unordered: bool,
    /// `no_op` is no exception (`accumulate_ops same_op`).
    pub same_op: bool,
}

/// The reorder flags of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flag {
    /// An access epoch may pass an access epoch.
    AccessAfterAccess,
    /// An access epoch may pass an exposure epoch.
    AccessAfterExposure,
    /// An exposure epoch may pass an exposure epoch.
    ExposureAfterExposure,
    /// An exposure epoch may pass an access epoch.
    ExposureAfterAccess,
}

impl Flag {
    /// All, in order.
    pub const ALL: [Self; 4] = [
        Self::AccessAfterAccess,
        Self::AccessAfterExposure,
        Self::ExposureAfterExposure,
        Self::ExposureAfterAccess,
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::AccessAfterAccess => "access_after_access",
            Self::AccessAfterExposure => "access_after_exposure",
            Self::ExposureAfterExposure => "exposure_after_exposure",
            Self::ExposureAfterAccess => "exposure_after_access",
        }
    }
}

/// Cells of a window, from the first to before the end. A cell has 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cells {
    /// The first cell.
    pub first: u8,
    /// How many.
    pub count: u8,
}

impl Cells {
    /// Whether the other has all of them.
    pub fn is_within(self, other: Self) -> bool {
        other.first <= self.first && self.first + self.count <= other.first + other.count
    }

    /// Whether the two have a cell in common.
    pub fn overlap(self, other: Self) -> bool {
        self.first < other.first + other.count && other.first < self.first + self.count
    }
}

/// The operation of an atomic access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combine {
    /// `sum`.
    Sum,
    /// `replace`.
    Replace,
    /// `no_op`.
    NoOp,
}

impl Combine {
    fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Replace => "replace",
            Self::NoOp => "no_op",
        }
    }
}

/// The kind of an access to a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// `put`.
    Put,
    /// `get`.
    Get,
    /// `acc`.
    Accumulate(Combine),
    /// `get_acc`.
    GetAccumulate(Combine),
    /// `fetch_op`.
    FetchOp(Combine),
    /// `cas`.
    CompareSwap,
}

impl AccessKind {
    /// Whether it is one of the accumulates, which are atomic.
    pub(crate) fn is_atomic(self) -> bool {
        !matches!(self, Self::Put | Self::Get)
    }

    /// Whether something comes back to the origin.
    pub fn fetches(self) -> bool {
        !matches!(self, Self::Put | Self::Accumulate(_))
    }

    /// Whether the target's memory may change.
    pub fn writes(self) -> bool {
        !matches!(
            self,
            Self::Get
                | Self::Accumulate(Combine::NoOp)
                | Self::GetAccumulate(Combine::NoOp)
                | Self::FetchOp(Combine::NoOp)
        )
    }
}

/// An access to a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// What it does.
    pub kind: AccessKind,
    /// To whose memory.
    pub target: u8,
    /// Which cells.
    pub cells: Cells,
    /// The named local buffer.
    pub buffer: Option<u8>,
    /// Whether it has a request of its own.
    pub with_request: bool,
}

/// A call that synchronizes a window. `later` is true of the i-forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Synchronization {
    /// Which call.
    pub call: Call,
    /// Whether the call returns at once, with a request.
    pub later: bool,
    /// The assertions of this call. Those of a fence which all ranks have to give alike stand with the fence.
    pub promises: Promises,
}

/// Assertions (MPI-4.1, 12.5.5) that each rank makes for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Promises {
    /// `nocheck`, of `start`, `post`, `lock` and `lock_all`.
    pub no_check: bool,
    /// `nostore`, of `post` and `fence`.
    pub no_store: bool,
    /// `noput`, of `post` and `fence`.
    pub no_put: bool,
}

/// Calls that synchronize a window. Groups are sets of ranks, a bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// `fence`, with the assertions `noprecede` and `nosucceed`.
    Fence {
        /// Nothing was accessed before.
        no_precede: bool,
        /// Nothing is accessed behind it.
        no_succeed: bool,
    },
    /// `start`.
    Start(u8),
    /// `complete`.
    Complete,
    /// `post`.
    Post(u8),
    /// `wait_epoch`.
    WaitEpoch,
    /// `lock`.
    Lock {
        /// Of whose memory.
        target: u8,
        /// Not shared.
        exclusive: bool,
    },
    /// `unlock`.
    Unlock(u8),
    /// `lock_all`.
    LockAll,
    /// `unlock_all`.
    UnlockAll,
    /// The eight forms of `flush`.
    Flush {
        /// Accesses to this rank, or to all.
        target: Option<u8>,
        /// At the origin only.
        local: bool,
    },
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Statement {
    /// An access to a window.
    Access(u8, Access),
    /// The program's own `load` or `store`.
    Own {
        /// The window.
        window: u8,
        /// Which cells.
        cells: Cells,
        /// `store`.
        writes: bool,
    },
    /// The program's own `read` or `write` of a local buffer.
    Buffer {
        /// Which.
        buffer: u8,
        /// `write`.
        writes: bool,
    },
    /// A call that synchronizes a window.
    Synchronize(u8, Synchronization),
    /// `send`, `ssend`.
    Send {
        /// To whom.
        to: u8,
        /// The tag.
        tag: u8,
        /// `ssend`.
        synchronous: bool,
    },
    /// `recv`.
    Receive {
        /// From whom.
        from: u8,
        /// The tag.
        tag: u8,
    },
    /// `barrier`.
    Barrier,
    /// `wait` for the requests that these earlier statements of the rank have started.
    Wait(Vec<u8>),
    /// `wait all`.
    WaitAll,
}

impl Statement {
    /// Whether it starts a request.
    pub fn starts_request(&self) -> bool {
        match self {
            Self::Access(_, access) => access.with_request,
            Self::Synchronize(_, synchronization) => synchronization.later,
            _ => false,
        }
    }
}

impl Program {
    /// The text of the program as a scenario, with these checks expected to be violated.
    pub fn text(&self, title: &str, expected: &[&str]) -> String {
        let mut text = format!("scenario \"{title}\"\nranks {}\n", self.ranks.len());
        for (window, settings) in self.windows.iter().enumerate() {
            let name = window_name(window as u8);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "window {name} 16");
            for (flag, _) in Flag::ALL.into_iter().zip(settings.flags).filter(|(_, is_set)| *is_set) {
                let _ = writeln!(text, "option {name}.{} on", flag.name());
            }
            if settings.unordered {
                let _ = writeln!(text, "option {name}.accumulate_ordering none");
            }
            if settings.same_op {
                let _ = writeln!(text, "option {name}.accumulate_ops same_op");
            }
        }
        for check in expected {
            let _ = writeln!(text, "expect {check} violated");
        }
        for (rank, statements) in
            self.ranks.iter().enumerate().filter(|(_, statements)| !statements.is_empty())
        {
            let _ = writeln!(text, "\nrank {rank}");
            for (at, statement) in statements.iter().enumerate() {
                let name = if statement.starts_request() { format!("r{at} = ") } else { String::new() };
                let _ = writeln!(text, "  {name}{}", words(statement));
            }
        }
        text
    }

    /// All statements of all ranks.
    pub fn len(&self) -> usize {
        self.ranks.iter().map(Vec::len).sum()
    }

    /// Whether no rank does anything.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The name of a window in files.
fn window_name(window: u8) -> char {
    char::from(b"wvu"[usize::from(window) % 3])
}

fn group(ranks: u8) -> String {
    let named: Vec<String> = members(ranks).map(|rank| rank.to_string()).collect();
    format!("[{}]", named.join(" "))
}

/// The ranks of a set.
pub fn members(ranks: u8) -> impl Iterator<Item = u8> {
    (0..8).filter(move |rank| ranks >> rank & 1 == 1)
}

fn place(cells: Cells) -> String {
    format!("size {} at {}", 8 * cells.count, 8 * cells.first)
}

/// A statement without the name of its request.
pub(crate) fn words(statement: &Statement) -> String {
    match statement {
        Statement::Access(window, access) => access_words(window_name(*window), access),
        Statement::Own { window, cells, writes } => {
            let verb = if *writes { "store" } else { "load" };
            format!("{verb} {} at {} size {}", window_name(*window), 8 * cells.first, 8 * cells.count)
        }
        Statement::Buffer { buffer, writes } => {
            format!("{} buf b{buffer}", if *writes { "write" } else { "read" })
        }
        Statement::Synchronize(window, synchronization) => {
            synchronization_words(window_name(*window), *synchronization)
        }
        Statement::Send { to, tag, synchronous } => {
            format!("{} to {to} tag {tag} size 8", if *synchronous { "ssend" } else { "send" })
        }
        Statement::Receive { from, tag } => format!("recv from {from} tag {tag} size 8"),
        Statement::Barrier => "barrier".to_owned(),
        Statement::Wait(requests) => {
            let named: Vec<String> = requests.iter().map(|at| format!("r{at}")).collect();
            format!("wait {}", named.join(" "))
        }
        Statement::WaitAll => "wait all".to_owned(),
    }
}

fn access_words(window: char, access: &Access) -> String {
    let target = access.target;
    let buffer = access.buffer.map_or(String::new(), |buffer| format!(" buf b{buffer}"));
    let place = place(access.cells);
    let at = 8 * access.cells.first;
    match access.kind {
        AccessKind::Put => format!("put {window} to {target} {place}{buffer}"),
        AccessKind::Get => format!("get {window} from {target} {place}{buffer}"),
        AccessKind::Accumulate(combine) => {
            format!("acc {window} to {target} {place}{buffer} op {}", combine.name())
        }
        AccessKind::GetAccumulate(combine) => {
            format!("get_acc {window} to {target} {place}{buffer} op {}", combine.name())
        }
        AccessKind::FetchOp(combine) => {
            format!("fetch_op {window} at {target} at {at} op {}", combine.name())
        }
        AccessKind::CompareSwap => format!("cas {window} at {target} at {at}"),
    }
}

fn synchronization_words(window: char, synchronization: Synchronization) -> String {
    let Synchronization { call, later, promises } = synchronization;
    let (no_precede, no_succeed) = match call {
        Call::Fence { no_precede, no_succeed } => (no_precede, no_succeed),
        _ => (false, false),
    };
    let all = [
        (promises.no_check, " nocheck"),
        (promises.no_store, " nostore"),
        (promises.no_put, " noput"),
        (no_precede, " noprecede"),
        (no_succeed, " nosucceed"),
    ];
    let said: String = all.into_iter().filter(|(is_said, _)| *is_said).map(|(_, word)| word).collect();
    let asserts = if said.is_empty() { String::new() } else { format!(" assert{said}") };
    format!("{}{}{asserts}", if later { "i" } else { "" }, call_words(window, call))
}

fn call_words(window: char, call: Call) -> String {
    match call {
        Call::Fence { .. } => format!("fence {window}"),
        Call::Start(targets) => format!("start {window} to {}", group(targets)),
        Call::Complete => format!("complete {window}"),
        Call::Post(origins) => format!("post {window} from {}", group(origins)),
        Call::WaitEpoch => format!("wait_epoch {window}"),
        Call::Lock { target, exclusive } => {
            format!("lock {window} at {target} {}", if exclusive { "exclusive" } else { "shared" })
        }
        Call::Unlock(target) => format!("unlock {window} at {target}"),
        Call::LockAll => format!("lock_all {window}"),
        Call::UnlockAll => format!("unlock_all {window}"),
        Call::Flush { target, local } => {
            let local = if local { "_local" } else { "" };
            match target {
                Some(target) => format!("flush{local} {window} at {target}"),
                None => format!("flush{local}_all {window}"),
            }
        }
    }
}
