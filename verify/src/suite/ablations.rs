//! Ablations: each rule off in turn, the violation that this must cause, and the smallest program that shows it.

use super::families::{Kinds, ProgramFamily, cancels, claims, one_way};
use super::rendezvous::explore_batch;
use super::space::job;
use super::{SuiteReport, SuiteRow, SuiteSettings, VERSION};
use crate::bounds::Bounds;
use crate::connection::{Buffers, ConnectionBounds, CreditBounds, HandshakeBounds, OrderBounds};
use crate::epoch::{EpochBounds, GivenProgram};
use crate::explore::Limits;
use crate::lock::{LockBounds, QueueBounds, TicketBounds};
use crate::memory::MemoryBounds;
use crate::progress::ProgressBounds;
use crate::rendezvous::Rendezvous;
use crate::report::Verdict;
use crate::rules::RuleSet;
use crate::schedule::ScheduleBounds;
use crate::search::CoverPoint;
use carrousel_epoch::Flags;
use std::time::Instant;

/// A rule that is switched off, and where the violation is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ablation {
    /// The protocol of the rule, and where to search.
    pub subject: Subject,
    /// The rule, as [`crate::rules::RULES`] names it.
    pub rule: &'static str,
    /// Where the race was published, or which reading of which rule it is.
    pub source: &'static str,
}

/// The protocol whose rule is switched off, and where to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Of a rendezvous protocol: in these programs.
    Protocol(Rendezvous, Search),
    /// Of registered memory: in all executions within these bounds.
    Memory(MemoryBounds),
    /// Of connections: in all executions within these bounds.
    Connection(ConnectionBounds),
    /// Of locks: in all executions within these bounds.
    Lock(LockBounds),
    /// Of epochs: in all executions of a program.
    Epoch(EpochBounds),
    /// Of the order of an epoch's transfers: in all executions within these bounds.
    Schedule(ScheduleBounds),
    /// Of initial progress: in the programs within these bounds.
    Progress(ProgressBounds),
}

impl Ablation {
    /// The set that the rule belongs to.
    pub fn set(&self) -> RuleSet {
        match self.subject {
            Subject::Protocol(protocol, _) => protocol.rule_set(),
            Subject::Memory(_) => MemoryBounds::SET,
            Subject::Connection(_) => ConnectionBounds::SET,
            Subject::Lock(_) => LockBounds::SET,
            Subject::Epoch(_) => EpochBounds::SET,
            Subject::Schedule(_) => ScheduleBounds::SET,
            Subject::Progress(_) => ProgressBounds::SET,
        }
    }
}

/// Which programs to search for the race, the smallest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// One direction, eager and rendezvous sizes, one tag: up to so many sends and receives.
    OneTag(usize, usize),
    /// The same with two tags and any.
    TwoTags(usize, usize),
    /// The same with tags of two bits, of which receives may ignore some.
    Masks(usize, usize),
    /// The same with large receives only.
    Large(usize, usize),
    /// The same with messages longer than their receive.
    Truncating(usize, usize),
    /// The same with receives cancelled.
    Cancelled(usize, usize),
    /// The same with messages claimed.
    Claimed(usize, usize),
    /// The same with receives from any source.
    AnySource(usize, usize),
}

use Rendezvous::{Mirror, Published};

