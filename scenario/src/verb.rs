//! The table of statements: each keyword and its slots.
//!
//! The parser, the formatter and the checker all follow it. A new statement is a line here, an
//! [`Op`](crate::Op), and its lowering in `check/lower.rs`.

use crate::assertions::Assertion;

/// One place behind a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The word before it: `to`, `tag`, `size`. Empty where none stands.
    pub word: &'static str,
    /// The content of the slot.
    pub holds: Holds,
    /// Whether it may be left out, together with its word.
    pub optional: bool,
}

/// The content of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// A window.
    Window,
    /// A local buffer.
    Buffer,
    /// A rank.
    Rank,
    /// A rank or `any`.
    RankOrAny,
    /// A tag.
    Tag,
    /// A tag or `any`.
    TagOrAny,
    /// A number of bytes.
    Size,
    /// A time.
    Time,
    /// `[R...]`.
    Group,
    /// `shared` or `exclusive`.
    LockMode,
    /// The name of a request.
    Request,
    /// Names of requests, or `all`.
    Requests,
    /// The name of a communicator.
    Communicator,
    /// A number of blocks.
    Count,
    /// How an atomic operation combines.
    Combine,
    /// Some of these, to the end of the line.
    Assertions(&'static [Assertion]),
}

impl Holds {
    /// What an error message says that it expected.
    pub const fn expected(self) -> &'static str {
        match self {
            Holds::Window => "the name of a window",
            Holds::Buffer => "the name of a buffer",
            Holds::Rank => "a rank",
            Holds::RankOrAny => "a rank or `any`",
            Holds::Tag => "a tag",
            Holds::TagOrAny => "a tag or `any`",
            Holds::Size => "a size like 64 or 16KiB",
            Holds::Time => "a time like 5us",
            Holds::Group => "a group like [0 1]",
            Holds::LockMode => "`shared` or `exclusive`",
            Holds::Request => "the name of a request",
            Holds::Requests => "`all` or the names of requests",
            Holds::Communicator => "the name of a communicator",
            Holds::Count => "a number of blocks",
            Holds::Combine => "an operation like `sum`",
            Holds::Assertions(_) => "what the program asserts",
        }
    }
}

const fn slot(word: &'static str, holds: Holds) -> Slot {
    Slot { word, holds, optional: false }
}

const fn optional(word: &'static str, holds: Holds) -> Slot {
    Slot { word, holds, optional: true }
}

const WINDOW: Slot = slot("", Holds::Window);
const TO: Slot = slot("to", Holds::Rank);
const FROM: Slot = slot("from", Holds::Rank);
const FROM_ANY: Slot = slot("from", Holds::RankOrAny);
const AT_RANK: Slot = slot("at", Holds::Rank);
const ROOT: Slot = slot("root", Holds::Rank);
const TAG: Slot = slot("tag", Holds::Tag);
const TAG_ANY: Slot = slot("tag", Holds::TagOrAny);
const SIZE: Slot = slot("size", Holds::Size);
const AT: Slot = slot("at", Holds::Size);
const MAYBE_AT: Slot = optional("at", Holds::Size);
const MAYBE_COUNT: Slot = optional("count", Holds::Count);
const MAYBE_STRIDE: Slot = optional("stride", Holds::Size);
const MAYBE_OP: Slot = optional("op", Holds::Combine);
const MAYBE_BUF: Slot = optional("buf", Holds::Buffer);
const MAYBE_ON: Slot = optional("on", Holds::Communicator);

