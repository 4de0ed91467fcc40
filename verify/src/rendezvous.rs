//! The rendezvous protocol under the messages, which is only known at run time.

use crate::model::Settings;
use crate::rules::{AllRules, EnvironmentRules, NoSuchRule, RuleSet, Rules, WithRules, with_rules};
use carrousel_rank::{Mirror, Protocol, Published};

/// A rendezvous protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rendezvous {
    /// The default: the sender mirrors the posted receives.
    #[default]
    Mirror,
    /// The thesis's handshake in its sound reading.
    Published,
}

impl Rendezvous {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Mirror, Self::Published];

    /// Its rules.
    pub fn rule_set(self) -> RuleSet {
        match self {
            Self::Mirror => RuleSet::Mirror,
            Self::Published => RuleSet::Published,
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

struct Under<W> {
    protocol: Rendezvous,
    settings: Settings,
    with: W,
}

impl<W: WithProtocol> WithRules for Under<W> {
    type Output = W::Output;

    fn run<R: Rules>(self) -> W::Output {
        let Self { protocol, mut settings, with } = self;
        settings.ordered &= R::Environment::ordered_connection();
        match protocol {
            Rendezvous::Mirror => with.run::<Mirror<R::Mirror>>(settings),
            Rendezvous::Published => with.run::<Published<R::Published>>(settings),
        }
    }
}

/// Does something with a protocol, one of its rules off if `without` names it.
///
/// # Errors
/// When there is no such rule.
pub fn with_protocol<W: WithProtocol>(
    protocol: Rendezvous,
    without: Option<&str>,
    settings: Settings,
    with: W,
) -> Result<W::Output, NoSuchRule> {
    with_rules(&[protocol.rule_set()], without, Under { protocol, settings, with })
}

/// Does something with a protocol as it is in production.
pub fn with_every_rule<W: WithProtocol>(protocol: Rendezvous, settings: Settings, with: W) -> W::Output {
    Under { protocol, settings, with }.run::<AllRules>()
}