/// All ablations, in the order of the table.
pub const ABLATIONS: &[Ablation] = &[
    ablation(Mirror, "ORDERED_CONNECTION", "R1", Search::OneTag(2, 2)),
    ablation(Mirror, "SEEN_PRUNES", "R2", Search::OneTag(3, 3)),
    ablation(Mirror, "BLOCKED_BY_UNANNOUNCED", "R3; figure 4.9", Search::AnySource(2, 3)),
    ablation(Mirror, "MASKS_OVERLAP", "R3, masks", Search::Masks(1, 2)),
    ablation(Mirror, "AHEAD_ANNOUNCEMENTS", "R4; figure 4.9", Search::OneTag(2, 3)),
    ablation(Mirror, "UNSEEN_TAKES_ANNOUNCEMENT", "R5; figures 4.7, 4.10", Search::OneTag(2, 2)),
    ablation(Mirror, "EAGER_TAKES_ANNOUNCEMENT", "R6; figure 4.10", Search::OneTag(2, 2)),
    ablation(Mirror, "LENGTH_TEST", "R6; H5", Search::Truncating(1, 1)),
    ablation(Mirror, "FIN_BEHIND_WRITE", "R7; figure 4.7, case 1", Search::OneTag(2, 2)),
    ablation(Mirror, "RELEASE=ATS_BESIDE_READ", "R10", Search::OneTag(1, 1)),
    ablation(Mirror, "CANCEL_ASKS", "R11; H4", Search::Cancelled(2, 2)),
    ablation(Mirror, "CLAIM_TAKES", "R12", Search::Claimed(1, 2)),
    ablation(Published, "RTR_ANSWERS_RTS", "P4; figure 4.7, case 2", Search::OneTag(2, 2)),
    ablation(Published, "ACK_RTR", "P5; figure 4.7, case 1", Search::OneTag(2, 2)),
    ablation(Published, "ACK_RTS", "P6; figure 4.7, RTR side", Search::OneTag(2, 3)),
    ablation(Published, "ACK_FROM_EVERY_RECEIVE", "P7 as written; H2", Search::AnySource(2, 3)),
    ablation(Published, "BLOCKED_BY_UNANNOUNCED", "P8; figure 4.9", Search::OneTag(2, 3)),
    ablation(Published, "EAGER_FLAG", "P9; figure 4.10", Search::OneTag(2, 2)),
    ablation(Published, "AWAIT_STOP", "P11; figure 4.10", Search::OneTag(3, 3)),
    ablation(Published, "RESUME=DELETE_ALL_AND_RESUME", "P11 as written; H1", Search::Large(4, 5)),
    ablation(Published, "RESUME=DELETE_ALL_RESUME_LATER", "P11 as written; H1'", Search::Large(5, 6)),
    ablation(Published, "RESUME=DELETE_ONE_UNCOUNTED", "P11 as written; H1'", Search::Large(5, 6)),
    ablation(Published, "EXACT_TAGS_ONLY", "P9 as written; H3", Search::TwoTags(2, 2)),
    ablation(Published, "LENGTH_TEST", "H5", Search::Truncating(1, 1)),
    ablation(Published, "DECLINED_RTR_GOES", "P12, kept; H6", Search::OneTag(2, 2)),
    ablation(Published, "DECLINE_TAKES_ONE", "P12, all cleared; H6", Search::OneTag(3, 4)),
    ablation(Published, "CANCEL_ASKS", "H4", Search::Cancelled(2, 2)),
    progress_ablation("SEND_PROGRESSES_FIRST", "P13; 4.2.1"),
    progress_ablation("RECEIVE_PROGRESSES_FIRST", "P13; 4.2.1"),
    progress_ablation("PROGRESS_TAKES_ALL", "P13; 4.2.1"),
    progress_ablation("EAGER_FITS_WINDOW", "F1"),
    progress_ablation("TAKEN_IS_TOLD", "F2"),
    memory_ablation("COVERS", "C1; 5.3.3", MemoryBounds::SMALL),
    memory_ablation("NAME_IS_CHECKED", "C2", MemoryBounds::SMALL),
    memory_ablation("INVALIDATION_KILLS", "C3; 3.5.1", MemoryBounds::SMALL),
    memory_ablation("IN_USE_STAYS", "C4; 3.5.1", MemoryBounds::SMALL),
    memory_ablation("INVALIDATION_REACHES_REGISTERING", "C5", MOVED),
    memory_ablation("STALE_IS_NOT_USED", "C6", MOVED),
    memory_ablation("EVICTS_IDLE_ONLY", "C7; 3.5.1", MemoryBounds::SMALL),
    memory_ablation("COMPLETES_LOCALLY", "B1; 5.3.1", MemoryBounds::SMALL),
    memory_ablation(
        "REFUSED_IS_COPIED",
        "B3; 5.3.4",
        MemoryBounds { uses: 2, one_chain: true, ..MemoryBounds::SMALL },
    ),
    memory_ablation("TOLD_BEFORE_REUSE", "K1; 3.5.1", MemoryBounds::SMALL),
    handshake_ablation("TELL_AGAIN", "L1", HandshakeBounds::ANY),
    handshake_ablation("ANSWER_ALWAYS", "L2", HandshakeBounds::ANY),
    handshake_ablation("UP_WHEN_HEARD", "L3; InfiniBand 10.3.1", HandshakeBounds::ANY),
    handshake_ablation("CONNECT_ONCE", "L4; InfiniBand 10.3.1", HandshakeBounds::ANY),
    handshake_ablation("PACKET_IS_WORD", "L5; rdma_notify(3)", IMPATIENT),
    handshake_ablation("GIVEN_UP_STAYS", "L6", IMPATIENT),
    credit_ablation("GIVE_BACK_ALONE", "W1", WINDOW),
    credit_ablation("GIVING_IS_FREE", "W2", WINDOW),
    credit_ablation("SPEND_WHAT_THERE_IS", "W3", CreditBounds { messages: 7, ..WINDOW }),
    credit_ablation("IDLE_POSTS_ALL", "W4", CreditBounds { buffers: Buffers::Few(2), batch: 3, ..WINDOW }),
    order_ablation("WAIT_FOR_TURN", "O1"),
    order_ablation("WRITE_TAKES_NEXT", "O2"),
    order_ablation("CREDIT_AT_ITS_TURN", "O3"),
    schedule_ablation("ACCUMULATES_IN_ORDER", "R7; MPI-4.1, 12.7.2"),
    schedule_ablation("NOTICE_BEHIND_COPIES", "R20"),
    schedule_ablation("DEMAND_REACHES_QUEUED", "R8"),
    schedule_ablation("LATE_GRANT_IS_DUE", "IE 4, listing 1"),
    queue_ablation("FIRST_IN_FIRST_OUT", "Q1; SI 2.4.3", QUEUE),
    queue_ablation("EXCLUSIVE_WAITS_FOR_SHARED", "Q2; NB VII-B", QUEUE),
    queue_ablation("SHARED_WAITS_FOR_EXCLUSIVE", "Q3; SI 2.4.3", QUEUE),
    queue_ablation("LAST_HOLDER_FREES", "Q4", QUEUE),
    queue_ablation("RELEASE_IS_CHECKED", "Q5", QueueBounds { strays: 1, ..QUEUE }),
    queue_ablation("DEATH_FREES_NOTHING", "Q6", QueueBounds { deaths: 1, ..QUEUE }),
    queue_ablation("DEATH_GRANTS", "Q7", QueueBounds { deaths: 1, ..QUEUE }),
    ticket_ablation("ADMITS_AT_ITS_TURN", "T1", NODE),
    ticket_ablation("WRITER_ADMITS_READERS", "T2", NODE),
    ticket_ablation("RELEASE_COUNTS", "T3", NODE),
    ticket_ablation("TAKING_IS_SAID", "T4", TicketBounds { inspections: 1, ..NODE }),
    ticket_ablation("SERVING_READ_LAST", "T5", TicketBounds { inspections: 1, ..NODE }),
    queue_ablation("RELEASE_BEHIND_DATA", "D1; NB VII-D", QUEUE),
    epoch_ablation("WAITS_FOR_GRANT", "E1; NB VII-B", OFF, &["start:1 put:1 complete", "post:0 wait"]),
    epoch_ablation(
        "COUNTS_NOT_BITS",
        "E2; NB VII-B",
        EAER,
        &["start:1 complete start:1 complete", "post:0 iwait post:0 iwait waitall"],
    ),
    epoch_ablation(
        "EXPOSURES_COUNT_AT_ACTIVATION",
        "E3; NB VII-B",
        OFF,
        &["post:2 iwait post:1 iwait waitall", "start:0 put:0 complete", "start:0 complete"],
    ),
    epoch_ablation(
        "LOCKS_COUNT_APART",
        "E4; NB VII-B as written",
        OFF,
        &["fence fence", "fence xlock:0 unlock:0 fence"],
    ),
    epoch_ablation(
        "DONE_BY_EQUALITY",
        "E5; NB VII-B",
        OFF,
        &["fence post:1 wait fence", "fence start:0 put:0 complete fence"],
    ),
    epoch_ablation("DONE_BEHIND_DATA", "E6; NB VII-D", OFF, &["start:1 put:1 complete", "post:0 wait"]),
    epoch_ablation(
        "FENCED_BEHIND_READS",
        "E7; InfiniBand 10.8.3.3",
        OFF,
        &["start:1 get:1 complete", "post:0 wait"],
    ),
    epoch_ablation("DONE_WAITS_FOR_GRANT", "E8", OFF, &["start:1 complete", "post:0 wait"]),
    epoch_ablation(
        "STOPS_AT_FIRST",
        "E9; NB VI-A 4",
        EAAR,
        &[
            "start:1 icomplete start:1 icomplete post:1 iwait waitall",
            "post:0 wait post:0 wait start:0 complete",
        ],
    ),
    epoch_ablation(
        "SERIAL_DEFAULT",
        "E10; NB VI-B",
        OFF,
        &["start:1 put:1 icomplete start:1 put:1 icomplete waitall", "post:0 iwait post:0 iwait waitall"],
    ),
    epoch_ablation(
        "NESTED",
        "E11; NB VI-B as written",
        OFF,
        &["post:1 start:1 put:1 complete iwait waitall", "post:0 start:0 put:0 complete iwait waitall"],
    ),
    epoch_ablation(
        "CHECKS_ALL_ACTIVE",
        "E12; NB VI-B as written",
        ACROSS,
        &[
            "start:1 icomplete post:1 iwait start:1 icomplete waitall",
            "post:0 iwait start:0 icomplete post:0 iwait waitall",
        ],
    ),
    epoch_ablation(
        "FLAGS_EXCLUDE_FENCE",
        "E13; NB VI-B",
        Flags::ALL,
        &["start:1 icomplete ifence ifence waitall", "post:0 iwait ifence ifence waitall"],
    ),
    epoch_ablation(
        "SAME_TARGET_DEFERS",
        "E14",
        AAAR,
        &["lock:1 put:1 iunlock:1 lock:1 put:1 iunlock:1 waitall", ""],
    ),
    epoch_ablation(
        "LOCK_BESIDE_ACCESS_DEFERS",
        "E15",
        AAAR,
        &["start:1 icomplete lock:1 iunlock:1 waitall", "post:0 wait"],
    ),
    epoch_ablation("FENCE_WAITS_FOR_ALL_DONE", "E16; NB VI-A 5", OFF, &["fence put:1 fence", "fence fence"]),
    epoch_ablation("INERT_FENCE", "E17", OFF, &["fence lock:1 iunlock:1 waitall", "fence"]),
    Ablation {
        subject: Subject::Epoch(EpochBounds::Program(INSIDE_FENCE)),
        rule: "FENCE_ENDS_IN_ORDER",
        source: "E18",
    },
    epoch_ablation(
        "EXPOSURE_WAITS_FOR_LOCK",
        "E19",
        OFF,
        &["xlock:1 put:1 unlock:1 send:1 start:1 put:1 complete", "recv:0 post:0 wait"],
    ),
    epoch_ablation(
        "LOCK_WAITS_FOR_EXPOSURE",
        "E20",
        OFF,
        &["post:1 wait", "start:0 put:0 icomplete lock:0 put:0 iunlock:0 waitall"],
    ),
    epoch_ablation(
        "FLUSH_COVERS=AFTER_STAMP",
        "E21; NB VII-C as written",
        OFF,
        &["lock:1 put:1 iflush:1 put:1 unlock:1 waitall", ""],
    ),
    epoch_ablation(
        "FLUSH_COVERS=BEFORE_STAMP",
        "E21; NB VII-C as written",
        OFF,
        &["lock:1 put:1 iflush:1 unlock:1 waitall", ""],
    ),
    epoch_ablation(
        "FLUSH_COUNTS_UNISSUED",
        "E22; NB VII-C",
        OFF,
        &["lock:1 put:1 iflush:1 unlock:1 waitall", ""],
    ),
    epoch_ablation(
        "ACTIVATES_AFTER_COMPLETION",
        "E23; NB VII-D 7",
        OFF,
        &["start:1 put:1 icomplete start:1 put:1 icomplete waitall", "post:0 wait post:0 wait"],
    ),
    epoch_ablation(
        "DONE_AFTER_STAGED",
        "E24; NB VIII-A",
        OFF,
        &["start:1 large_acc:1 complete", "post:0 wait"],
    ),
    epoch_ablation("BEHIND_STAGED", "E25; MPI-4.1, 12.7.2", OFF, &["lock:1 large_acc:1 acc:1 unlock:1", ""]),
    epoch_ablation(
        "STAGES_GRANTED",
        "E26",
        OFF,
        &["", "xlock:0 large_acc:0 unlock:0", "xlock:0 large_acc:0 unlock:0"],
    ),
    epoch_ablation(
        "BUFFER_UNTIL_APPLIED",
        "E27",
        OFF,
        &["", "lock:0 large_acc:0 unlock:0", "lock:0 large_acc:0 unlock:0"],
    ),
];

