//! The choice of the buffers that are used often enough to be registered: the vocabulary.
//!
//! A small message is copied into memory that stays registered, because registering its own buffer costs more than a
//! copy. Registering pays for a buffer that is used again: after n uses, if n copies cost more than one registration
//! and n look-ups, so if n > R / (C - V) (speculative-rendezvous 5.3.3).

mod reuse;
mod table;
mod text;

pub use reuse::Reuse;
pub use text::ThresholdsError;

use crate::RegionId;

/// The way in which a small message travels. It decides which copy a registered buffer saves.
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
    /// All paths, in the order in which they are listed.
    pub const ALL: [Self; 4] = [Self::EagerByWrite, Self::EagerBySend, Self::Put, Self::Get];

    /// The name of the path in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::EagerByWrite => "eager_by_write",
            Self::EagerBySend => "eager_by_send",
            Self::Put => "put",
            Self::Get => "get",
        }
    }
}

/// The number of size classes. Class k is from k KiB up to, not including, k + 1 KiB; the last class contains all
/// larger sizes.
pub const CLASSES: usize = 9;

/// The least number of uses for which a registration pays, n, by path and size class. It is a property of the
/// machine: it is measured, and given to the cache, also as text.
///
/// ```
/// use carrousel_registration::{Path, Thresholds};
/// let measured: Thresholds = "
///     eager_by_write  432 200 110 76  60  48  40  36  32
///     eager_by_send   never never never never never 75 65 55 49
///     put             196 128 128 125 56  33  29  26  25
///     get             196 128 128 125 56  33  29  26  25  # as put
/// ".parse()?;
/// assert_eq!(measured.of(Path::Put)[1], 128);
/// assert_eq!(measured.to_string().parse(), Ok(measured));
/// # Ok::<(), carrousel_registration::ThresholdsError>(())
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
    /// Registering never pays: a copy costs less than the look-up.
    pub const NEVER: u32 = u32::MAX;

    /// The thresholds of the thesis's machine, as an example (speculative-rendezvous, table 5.3).
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

    /// The thresholds of a path, by size class.
    #[inline]
    pub const fn of(&self, path: Path) -> &[u32; CLASSES] {
        match path {
            Path::EagerByWrite => &self.eager_by_write,
            Path::EagerBySend => &self.eager_by_send,
            Path::Put => &self.put,
            Path::Get => &self.get,
        }
    }

    /// As [`Thresholds::of`], for writing.
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

/// The parameters that decide, together with the number of uses, whether a buffer is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Policy {
    /// The least number of uses that pays.
    pub thresholds: Thresholds,
    /// Register after this percentage of the uses that pay, and speculate on the others.
    pub speculation_percent: u32,
    /// Messages of fewer bytes are always copied, and not counted.
    pub bytes_min: u64,
    /// Messages of more bytes are always copied, and not counted.
    pub bytes_max: u64,
    /// The table has 2^`bucket_bits_min` buckets at first, and doubles them when it has as many entries as buckets.
    pub bucket_bits_min: u32,
    /// The table grows to 2^`bucket_bits_max` buckets, at most 2^31; from then on its chains grow.
    pub bucket_bits_max: u32,
    /// The most buffers in the table. Once it is full, further buffers are copied, and not counted. To replace an
    /// entry, the table would need the order of uses, which would make every use more expensive.
    pub entries_max: u32,
    /// No entry is added while the chains grow and less than this percentage of the entries is registered. With 0,
    /// entries are always added.
    pub share_percent: u32,
    /// Register only after all of the uses that pay, not after a part of them, while most registrations have ended
    /// before they had paid. Not in the thesis.
    pub learns: bool,
}

impl Default for Policy {
    /// The published values, for the thesis's machine. The table grows from 2^12 buckets, and has up to 2^21 entries.
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

/// The advice for a use of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Advice {
    /// Copy. This is always possible without waiting.
    Copy,
    /// The buffer was registered by this name. The cache knows whether it still is.
    Direct(RegionId),
    /// The buffer is used often enough: look for it in the cache, or register it.
    Register,
}
