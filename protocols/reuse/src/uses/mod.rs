//! Which buffers are used often enough to be registered: the vocabulary.
//!
//! A small message is copied into memory that is registered for good, because registering its own buffer
//! costs more than a copy. It pays for a buffer that is used again: after n uses, if n copies cost more than one
//! registration and n look-ups, n > R / (C - V) (speculative-rendezvous 5.3.3).

mod reuse;
mod table;
mod text;

pub use reuse::Reuse;
pub use text::ThresholdsError;

use crate::RegionId;

/// How a small message travels: which copy a registered buffer saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Path {
    /// Written into the receiver's ring: the fast path.
    EagerByWrite,
    /// Sent, and received into staging memory.
    EagerBySend,
    /// Written into the target's window.
    Put,
    /// Read from the target's window into the buffer.
    Get,
}

impl Path {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 4] = [Self::EagerByWrite, Self::EagerBySend, Self::Put, Self::Get];

    /// What it is called, in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::EagerByWrite => "eager_by_write",
            Self::EagerBySend => "eager_by_send",
            Self::Put => "put",
            Self::Get => "get",
        }
    }
}

/// Size classes: class k is from k KiB up to, not including, k + 1 KiB, and the last one has all above.
pub const CLASSES: usize = 9;

/// The least number of uses for which a registration pays, n, by path and size class. A property of the
/// machine: to be measured, and to be given, as text too.
///
/// ```
/// use carrousel_reuse::{Path, Thresholds};
/// let measured: Thresholds = "
///     eager_by_write  432 200 110 76  60  48  40  36  32
///     eager_by_send   never never never never never 75 65 55 49
///     put             196 128 128 125 56  33  29  26  25
///     get             196 128 128 125 56  33  29  26  25  # as put
/// ".parse()?;
/// assert_eq!(measured.of(Path::Put)[1], 128);
/// assert_eq!(measured.to_string().parse(), Ok(measured));
/// # Ok::<(), carrousel_reuse::ThresholdsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Thresholds {
    /// Of [`Path::EagerByWrite`].
    pub eager_by_write: [u32; CLASSES],
    /// Of [`Path::EagerBySend`].
    pub eager_by_send: [u32; CLASSES],
    /// Of [`Path::Put`].
    pub put: [u32; CLASSES],
    /// Of [`Path::Get`].
    pub get: [u32; CLASSES],
}

impl Thresholds {
    /// It never pays: a copy costs less than the look-up.
    pub const NEVER: u32 = u32::MAX;

    /// Those of the thesis's machine, as an example (speculative-rendezvous, table 5.3).
    pub const PUBLISHED: Self = {
        let one_sided = [196, 128, 128, 125, 56, 33, 29, 26, 25];
        Self {
            eager_by_write: [432, 200, 110, 76, 60, 48, 40, 36, 32],
            eager_by_send: [1568, 448, 224, 131, 95, 75, 65, 55, 49],
            put: one_sided,
            get: one_sided,
        }
    };

    /// The same for every path and class.
    pub const fn uniform(uses: u32) -> Self {
        let all = [uses; CLASSES];
        Self { eager_by_write: all, eager_by_send: all, put: all, get: all }
    }

    /// Those of a path, by size class.
    #[inline]
    pub const fn of(&self, path: Path) -> &[u32; CLASSES] {
        match path {
            Path::EagerByWrite => &self.eager_by_write,
            Path::EagerBySend => &self.eager_by_send,
            Path::Put => &self.put,
            Path::Get => &self.get,
        }
    }

    /// As [`Thresholds::of`], to be set.
    pub const fn of_mut(&mut self, path: Path) -> &mut [u32; CLASSES] {
        match path {
            Path::EagerByWrite => &mut self.eager_by_write,
            Path::EagerBySend => &mut self.eager_by_send,
            Path::Put => &mut self.put,
            Path::Get => &mut self.get,
        }
    }

    #[inline]
    fn uses(&self, path: Path, class: u8) -> u32 {
        self.of(path).get(usize::from(class)).copied().unwrap_or(Self::NEVER)
    }
}

/// The size class of a message.
#[inline]
fn class(len: u64) -> u8 {
    const LAST: u64 = CLASSES as u64 - 1;
    (len >> 10).min(LAST) as u8
}

/// What decides, beside the uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Policy {
    /// The least number of uses that pays.
    pub thresholds: Thresholds,
    /// Register after this percentage of them, hoping for the others.
    pub speculation_percent: u32,
    /// Messages below so many bytes are always copied, and not counted.
    pub bytes_min: u64,
    /// And those above so many.
    pub bytes_max: u64,
    /// The table has 2^`bucket_bits_min` buckets at first, and doubles when it has as many entries.
    pub bucket_bits_min: u32,
    /// Up to 2^`bucket_bits_max` buckets, at most 2^31; from then on its chains grow.
    pub bucket_bits_max: u32,
    /// Buffers in the table, at most. Once it is full, further ones are copied, and not counted: to replace one
    /// would take the order of their uses, which every use would pay for.
    pub entries_max: u32,
    /// While less than this percentage of the entries is registered and the chains grow, no entry is added.
    /// 0 is never to stop.
    pub share_percent: u32,
    /// Register after all of the uses that pay, not a part, while most registrations have gone before they had paid.
    /// Not in the thesis.
    pub learns: bool,
}

impl Default for Policy {
    /// As published, for the thesis's machine; the table grows from 2^12 buckets, and has up to 2^21 entries.
    fn default() -> Self {
        Self {
            thresholds: Thresholds::PUBLISHED,
            speculation_percent: 25,
            bytes_min: 128,
            bytes_max: 9 << 10,
            bucket_bits_min: 12,
            bucket_bits_max: 20,
            entries_max: 1 << 21,
            share_percent: 20,
            learns: false,
        }
    }
}

/// What a use of a buffer should come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Advice {
    /// Copy. Nobody ever has to wait.
    Copy,
    /// It was registered, by this name. Whether it still is, the cache knows.
    Direct(RegionId),
    /// Used often enough: look for it in the cache, or register it.
    Register,
}
