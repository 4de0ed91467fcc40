//! The rules of all protocols as one type, and for each rule a type in which it alone is off.
//!
//! The rules of a protocol are constants of a trait, which all are on in production. A [`Rules`] bundles one
//! implementation of each such trait. An exploration is generic over a bundle, and gives each model the associated type
//! of its protocol. An ablation names the protocol whose rule is off; for all others it has the types of production. So a
//! model is compiled once for each rule of its own protocol, however many protocols there are.
//!
//! A further protocol is a line of `bundle!`, and its rules are lines of `ablations!`. Only the checker has types with a
//! rule off.

mod environment;

use carrousel_connection::{CreditRules, HandshakeRules, OrderRules, Rules as AllConnectionRules};
use carrousel_epoch::{AllEpochRules, Covers, EpochRules};
use carrousel_lock::{AllLockRules, AllTicketRules, LockRules, TicketRules};
use carrousel_rank::{MirrorRules, Release};
use carrousel_registration::{AllCacheRules, AllReuseRules, CacheRules, ReuseRules};
use carrousel_rendezvous::{AllMirrorRules, AllPublishedRules, PublishedRules, Resume};
use carrousel_schedule::{AllScheduleRules, ScheduleRules};
pub use environment::{AllEnvironmentRules, EnvironmentRules};
use std::fmt::Debug;
use std::hash::Hash;

/// The traits that a type of rules needs as part of a state.
pub trait RuleType: Clone + Debug + Eq + Hash + Send + Sync + 'static {}
impl<R: Clone + Debug + Eq + Hash + Send + Sync + 'static> RuleType for R {}

