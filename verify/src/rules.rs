//! Rule sets of the protocols with one rule off, by name; those of registered memory are in `memory`, those of
//! connections in `connection`. Only the checker has them: what runs in production is a type with every rule on.

use crate::connection;
use crate::memory;
use crate::model::Settings;
use crate::progress;
use carrousel_rank::{Mirror, Protocol, Published};
use carrousel_rendezvous::{MirrorRules, PublishedRules, Release, Resume};

/// A rule set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RuleSet {
    /// The default: the sender mirrors the posted receives.
    #[default]
    Mirror,
    /// The thesis's handshake in its sound reading.
    Published,
}

impl RuleSet {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mirror => "mirror",
            Self::Published => "published",
        }
    }
}

/// Something to be done with a protocol that is only known at run time.
pub trait WithProtocol {
    /// What comes of it.
    type Output;
    /// Does it.
    fn run<P: Protocol>(self, settings: Settings) -> Self::Output;
}

macro_rules! without {
    ($($set:ident $protocol:ident $rules:ident { $($type:ident $constant:ident = $off:expr, $name:literal;)* })*) => {
        $($(
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            enum $type {}
            impl $rules for $type {
                without!(@constant $constant = $off);
            }
        )*)*

        /// The rules that can be switched off, by rule set and name.
        pub const RULES: &[(RuleSet, &str)] = &[
            (RuleSet::Mirror, ORDERED_CONNECTION),
            $($((RuleSet::$set, $name),)*)*
        ];

        fn dispatch<W: WithProtocol>(set: RuleSet, rule: &str, settings: Settings, with: W) -> Option<W::Output> {
            $($(
                if set == RuleSet::$set && rule == $name {
                    return Some(with.run::<$protocol<$type>>(settings));
                }
            )*)*
            None
        }
    };
    (@constant RELEASE = $off:expr) => { const RELEASE: Release = $off; };
    (@constant RESUME = $off:expr) => { const RESUME: Resume = $off; };
    (@constant $constant:ident = $off:expr) => { const $constant: bool = $off; };
}

/// R1 of the mirror rules is the network's: messages of a flow arrive in the order in which they were sent.
pub const ORDERED_CONNECTION: &str = "ORDERED_CONNECTION";

without! {
    Mirror Mirror MirrorRules {
        WithoutSeenPrunes SEEN_PRUNES = false, "SEEN_PRUNES";
        WithoutBlocked BLOCKED_BY_UNANNOUNCED = false, "BLOCKED_BY_UNANNOUNCED";
        WithoutMasks MASKS_OVERLAP = false, "MASKS_OVERLAP";
        WithoutAhead AHEAD_ANNOUNCEMENTS = false, "AHEAD_ANNOUNCEMENTS";
        WithoutUnseen UNSEEN_TAKES_ANNOUNCEMENT = false, "UNSEEN_TAKES_ANNOUNCEMENT";
        WithoutEagerTakes EAGER_TAKES_ANNOUNCEMENT = false, "EAGER_TAKES_ANNOUNCEMENT";
        WithoutLengthTest LENGTH_TEST = false, "LENGTH_TEST";
        WithoutFinBehindWrite FIN_BEHIND_WRITE = false, "FIN_BEHIND_WRITE";
        AtsBesideRead RELEASE = Release::AtsBesideRead, "RELEASE=ATS_BESIDE_READ";
        WithoutFirstMatch FIN_IS_FIRST_MATCH = false, "FIN_IS_FIRST_MATCH";
        WithoutAtsPrunes ATS_PRUNES = false, "ATS_PRUNES";
        WithoutClaimTakes CLAIM_TAKES = false, "CLAIM_TAKES";
        WithoutCancelAsks CANCEL_ASKS = false, "CANCEL_ASKS";
    }
    Published Published PublishedRules {
        PublishedWithoutAnswer RTR_ANSWERS_RTS = false, "RTR_ANSWERS_RTS";
        PublishedWithoutAckRtr ACK_RTR = false, "ACK_RTR";
        PublishedWithoutAckRts ACK_RTS = false, "ACK_RTS";
        PublishedWithoutEveryAck ACK_FROM_EVERY_RECEIVE = false, "ACK_FROM_EVERY_RECEIVE";
        PublishedWithoutBlocked BLOCKED_BY_UNANNOUNCED = false, "BLOCKED_BY_UNANNOUNCED";
        PublishedWithoutFlag EAGER_FLAG = false, "EAGER_FLAG";
        PublishedWithoutAwait AWAIT_STOP = false, "AWAIT_STOP";
        PublishedDeleteAll RESUME = Resume::DeleteAllAndResume, "RESUME=DELETE_ALL_AND_RESUME";
        PublishedDeleteAllLater RESUME = Resume::DeleteAllResumeLater, "RESUME=DELETE_ALL_RESUME_LATER";
        PublishedDeleteOne RESUME = Resume::DeleteOneUncounted, "RESUME=DELETE_ONE_UNCOUNTED";
        PublishedAnyTag EXACT_TAGS_ONLY = false, "EXACT_TAGS_ONLY";
        PublishedWithoutLengthTest LENGTH_TEST = false, "LENGTH_TEST";
        PublishedDeclineKeeps DECLINED_RTR_GOES = false, "DECLINED_RTR_GOES";
        PublishedDeclineTakesAll DECLINE_TAKES_ONE = false, "DECLINE_TAKES_ONE";
        PublishedWithoutCancelAsks CANCEL_ASKS = false, "CANCEL_ASKS";
    }
}