const SEND: &[Slot] = &[TO, TAG, SIZE, MAYBE_BUF, MAYBE_ON];
const RECV: &[Slot] = &[FROM_ANY, TAG_ANY, SIZE, MAYBE_BUF, MAYBE_ON];
const ROOTED: &[Slot] = &[ROOT, SIZE, MAYBE_ON];
const UNROOTED: &[Slot] = &[SIZE, MAYBE_ON];
const OWN_MEMORY: &[Slot] = &[WINDOW, AT, SIZE];
const TO_WINDOW: &[Slot] = &[WINDOW, TO, SIZE, MAYBE_AT, MAYBE_COUNT, MAYBE_STRIDE, MAYBE_BUF];
const COMBINE: &[Slot] = &[WINDOW, TO, SIZE, MAYBE_AT, MAYBE_COUNT, MAYBE_STRIDE, MAYBE_BUF, MAYBE_OP];
const ATOMIC: &[Slot] = &[WINDOW, AT_RANK, MAYBE_AT];
const TO_GROUP: &[Slot] = &[WINDOW, slot("to", Holds::Group), ASSERT_NOCHECK];
const FROM_GROUP: &[Slot] = &[
    WINDOW,
    slot("from", Holds::Group),
    optional("assert", Holds::Assertions(&[Assertion::NoCheck, Assertion::NoStore, Assertion::NoPut])),
];
const LOCK: &[Slot] = &[WINDOW, AT_RANK, slot("", Holds::LockMode), ASSERT_NOCHECK];
const LOCK_ALL: &[Slot] = &[WINDOW, ASSERT_NOCHECK];
const FENCE: &[Slot] = &[
    WINDOW,
    optional(
        "assert",
        Holds::Assertions(&[
            Assertion::NoStore,
            Assertion::NoPut,
            Assertion::NoPrecede,
            Assertion::NoSucceed,
        ]),
    ),
];
const ASSERT_NOCHECK: Slot = optional("assert", Holds::Assertions(&[Assertion::NoCheck]));
const ONE_TARGET: &[Slot] = &[WINDOW, AT_RANK];

macro_rules! verbs {
    ($($verb:ident $word:literal $slots:expr;)*) => {
        /// The keyword of a statement.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Verb {
            $(#[doc = concat!("`", $word, "`")] $verb,)*
        }

        impl Verb {
            /// All of them.
            pub const ALL: &[Verb] = &[$(Verb::$verb),*];

            /// The keyword.
            pub const fn name(self) -> &'static str {
                match self { $(Verb::$verb => $word,)* }
            }

            /// What stands behind the keyword, in order.
            pub const fn slots(self) -> &'static [Slot] {
                match self { $(Verb::$verb => const { $slots },)* }
            }

            /// The verb with this keyword.
            pub fn from_name(name: &str) -> Option<Verb> {
                match name { $($word => Some(Verb::$verb),)* _ => None }
            }
        }
    };
}

verbs! {
    Compute "compute" &[slot("", Holds::Time)];
    Send "send" SEND;
    ISend "isend" SEND;
    SSend "ssend" SEND;
    ISSend "issend" SEND;
    Recv "recv" RECV;
    IRecv "irecv" RECV;
    SendRecv "sendrecv" &[TO, TAG, SIZE, FROM_ANY, TAG_ANY, SIZE, MAYBE_ON];
    Probe "probe" &[FROM_ANY, TAG_ANY, MAYBE_ON];
    Wait "wait" &[slot("", Holds::Requests)];
    Test "test" &[slot("", Holds::Request)];
    Barrier "barrier" &[MAYBE_ON];
    IBarrier "ibarrier" &[MAYBE_ON];
    Bcast "bcast" ROOTED;
    Reduce "reduce" ROOTED;
    AllReduce "allreduce" UNROOTED;
    Gather "gather" ROOTED;
    AllGather "allgather" UNROOTED;
    AllToAll "alltoall" UNROOTED;
    Read "read" &[slot("buf", Holds::Buffer)];
    Write "write" &[slot("buf", Holds::Buffer)];
    Load "load" OWN_MEMORY;
    Store "store" OWN_MEMORY;
    Put "put" TO_WINDOW;
    Get "get" &[WINDOW, FROM, SIZE, MAYBE_AT, MAYBE_COUNT, MAYBE_STRIDE, MAYBE_BUF];
    Acc "acc" COMBINE;
    GetAcc "get_acc" COMBINE;
    FetchOp "fetch_op" &[WINDOW, AT_RANK, MAYBE_AT, MAYBE_OP];
    Cas "cas" ATOMIC;
    Fence "fence" FENCE;
    IFence "ifence" FENCE;
    Start "start" TO_GROUP;
    IStart "istart" TO_GROUP;
    Complete "complete" &[WINDOW];
    IComplete "icomplete" &[WINDOW];
    Post "post" FROM_GROUP;
    IPost "ipost" FROM_GROUP;
    WaitEpoch "wait_epoch" &[WINDOW];
    IWaitEpoch "iwait_epoch" &[WINDOW];
    Lock "lock" LOCK;
    ILock "ilock" LOCK;
    Unlock "unlock" ONE_TARGET;
    IUnlock "iunlock" ONE_TARGET;
    LockAll "lock_all" LOCK_ALL;
    ILockAll "ilock_all" LOCK_ALL;
    UnlockAll "unlock_all" &[WINDOW];
    IUnlockAll "iunlock_all" &[WINDOW];
    Flush "flush" ONE_TARGET;
    IFlush "iflush" ONE_TARGET;
    FlushLocal "flush_local" ONE_TARGET;
    IFlushLocal "iflush_local" ONE_TARGET;
    FlushAll "flush_all" &[WINDOW];
    IFlushAll "iflush_all" &[WINDOW];
    FlushLocalAll "flush_local_all" &[WINDOW];
    IFlushLocalAll "iflush_local_all" &[WINDOW];
}