const OFF: Flags = Flags {
    access_after_access: false,
    access_after_exposure: false,
    exposure_after_exposure: false,
    exposure_after_access: false,
};
const AAAR: Flags = Flags { access_after_access: true, ..OFF };
const EAER: Flags = Flags { exposure_after_exposure: true, ..OFF };
const EAAR: Flags = Flags { exposure_after_access: true, ..OFF };
const ACROSS: Flags = Flags { access_after_exposure: true, exposure_after_access: true, ..OFF };
/// Rank 1 exposes its memory after the fence that rank 0 has called with its access still to come: stuck by MPI's rules.
const INSIDE_FENCE: GivenProgram = GivenProgram {
    flags: OFF,
    lines: &["fence start:1 put:1 icomplete ifence waitall", "fence ifence post:0 iwait waitall"],
    may_be_stuck: true,
};
const IMPATIENT: HandshakeBounds = HandshakeBounds { patience: Some(1), ..HandshakeBounds::ANY };
const WINDOW: CreditBounds =
    CreditBounds { window: 2, messages: 3, buffers: Buffers::Enough, batch: 1, two_ways: false };
const QUEUE: QueueBounds = QueueBounds { origins: 3, locks: 1, batches: false, deaths: 0, strays: 0 };
const NODE: TicketBounds = TicketBounds { near: 3, far: 0, locks: 1, deaths: 0, strays: 0, inspections: 0 };
const MOVED: MemoryBounds = MemoryBounds { moves: 1, ..MemoryBounds::SMALL };

