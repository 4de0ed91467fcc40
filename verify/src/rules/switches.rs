//! The rules of each protocol, and a type for each protocol in which one of them is off.

use super::environment::{AllEnvironmentRules, EnvironmentRules};
use super::set::RuleSet;
use carrousel_connection::{CreditRules, HandshakeRules, OrderRules, Rules as AllConnectionRules};
use carrousel_epoch::{AllEpochRules, Covers, EpochRules};
use carrousel_lock::{AllLockRules, AllTicketRules, LockRules, TicketRules};
use carrousel_rank::{MirrorRules, Release};
use carrousel_registration::{AllCacheRules, AllReuseRules, CacheRules, ReuseRules};
use carrousel_rendezvous::{AllMirrorRules, AllPublishedRules, PublishedRules, Resume};
use carrousel_schedule::{AllScheduleRules, ScheduleRules};
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The traits that a type of rules needs as part of a state.
pub trait RuleType: Clone + Debug + Eq + Hash + Send + Sync + 'static {}
impl<R: Clone + Debug + Eq + Hash + Send + Sync + 'static> RuleType for R {}

/// The position in [`RULES`] of the rule that is off: for the types of [`OneOff`], which the threads of a search share.
static OFF: AtomicUsize = AtomicUsize::new(NONE);

const NONE: usize = usize::MAX;

/// Only one search at a time has a rule off.
static SEARCH: Mutex<()> = Mutex::new(());

/// Declares the bundle, and for each protocol its rules: the function, and for each wrong value of it the set and the
/// name by which it is switched off.
macro_rules! protocols {
    ($($(#[$doc:meta])* $protocol:ident: $rules:ident = $all:ident {
        $($rule:ident: $type:ty { $($set:ident $name:literal = $off:expr),+ $(,)? })*
    })*) => {
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

        /// The rule is off that [`while_off`] names, and only while it runs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum OneOff {}
        impl Rules for OneOff {
            $(type $protocol = one_off::$protocol;)*
        }

        mod one_off {
            $(
                #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
                pub(crate) enum $protocol {}
            )*
        }

        $(
            impl $rules for one_off::$protocol {
                $(fn $rule() -> $type {
                    let off = OFF.load(Ordering::Relaxed);
                    $(
                        if off == const { position(RuleSet::$set, $name) } {
                            return $off;
                        }
                    )+
                    <$all as $rules>::$rule()
                })*
            }
        )*

        /// The rules that can be switched off, by rule set and name.
        pub const RULES: &[(RuleSet, &str)] = &[$($($((RuleSet::$set, $name),)+)*)*];

        /// The values of all rules, each with the name of its function, and in the order of [`RULES`].
        #[cfg(test)]
        pub(super) fn values<R: Rules>() -> Vec<(&'static str, String)> {
            vec![$($($({
                let _: &str = $name;
                (stringify!($rule), format!("{:?}", <R::$protocol as $rules>::$rule()))
            },)+)*)*]
        }
    };
}

