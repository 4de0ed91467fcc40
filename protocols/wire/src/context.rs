//! Conversations that have nothing to do with each other, though the same ranks have them.

/// A communicator context: messages of different contexts never match. A [`Communicator`] has two: an
/// even one for the application's messages, and the odd one behind it for those of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Context(pub u16);

impl Context {
    /// Point-to-point messages of the application, between all ranks.
    pub const MESSAGES: Self = Communicator::WORLD.messages();
    /// Messages that the library sends on behalf of collective operations of all ranks.
    pub const COLLECTIVES: Self = Communicator::WORLD.collectives();

    /// Whether the messages are the library's.
    pub const fn is_collective(self) -> bool {
        !self.0.is_multiple_of(2)
    }

    /// The communicator that has this context.
    pub const fn communicator(self) -> Communicator {
        Communicator { messages: Self(self.0 & !1) }
    }
}

/// A group of ranks that send messages to each other. Its number is agreed on by its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Communicator {
    /// The even one of its two contexts, stored so that no message has to compute it.
    messages: Context,
}

impl Communicator {
    /// All ranks of the job.
    pub const WORLD: Self = Self { messages: Context(0) };
    /// The number of communicators that there can be.
    pub const MAX: u16 = 1 << 15;

    /// The communicator with number `index`, from 0 ([`Communicator::WORLD`]) and below [`Communicator::MAX`].
    pub const fn new(index: u16) -> Option<Self> {
        if index < Self::MAX { Some(Self { messages: Context(2 * index) }) } else { None }
    }

    /// Its number.
    pub const fn index(self) -> u16 {
        self.messages.0 / 2
    }

    /// The context of the application's messages.
    #[inline]
    pub const fn messages(self) -> Context {
        self.messages
    }

    /// The context of the library's messages.
    #[inline]
    pub const fn collectives(self) -> Context {
        Context(self.messages.0 + 1)
    }
}