const fn ablation(
    protocol: Rendezvous,
    rule: &'static str,
    source: &'static str,
    search: Search,
) -> Ablation {
    Ablation { subject: Subject::Protocol(protocol, search), rule, source }
}

const fn memory_ablation(rule: &'static str, source: &'static str, bounds: MemoryBounds) -> Ablation {
    Ablation { subject: Subject::Memory(bounds), rule, source }
}

const fn progress_ablation(rule: &'static str, source: &'static str) -> Ablation {
    let bounds = ProgressBounds { sends: 2, receives: 2, tags: 1, window: Some(1) };
    Ablation { subject: Subject::Progress(bounds), rule, source }
}

const fn handshake_ablation(rule: &'static str, source: &'static str, bounds: HandshakeBounds) -> Ablation {
    Ablation { subject: Subject::Connection(ConnectionBounds::Handshake(bounds)), rule, source }
}

const fn order_ablation(rule: &'static str, source: &'static str) -> Ablation {
    let bounds = OrderBounds { window: 2, messages: 4, writes: 1 };
    Ablation { subject: Subject::Connection(ConnectionBounds::Order(bounds)), rule, source }
}

const fn credit_ablation(rule: &'static str, source: &'static str, bounds: CreditBounds) -> Ablation {
    Ablation { subject: Subject::Connection(ConnectionBounds::Credits(bounds)), rule, source }
}