/// Declares the bundle, with one associated type a protocol, and `ablation!`, which makes a type with one rule off.
macro_rules! bundle {
    ($($(#[$doc:meta])* $protocol:ident: $rules:ident = $all:ident;)*) => {
        /// The rules of all protocols.
        pub trait Rules {
            $($(#[$doc])* type $protocol: $rules + RuleType;)*
        }

        /// Every rule is on, as in production.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum AllRules {}
        impl Rules for AllRules {
            $(type $protocol = $all;)*
        }

        macro_rules! ablation {
            // The rules of the protocol, with one off.
            $(
                (@rule $protocol $ablation:ident $rule:ident) => {
                    ablation!(@rule $protocol $ablation $rule: bool = false, "");
                };
                (@rule $protocol $ablation:ident $rule:ident: $type:ty = $off:expr, $name:literal) => {
                    impl $rules for $ablation {
                        const $rule: $type = $off;
                    }
                };
            )*
            // The type of a protocol's rules: the ablation if it is of this protocol.
            $((@type $protocol $protocol $ablation:ident) => { $ablation };)*
            (@type $other:ident $its:ident $ablation:ident) => { <AllRules as Rules>::$other };
            (@name $rule:ident) => { stringify!($rule) };
            (@name $rule:ident: $type:ty = $off:expr, $name:literal) => { $name };
            (@value $bundle:ident $its:ident $rule:ident) => { <$bundle::$its>::$rule };
            (@value $bundle:ident $its:ident $rule:ident: $type:ty = $off:expr, $name:literal) => {
                <$bundle::$its>::$rule
            };
            // The bundle.
            ($ablation:ident $its:ident) => {
                #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
                enum $ablation {}
                impl Rules for $ablation {
                    $(type $protocol = ablation!(@type $protocol $its $ablation);)*
                }
            };
        }

        /// The types of a bundle, each with the name of its protocol.
        #[cfg(test)]
        fn types<R: Rules>() -> Vec<(&'static str, std::any::TypeId)> {
            vec![$((stringify!($protocol), std::any::TypeId::of::<R::$protocol>()),)*]
        }
    };
}

bundle! {
    /// The rendezvous in which the sender mirrors the posted receives.
    Mirror: MirrorRules = AllMirrorRules;
    /// The thesis's handshake in its sound reading.
    Published: PublishedRules = AllPublishedRules;
    /// Initial progress and flow control. The mirror protocol has these rules, too, but only the model of progress can show
    /// them; a type of their own saves compiling the models of the rendezvous for each of them.
    Progress: MirrorRules = AllMirrorRules;
    /// The cache of registered memory.
    Cache: CacheRules = AllCacheRules;
    /// The uses of small buffers.
    Reuse: ReuseRules = AllReuseRules;
    /// How a connection is made.
    Handshake: HandshakeRules = AllConnectionRules;
    /// How a connection is kept from overrunning.
    Credits: CreditRules = AllConnectionRules;
    /// The order of packets that travel by two queue pairs.
    Order: OrderRules = AllConnectionRules;
    /// The epochs of a window.
    Epoch: EpochRules = AllEpochRules;
    /// The lock of a window as a queue at its host.
    Lock: LockRules = AllLockRules;
    /// The lock of a window by tickets.
    Ticket: TicketRules = AllTicketRules;
    /// The order of an epoch's transfers.
    Schedule: ScheduleRules = AllScheduleRules;
    /// The drivers, the kernel and the network around the protocols.
    Environment: EnvironmentRules = AllEnvironmentRules;
}

/// Declares the sets of rules, as the registers and the command line name them, and each rule of a set: the type in which
/// it is off, its protocol, and its constant. A constant with several wrong values has a line, and a name, for each.
macro_rules! ablations {
    ($($(#[$doc:meta])* $set:ident = $set_name:literal {
        $($ablation:ident { $protocol:ident: $($rule:tt)* })*
    })*) => {
        /// A set of rules. A name of a rule is unique within its set.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum RuleSet {
            $($(#[$doc])* $set,)*
        }

        impl RuleSet {
            /// As in the registers, and on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$set => $set_name,)*
                }
            }
        }

        $($(
            ablation!($ablation $protocol);
            ablation!(@rule $protocol $ablation $($rule)*);
        )*)*

        /// The rules that can be switched off, by rule set and name.
        pub const RULES: &[(RuleSet, &str)] = &[$($((RuleSet::$set, ablation!(@name $($rule)*)),)*)*];

        fn dispatch<W: WithRules>(sets: &[RuleSet], rule: &str, with: W) -> Option<W::Output> {
            $($(
                if rule == ablation!(@name $($rule)*) && sets.contains(&RuleSet::$set) {
                    return Some(with.run::<$ablation>());
                }
            )*)*
            None
        }

        /// The values of all constants, each with the names of its protocol and its own, and in the order of [`RULES`].
        #[cfg(test)]
        fn values<R: Rules>() -> Vec<(String, String)> {
            vec![$($({
                let name = ablation!(@name $($rule)*).split('=').next();
                let value = format!("{:?}", ablation!(@value R $protocol $($rule)*));
                (format!("{}::{}", stringify!($protocol), name.unwrap_or_default()), value)
            },)*)*]
        }
    };
}

ablations! {
    /// The rendezvous in which the sender mirrors the posted receives.
    Mirror = "mirror" {
        WithoutOrder { Environment: ORDERED_CONNECTION }
        WithoutSeenPrunes { Mirror: SEEN_PRUNES }
        WithoutBlocked { Mirror: BLOCKED_BY_UNANNOUNCED }
        WithoutMasks { Mirror: MASKS_OVERLAP }
        WithoutAhead { Mirror: AHEAD_ANNOUNCEMENTS }
        WithoutUnseen { Mirror: UNSEEN_TAKES_ANNOUNCEMENT }
        WithoutEagerTakes { Mirror: EAGER_TAKES_ANNOUNCEMENT }
        WithoutLengthTest { Mirror: LENGTH_TEST }
        WithoutFinBehindWrite { Mirror: FIN_BEHIND_WRITE }
        AtsBesideRead { Mirror: RELEASE: Release = Release::AtsBesideRead, "RELEASE=ATS_BESIDE_READ" }
        WithoutFirstMatch { Mirror: FIN_IS_FIRST_MATCH }
        WithoutAtsPrunes { Mirror: ATS_PRUNES }
        WithoutClaimTakes { Mirror: CLAIM_TAKES }
        WithoutCancelAsks { Mirror: CANCEL_ASKS }
    }
    /// The thesis's handshake in its sound reading.
    Published = "published" {
        PublishedWithoutAnswer { Published: RTR_ANSWERS_RTS }
        PublishedWithoutAckRtr { Published: ACK_RTR }
        PublishedWithoutAckRts { Published: ACK_RTS }
        PublishedWithoutEveryAck { Published: ACK_FROM_EVERY_RECEIVE }
        PublishedWithoutBlocked { Published: BLOCKED_BY_UNANNOUNCED }
        PublishedWithoutFlag { Published: EAGER_FLAG }
        PublishedWithoutAwait { Published: AWAIT_STOP }
        PublishedDeleteAll {
            Published: RESUME: Resume = Resume::DeleteAllAndResume, "RESUME=DELETE_ALL_AND_RESUME"
        }
        PublishedDeleteAllLater {
            Published: RESUME: Resume = Resume::DeleteAllResumeLater, "RESUME=DELETE_ALL_RESUME_LATER"
        }
        PublishedDeleteOne {
            Published: RESUME: Resume = Resume::DeleteOneUncounted, "RESUME=DELETE_ONE_UNCOUNTED"
        }
        PublishedAnyTag { Published: EXACT_TAGS_ONLY }
        PublishedWithoutLengthTest { Published: LENGTH_TEST }
        PublishedDeclineKeeps { Published: DECLINED_RTR_GOES }
        PublishedDeclineTakesAll { Published: DECLINE_TAKES_ONE }
        PublishedWithoutCancelAsks { Published: CANCEL_ASKS }
    }
    /// Initial progress and flow control.
    Progress = "progress" {
        WithoutSendProgress { Progress: SEND_PROGRESSES_FIRST }
        WithoutReceiveProgress { Progress: RECEIVE_PROGRESSES_FIRST }
        ProgressTakesOne { Environment: PROGRESS_TAKES_ALL }
        WithoutWindow { Progress: EAGER_FITS_WINDOW }
        WithoutTelling { Progress: TAKEN_IS_TOLD }
    }
    /// Registered memory.
    Registration = "registration" {
        WithoutCovers { Cache: COVERS }
        WithoutNames { Cache: NAME_IS_CHECKED }
        WithoutInvalidation { Cache: INVALIDATION_KILLS }
        WithoutStaying { Cache: IN_USE_STAYS }
        WithoutReaching { Cache: INVALIDATION_REACHES_REGISTERING }
        WithoutStale { Cache: STALE_IS_NOT_USED }
        WithoutIdleOnly { Cache: EVICTS_IDLE_ONLY }
        WithoutCompletion { Reuse: COMPLETES_LOCALLY }
        RefusedWaits { Environment: REFUSED_IS_COPIED }
        KernelTellsLate { Environment: TOLD_BEFORE_REUSE }
    }
    /// Connections.
    Connection = "connection" {
        WithoutTellingAgain { Handshake: TELL_AGAIN }
        WithoutAnswers { Handshake: ANSWER_ALWAYS }
        WithoutHeard { Handshake: UP_WHEN_HEARD }
        WithoutOnce { Handshake: CONNECT_ONCE }
        WithoutWord { Handshake: PACKET_IS_WORD }
        GivenUpComesBack { Environment: GIVEN_UP_STAYS }
        WithoutGivingBack { Credits: GIVE_BACK_ALONE }
        WithoutFreeGiving { Credits: GIVING_IS_FREE }
        WithoutLimit { Credits: SPEND_WHAT_THERE_IS }
        IdlePostsBatches { Environment: IDLE_POSTS_ALL }
        WithoutTurns { Order: WAIT_FOR_TURN }
        WithoutNext { Order: WRITE_TAKES_NEXT }
        CreditBeforeItsTurn { Environment: CREDIT_AT_ITS_TURN }
    }
    /// Epochs of windows.
    Epoch = "epoch" {
        WithoutGrants { Epoch: WAITS_FOR_GRANT }
        GrantedByBits { Epoch: COUNTS_NOT_BITS }
        ExposuresCountAtOpening { Epoch: EXPOSURES_COUNT_AT_ACTIVATION }
        LocksCountWithExposures { Epoch: LOCKS_COUNT_APART }
        DoneIsCumulative { Epoch: DONE_BY_EQUALITY }
        DoneBesideData { Epoch: DONE_BEHIND_DATA }
        DoneBesideReads { Epoch: FENCED_BEHIND_READS }
        DoneBeforeGrant { Epoch: DONE_WAITS_FOR_GRANT }
        EpochsAreSkipped { Epoch: STOPS_AT_FIRST }
        WithoutSerialDefault { Epoch: SERIAL_DEFAULT }
        WithoutNesting { Epoch: NESTED }
        ComparesWithTheLast { Epoch: CHECKS_ALL_ACTIVE }
        FlagsIncludeFence { Epoch: FLAGS_EXCLUDE_FENCE }
        LocksTwice { Epoch: SAME_TARGET_DEFERS }
        LocksBesideAccess { Epoch: LOCK_BESIDE_ACCESS_DEFERS }
        FenceWaitsForNobody { Epoch: FENCE_WAITS_FOR_ALL_DONE }
        FenceHoldsBack { Epoch: INERT_FENCE }
        FenceEndsBefore { Epoch: FENCE_ENDS_IN_ORDER }
        ExposesLocked { Epoch: EXPOSURE_WAITS_FOR_LOCK }
        LocksExposed { Epoch: LOCK_WAITS_FOR_EXPOSURE }
        FlushCountsLater { Epoch: FLUSH_COVERS: Covers = Covers::AfterStamp, "FLUSH_COVERS=AFTER_STAMP" }
        FlushLeavesLast { Epoch: FLUSH_COVERS: Covers = Covers::BeforeStamp, "FLUSH_COVERS=BEFORE_STAMP" }
        FlushCountsIssued { Epoch: FLUSH_COUNTS_UNISSUED }
        ActivatesInCalls { Epoch: ACTIVATES_AFTER_COMPLETION }
    }
    /// The order of an epoch's transfers.
    Schedule = "schedule" {
        AccumulatesInAnyOrder { Schedule: ACCUMULATES_IN_ORDER }
        NoticeBesideCopies { Schedule: NOTICE_BEHIND_COPIES }
        DemandMissesQueued { Schedule: DEMAND_REACHES_QUEUED }
        LateGrantWaits { Schedule: LATE_GRANT_IS_DUE }
    }
    /// Locks of windows.
    Lock = "lock" {
        SharedOvertakes { Lock: FIRST_IN_FIRST_OUT }
        WithoutWaitingForShared { Lock: EXCLUSIVE_WAITS_FOR_SHARED }
        WithoutWaitingForExclusive { Lock: SHARED_WAITS_FOR_EXCLUSIVE }
        FirstHolderFrees { Lock: LAST_HOLDER_FREES }
        WithoutHolderCheck { Lock: RELEASE_IS_CHECKED }
        DeathFrees { Lock: DEATH_FREES_NOTHING }
        WithoutGrantsAtDeath { Lock: DEATH_GRANTS }
        AdmitsBeforeItsTurn { Ticket: ADMITS_AT_ITS_TURN }
        WriterAdmitsWriters { Ticket: WRITER_ADMITS_READERS }
        ReleaseStores { Ticket: RELEASE_COUNTS }
        TakesUnsaid { Ticket: TAKING_IS_SAID }
        ServingReadFirst { Ticket: SERVING_READ_LAST }
        ReleaseBesideData { Environment: RELEASE_BEHIND_DATA }
    }
}

/// Something to be done under rules that are only known at run time.
pub trait WithRules {
    /// What comes of it.
    type Output;
    /// Does it.
    fn run<R: Rules>(self) -> Self::Output;
}

/// No such rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {} rules have no rule `{rule}`{}", names(.sets), .suggestion.map_or(String::new(), |name| format!(": did you mean `{name}`?")))]
pub struct NoSuchRule {
    /// The rule sets.
    pub sets: Vec<RuleSet>,
    /// What was asked for.
    pub rule: String,
    /// The nearest name.
    pub suggestion: Option<&'static str>,
}

fn names(sets: &[RuleSet]) -> String {
    sets.iter().map(|set| set.name()).collect::<Vec<_>>().join(" and ")
}

/// Does something under all rules but the one that `without` names, which is of one of these sets.
///
/// # Errors
/// When there is no such rule.
pub fn with_rules<W: WithRules>(
    sets: &[RuleSet],
    without: Option<&str>,
    with: W,
) -> Result<W::Output, NoSuchRule> {
    let Some(rule) = without else { return Ok(with.run::<AllRules>()) };
    dispatch(sets, rule, with).ok_or_else(|| {
        let distance = |name: &&str| strsim::damerau_levenshtein(name, &rule.to_uppercase());
        let names = RULES.iter().filter(|(set, _)| sets.contains(set)).map(|(_, name)| *name);
        let suggestion = names.min_by_key(distance).filter(|name| distance(name) <= 4);
        NoSuchRule { sets: sets.to_vec(), rule: rule.to_owned(), suggestion }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::any::TypeId;
    use std::collections::BTreeSet;

    struct Described;
    impl WithRules for Described {
        type Output = (Vec<(&'static str, TypeId)>, Vec<(String, String)>);
        fn run<R: Rules>(self) -> Self::Output {
            (types::<R>(), values::<R>())
        }
    }

    fn described(without: Option<(RuleSet, &str)>) -> <Described as WithRules>::Output {
        let set: Vec<RuleSet> = without.iter().map(|(set, _)| *set).collect();
        with_rules(&set, without.map(|(_, rule)| rule), Described).expect("it is in the table")
    }

    /// All other types are those of production: no model of another protocol is compiled for it.
    #[test]
    fn an_ablation_is_off_in_one_rule_of_one_protocol() {
        let (all_types, all_values) = described(None);
        for ((set, rule), (constant, _)) in RULES.iter().zip(&all_values) {
            let (types, values) = described(Some((*set, rule)));
            let other: Vec<&str> =
                types.iter().zip(&all_types).filter(|(one, all)| one != all).map(|(one, _)| one.0).collect();
            let off: BTreeSet<&String> = values
                .iter()
                .zip(&all_values)
                .filter(|(one, all)| one != all)
                .map(|(one, _)| &one.0)
                .collect();
            assert_eq!(off, [constant].into(), "{} {rule}", set.name());
            assert_eq!(other, [constant.split("::").next().unwrap_or_default()], "{} {rule}", set.name());
        }
    }

    #[test]
    fn no_rule_is_in_the_table_twice() {
        let rules: BTreeSet<(&str, &str)> = RULES.iter().map(|(set, rule)| (set.name(), *rule)).collect();
        assert_eq!(rules.len(), RULES.len());
    }

    #[test]
    fn a_rule_is_sought_in_the_sets_that_are_named() {
        let refused =
            |sets: &[RuleSet], rule| with_rules(sets, Some(rule), Described).err().map(|e| e.to_string());
        assert_eq!(refused(&[RuleSet::Mirror, RuleSet::Connection], "TELL_AGAIN"), None);
        let text = "the mirror rules have no rule `TELL_AGAIN`";
        assert_eq!(refused(&[RuleSet::Mirror], "TELL_AGAIN").as_deref(), Some(text));
        let text = "the mirror and connection rules have no rule `tel_again`: did you mean `TELL_AGAIN`?";
        assert_eq!(refused(&[RuleSet::Mirror, RuleSet::Connection], "tel_again").as_deref(), Some(text));
    }
}