protocols! {
    /// The drivers, the kernel and the network around the protocols.
    Environment: EnvironmentRules = AllEnvironmentRules {
        ordered_connection: bool { Mirror "ORDERED_CONNECTION" = false }
        progress_takes_all: bool { Progress "PROGRESS_TAKES_ALL" = false }
        refused_is_copied: bool { Registration "REFUSED_IS_COPIED" = false }
        told_before_reuse: bool { Registration "TOLD_BEFORE_REUSE" = false }
        given_up_stays: bool { Connection "GIVEN_UP_STAYS" = false }
        idle_posts_all: bool { Connection "IDLE_POSTS_ALL" = false }
        credit_at_its_turn: bool { Connection "CREDIT_AT_ITS_TURN" = false }
        release_behind_data: bool { Lock "RELEASE_BEHIND_DATA" = false }
    }
    /// The rendezvous in which the sender mirrors the posted receives.
    Mirror: MirrorRules = AllMirrorRules {
        seen_prunes: bool { Mirror "SEEN_PRUNES" = false }
        blocked_by_unannounced: bool { Mirror "BLOCKED_BY_UNANNOUNCED" = false }
        masks_overlap: bool { Mirror "MASKS_OVERLAP" = false }
        ahead_announcements: bool { Mirror "AHEAD_ANNOUNCEMENTS" = false }
        unseen_takes_announcement: bool { Mirror "UNSEEN_TAKES_ANNOUNCEMENT" = false }
        eager_takes_announcement: bool { Mirror "EAGER_TAKES_ANNOUNCEMENT" = false }
        length_test: bool { Mirror "LENGTH_TEST" = false }
        fin_behind_write: bool { Mirror "FIN_BEHIND_WRITE" = false }
        release: Release {
            Mirror "RELEASE=ATS_BESIDE_READ" = Release::AtsBesideRead,
        }
        fin_is_first_match: bool { Mirror "FIN_IS_FIRST_MATCH" = false }
        ats_prunes: bool { Mirror "ATS_PRUNES" = false }
        claim_takes: bool { Mirror "CLAIM_TAKES" = false }
        cancel_asks: bool { Mirror "CANCEL_ASKS" = false }
        send_progresses_first: bool { Progress "SEND_PROGRESSES_FIRST" = false }
        receive_progresses_first: bool { Progress "RECEIVE_PROGRESSES_FIRST" = false }
        eager_fits_window: bool { Progress "EAGER_FITS_WINDOW" = false }
        taken_is_told: bool { Progress "TAKEN_IS_TOLD" = false }
    }
    /// The thesis's handshake in its sound reading.
    Published: PublishedRules = AllPublishedRules {
        rtr_answers_rts: bool { Published "RTR_ANSWERS_RTS" = false }
        ack_rtr: bool { Published "ACK_RTR" = false }
        ack_rts: bool { Published "ACK_RTS" = false }
        ack_from_every_receive: bool { Published "ACK_FROM_EVERY_RECEIVE" = false }
        blocked_by_unannounced: bool { Published "BLOCKED_BY_UNANNOUNCED" = false }
        eager_flag: bool { Published "EAGER_FLAG" = false }
        await_stop: bool { Published "AWAIT_STOP" = false }
        resume: Resume {
            Published "RESUME=DELETE_ALL_AND_RESUME" = Resume::DeleteAllAndResume,
            Published "RESUME=DELETE_ALL_RESUME_LATER" = Resume::DeleteAllResumeLater,
            Published "RESUME=DELETE_ONE_UNCOUNTED" = Resume::DeleteOneUncounted,
        }
        exact_tags_only: bool { Published "EXACT_TAGS_ONLY" = false }
        length_test: bool { Published "LENGTH_TEST" = false }
        declined_rtr_goes: bool { Published "DECLINED_RTR_GOES" = false }
        decline_takes_one: bool { Published "DECLINE_TAKES_ONE" = false }
        cancel_asks: bool { Published "CANCEL_ASKS" = false }
    }
    /// The cache of registered memory.
    Cache: CacheRules = AllCacheRules {
        covers: bool { Registration "COVERS" = false }
        name_is_checked: bool { Registration "NAME_IS_CHECKED" = false }
        invalidation_kills: bool { Registration "INVALIDATION_KILLS" = false }
        in_use_stays: bool { Registration "IN_USE_STAYS" = false }
        invalidation_reaches_registering: bool { Registration "INVALIDATION_REACHES_REGISTERING" = false }
        stale_is_not_used: bool { Registration "STALE_IS_NOT_USED" = false }
        evicts_idle_only: bool { Registration "EVICTS_IDLE_ONLY" = false }
    }
    /// The uses of small buffers.
    Reuse: ReuseRules = AllReuseRules {
        completes_locally: bool { Registration "COMPLETES_LOCALLY" = false }
    }
    /// How a connection is made.
    Handshake: HandshakeRules = AllConnectionRules {
        tell_again: bool { Connection "TELL_AGAIN" = false }
        answer_always: bool { Connection "ANSWER_ALWAYS" = false }
        up_when_heard: bool { Connection "UP_WHEN_HEARD" = false }
        connect_once: bool { Connection "CONNECT_ONCE" = false }
        packet_is_word: bool { Connection "PACKET_IS_WORD" = false }
    }
    /// How a connection is kept from overrunning.
    Credits: CreditRules = AllConnectionRules {
        give_back_alone: bool { Connection "GIVE_BACK_ALONE" = false }
        giving_is_free: bool { Connection "GIVING_IS_FREE" = false }
        spend_what_there_is: bool { Connection "SPEND_WHAT_THERE_IS" = false }
    }
    /// The order of packets that travel by two queue pairs.
    Order: OrderRules = AllConnectionRules {
        wait_for_turn: bool { Connection "WAIT_FOR_TURN" = false }
        write_takes_next: bool { Connection "WRITE_TAKES_NEXT" = false }
    }
    /// The epochs of a window.
    Epoch: EpochRules = AllEpochRules {
        waits_for_grant: bool { Epoch "WAITS_FOR_GRANT" = false }
        counts_not_bits: bool { Epoch "COUNTS_NOT_BITS" = false }
        exposures_count_at_activation: bool { Epoch "EXPOSURES_COUNT_AT_ACTIVATION" = false }
        locks_count_apart: bool { Epoch "LOCKS_COUNT_APART" = false }
        done_by_equality: bool { Epoch "DONE_BY_EQUALITY" = false }
        done_behind_data: bool { Epoch "DONE_BEHIND_DATA" = false }
        fenced_behind_reads: bool { Epoch "FENCED_BEHIND_READS" = false }
        done_waits_for_grant: bool { Epoch "DONE_WAITS_FOR_GRANT" = false }
        stops_at_first: bool { Epoch "STOPS_AT_FIRST" = false }
        serial_default: bool { Epoch "SERIAL_DEFAULT" = false }
        nested: bool { Epoch "NESTED" = false }
        checks_all_active: bool { Epoch "CHECKS_ALL_ACTIVE" = false }
        flags_exclude_fence: bool { Epoch "FLAGS_EXCLUDE_FENCE" = false }
        same_target_defers: bool { Epoch "SAME_TARGET_DEFERS" = false }
        lock_beside_access_defers: bool { Epoch "LOCK_BESIDE_ACCESS_DEFERS" = false }
        fence_waits_for_all_done: bool { Epoch "FENCE_WAITS_FOR_ALL_DONE" = false }
        inert_fence: bool { Epoch "INERT_FENCE" = false }
        fence_ends_in_order: bool { Epoch "FENCE_ENDS_IN_ORDER" = false }
        exposure_waits_for_lock: bool { Epoch "EXPOSURE_WAITS_FOR_LOCK" = false }
        lock_waits_for_exposure: bool { Epoch "LOCK_WAITS_FOR_EXPOSURE" = false }
        flush_covers: Covers {
            Epoch "FLUSH_COVERS=AFTER_STAMP" = Covers::AfterStamp,
            Epoch "FLUSH_COVERS=BEFORE_STAMP" = Covers::BeforeStamp,
        }
        flush_counts_unissued: bool { Epoch "FLUSH_COUNTS_UNISSUED" = false }
        activates_after_completion: bool { Epoch "ACTIVATES_AFTER_COMPLETION" = false }
        done_after_staged: bool { Epoch "DONE_AFTER_STAGED" = false }
        behind_staged: bool { Epoch "BEHIND_STAGED" = false }
        stages_granted: bool { Epoch "STAGES_GRANTED" = false }
        buffer_until_applied: bool { Epoch "BUFFER_UNTIL_APPLIED" = false }
    }
    /// The lock of a window as a queue at its host.
    Lock: LockRules = AllLockRules {
        first_in_first_out: bool { Lock "FIRST_IN_FIRST_OUT" = false }
        exclusive_waits_for_shared: bool { Lock "EXCLUSIVE_WAITS_FOR_SHARED" = false }
        shared_waits_for_exclusive: bool { Lock "SHARED_WAITS_FOR_EXCLUSIVE" = false }
        last_holder_frees: bool { Lock "LAST_HOLDER_FREES" = false }
        release_is_checked: bool { Lock "RELEASE_IS_CHECKED" = false }
        death_frees_nothing: bool { Lock "DEATH_FREES_NOTHING" = false }
        death_grants: bool { Lock "DEATH_GRANTS" = false }
    }
    /// The lock of a window by tickets.
    Ticket: TicketRules = AllTicketRules {
        admits_at_its_turn: bool { Lock "ADMITS_AT_ITS_TURN" = false }
        writer_admits_readers: bool { Lock "WRITER_ADMITS_READERS" = false }
        release_counts: bool { Lock "RELEASE_COUNTS" = false }
        taking_is_said: bool { Lock "TAKING_IS_SAID" = false }
        serving_read_last: bool { Lock "SERVING_READ_LAST" = false }
    }
    /// The order of an epoch's transfers.
    Schedule: ScheduleRules = AllScheduleRules {
        accumulates_in_order: bool { Schedule "ACCUMULATES_IN_ORDER" = false }
        notice_behind_copies: bool { Schedule "NOTICE_BEHIND_COPIES" = false }
        demand_reaches_queued: bool { Schedule "DEMAND_REACHES_QUEUED" = false }
        late_grant_is_due: bool { Schedule "LATE_GRANT_IS_DUE" = false }
    }
}

/// Where a rule is in [`RULES`].
const fn position(set: RuleSet, name: &str) -> usize {
    let mut at = 0;
    loop {
        if RULES[at].0 as u8 == set as u8 && is_same(RULES[at].1, name) {
            return at;
        }
        at += 1;
    }
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut same = 0;
    while same < one.len() && same < other.len() && one[same] == other[same] {
        same += 1;
    }
    same == one.len() && same == other.len()
}

/// Does something while the rule at a position of [`RULES`] is off in [`OneOff`]. Others wait until it is done.
pub(super) fn while_off<T>(at: usize, run: impl FnOnce() -> T) -> T {
    struct Off;
    impl Drop for Off {
        fn drop(&mut self) {
            OFF.store(NONE, Ordering::Relaxed);
        }
    }
    // A search that panicked has switched its rule on again.
    let _search = SEARCH.lock().unwrap_or_else(PoisonError::into_inner);
    // The threads that read it are started later.
    OFF.store(at, Ordering::Relaxed);
    let _off = Off;
    run()
}