const fn queue_ablation(rule: &'static str, source: &'static str, bounds: QueueBounds) -> Ablation {
    Ablation { subject: Subject::Lock(LockBounds::Queue(bounds)), rule, source }
}

const fn ticket_ablation(rule: &'static str, source: &'static str, bounds: TicketBounds) -> Ablation {
    Ablation { subject: Subject::Lock(LockBounds::Tickets(bounds)), rule, source }
}

const fn schedule_ablation(rule: &'static str, source: &'static str) -> Ablation {
    Ablation { subject: Subject::Schedule(ScheduleBounds { targets: 1, works: 2 }), rule, source }
}

const fn epoch_ablation(
    rule: &'static str,
    source: &'static str,
    flags: Flags,
    lines: &'static [&'static str],
) -> Ablation {
    let program = GivenProgram { flags, lines, may_be_stuck: false };
    Ablation { subject: Subject::Epoch(EpochBounds::Program(program)), rule, source }
}

impl Search {
    /// The families up to the bound, those with the fewest calls first.
    fn families(self) -> impl Iterator<Item = ProgramFamily> {
        let (Self::OneTag(sends, receives)
        | Self::TwoTags(sends, receives)
        | Self::Masks(sends, receives)
        | Self::Large(sends, receives)
        | Self::Truncating(sends, receives)
        | Self::Cancelled(sends, receives)
        | Self::Claimed(sends, receives)
        | Self::AnySource(sends, receives)) = self;
        let mut sizes: Vec<(usize, usize)> =
            (1..=sends).flat_map(|sent| (1..=receives).map(move |received| (sent, received))).collect();
        sizes.sort_by_key(|(sent, received)| (sent + received, *sent));
        sizes.into_iter().map(move |(sent, received)| self.family(sent, received))
    }