impl Verb {
    /// Whether it starts a request, which may be bound to a name: the i-forms.
    pub fn starts_request(self) -> bool {
        self.i_form_of().is_some()
    }

    /// Whether it accesses the memory of a window at some rank: with a name it has a request of its own (`rput`).
    pub fn accesses(self) -> bool {
        matches!(self, Verb::Put | Verb::Get | Verb::Acc | Verb::GetAcc | Verb::FetchOp | Verb::Cas)
    }

    /// Whether a name may be bound to it: to the request that it starts, or to the message that it receives or finds.
    pub fn binds(self) -> bool {
        self.starts_request() || self.accesses() || matches!(self, Verb::Recv | Verb::SendRecv | Verb::Probe)
    }

    /// Whether its expressions may use `source(NAME)` and `tag(NAME)`. Not in collectives, which every rank calls
    /// with the same values, nor in statements on windows, whose accesses are checked when the file is read.
    pub fn defers(self) -> bool {
        let of_messages = [Verb::Send, Verb::ISend, Verb::SSend, Verb::ISSend, Verb::Recv, Verb::IRecv];
        of_messages.contains(&self) || matches!(self, Verb::SendRecv | Verb::Probe | Verb::Compute)
    }

    /// The blocking form of this i-form: `send` for `isend`.
    fn i_form_of(self) -> Option<Verb> {
        self.name().strip_prefix('i').and_then(Verb::from_name)
    }

    /// The i-form of this call: `isend` for `send`.
    pub fn i_form(self) -> Option<Verb> {
        Verb::ALL.iter().copied().find(|verb| verb.i_form_of() == Some(self))
    }

    /// The statement as the language describes it: `isend to R tag T size N [buf B]`.
    pub fn usage(self) -> String {
        let mut text = self.name().to_owned();
        for slot in self.slots() {
            let value = match slot.holds {
                Holds::Window => "WINDOW",
                Holds::Buffer => "B",
                Holds::Rank => "R",
                Holds::RankOrAny => "R|any",
                Holds::Tag => "T",
                Holds::TagOrAny => "T|any",
                Holds::Size if slot.word == "at" => "D",
                Holds::Size if slot.word == "stride" => "S",
                Holds::Count => "K",
                Holds::Combine => "OP",
                Holds::Size => "N",
                Holds::Time => "TIME",
                Holds::Group => "[R...]",
                Holds::LockMode => "shared|exclusive",
                Holds::Request => "NAME",
                Holds::Requests => "NAME...|all",
                Holds::Communicator => "C",
                Holds::Assertions(of) => {
                    let words: Vec<&str> = of.iter().map(|assertion| assertion.name()).collect();
                    text += &format!(" [assert {}]", words.join("|"));
                    continue;
                }
            };
            let blank = if slot.word.is_empty() { "" } else { " " };
            let clause = format!("{}{blank}{value}", slot.word);
            text += &if slot.optional { format!(" [{clause}]") } else { format!(" {clause}") };
        }
        text
    }
}