/// Every rule that can be switched off, of protocols, their drivers, registered memory and connections: the name of its set, and
/// its own.
pub fn switches() -> impl Iterator<Item = (&'static str, &'static str)> {
    let protocols = RULES.iter().map(|(set, rule)| (set.name(), *rule));
    let memory = memory::RULES.iter().map(|rule| (memory::SET, *rule));
    let progress = progress::RULES.iter().map(|rule| (progress::SET, *rule));
    protocols
        .chain(progress)
        .chain(memory)
        .chain(connection::RULES.iter().map(|rule| (connection::SET, *rule)))
}

/// No such rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {} rules have no rule `{rule}`{}", .set.name(), .suggestion.map_or(String::new(), |name| format!(": did you mean `{name}`?")))]
pub struct NoSuchRule {
    /// The rule set.
    pub set: RuleSet,
    /// What was asked for.
    pub rule: String,
    /// The nearest name.
    pub suggestion: Option<&'static str>,
}

/// Does something with a rule set, one of its rules off if `without` names it.
///
/// # Errors
/// When there is no such rule.
pub fn with_rules<W: WithProtocol>(
    set: RuleSet,
    without: Option<&str>,
    mut settings: Settings,
    with: W,
) -> Result<W::Output, NoSuchRule> {
    let Some(rule) = without else { return Ok(with_every_rule(set, settings, with)) };
    let names = || RULES.iter().filter(|(of, _)| *of == set).map(|(_, name)| *name);
    if !names().any(|name| name == rule) {
        let distance = |name: &&str| strsim::damerau_levenshtein(name, &rule.to_uppercase());
        let suggestion = names().min_by_key(distance).filter(|name| distance(name) <= 4);
        return Err(NoSuchRule { set, rule: rule.to_owned(), suggestion });
    }
    if rule == ORDERED_CONNECTION {
        settings.ordered = false;
        return Ok(with_every_rule(set, settings, with));
    }
    match dispatch(set, rule, settings, with) {
        Some(output) => Ok(output),
        None => unreachable!("`{rule}` is in the table of rules, which the same macro wrote"),
    }
}

/// Does something with a rule set as it is in production.
pub fn with_every_rule<W: WithProtocol>(set: RuleSet, settings: Settings, with: W) -> W::Output {
    match set {
        RuleSet::Mirror => with.run::<Mirror>(settings),
        RuleSet::Published => with.run::<Published>(settings),
    }
}