    fn family(self, sent: usize, received: usize) -> ProgramFamily {
        let one_tag = Kinds::ONE_TAG;
        match self {
            Self::OneTag(..) => one_way(sent, received, &one_tag),
            Self::TwoTags(..) => one_way(sent, received, &Kinds::TWO_TAGS),
            Self::Masks(..) => one_way(sent, received, &Kinds::MASKS),
            Self::Large(..) => one_way(sent, received, &Kinds { receive_lens: &[2], ..one_tag }),
            Self::Truncating(..) => {
                one_way(sent, received, &Kinds { send_lens: &[1, 2, 3], receive_lens: &[1, 2, 3], ..one_tag })
            }
            Self::Cancelled(..) => cancels(sent, received, &one_tag),
            Self::Claimed(..) => claims(sent, received, &one_tag),
            Self::AnySource(..) => one_way(sent, received, &Kinds { any_source: true, ..one_tag }),
        }
    }
}

/// Switches off each rule in turn and searches for the race.
pub fn ablations(settings: &SuiteSettings<'_>) -> SuiteReport {
    let began = Instant::now();
    let mine: Vec<&Ablation> = ABLATIONS
        .iter()
        .enumerate()
        .filter(|(index, _)| settings.is_mine(*index))
        .map(|(_, one)| one)
        .collect();
    let mut rows = Vec::with_capacity(mine.len());
    for (at, ablation) in mine.iter().enumerate() {
        if let Some(began) = settings.began {
            began(&format!("{}: without {}", ablation.set().name(), ablation.rule), at, mine.len());
        }
        rows.push(run(ablation, settings));
        if settings.limits.is_interrupted() {
            break;
        }
    }
    SuiteReport {
        version: VERSION,
        suite: "ablations".to_owned(),
        full: settings.full,
        shard: settings.shard,
        interrupted: settings.limits.is_interrupted(),
        seconds: began.elapsed().as_secs_f64(),
        rows,
    }
}

fn run(ablation: &Ablation, settings: &SuiteSettings<'_>) -> SuiteRow {
    let began = Instant::now();
    let mut row = SuiteRow::new(format!("without {}", ablation.rule), ablation.set());
    row.source = Some(ablation.source.to_owned());
    // One thread: the counterexample is a shortest one, and the same in every run.
    let settings = SuiteSettings { limits: Limits { threads: 1, ..settings.limits }, ..*settings };
    match ablation.subject {
        Subject::Protocol(protocol, search) => {
            search_programs(protocol, ablation.rule, search, &settings, &mut row);
        }
        Subject::Memory(bounds) => explore_bounds(bounds, ablation.rule, &settings, &mut row),
        Subject::Schedule(bounds) => explore_bounds(bounds, ablation.rule, &settings, &mut row),
        Subject::Progress(bounds) => explore_bounds(bounds, ablation.rule, &settings, &mut row),
        Subject::Connection(bounds) => explore_bounds(bounds, ablation.rule, &settings, &mut row),
        Subject::Lock(bounds) => explore_bounds(bounds, ablation.rule, &settings, &mut row),
        Subject::Epoch(bounds) => explore_bounds(bounds, ablation.rule, &settings, &mut row),
    }
    row.seconds = began.elapsed().as_secs_f64();
    row
}

fn explore_bounds(bounds: impl Bounds, rule: &str, settings: &SuiteSettings<'_>, row: &mut SuiteRow) {
    match bounds.explore_without(rule, &settings.limits) {
        Ok(outcome) => row.explored(outcome),
        Err(error) => unreachable!("the suites name rules that exist: {error}"),
    }
}

fn search_programs(
    protocol: Rendezvous,
    rule: &str,
    search: Search,
    settings: &SuiteSettings<'_>,
    row: &mut SuiteRow,
) {
    row.reached = CoverPoint::ALL.iter().map(|what| (what.name().to_owned(), 0)).collect();
    for family in search.families() {
        row.programs += family.programs.len() as u64;
        row.programs_in_all += family.in_all;
        let jobs = family.programs.iter().map(job).collect();
        explore_batch(jobs, protocol, Some(rule), settings).add_to(row);
        if row.verdict == Verdict::Violated {
            row.name = format!("{} ({})", row.name, family.name);
        }
        if row.verdict != Verdict::Proven {
            break;
        }
    }
}
