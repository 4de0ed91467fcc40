//! The situations that an exploration has to cover: a proof that never met them says little.
//!
//! A macro declares those of a model, each with its name in tables, and one type counts them.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The situations of one model.
pub trait Situation: Copy + 'static {
    /// All of them.
    const ALL: &'static [Self];

    /// A column heading.
    fn name(self) -> &'static str;

    /// The place among [`Situation::ALL`].
    fn index(self) -> usize;
}

/// Declares an enumeration of situations, each with its name in tables.
macro_rules! situations {
    ($(#[$meta:meta])* $visibility:vis enum $type:ident {
        $($(#[$doc:meta])* $situation:ident = $name:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $type {
            $($(#[$doc])* $situation,)*
        }

        impl $crate::situations::Situation for $type {
            const ALL: &'static [Self] = &[$(Self::$situation,)*];

            fn name(self) -> &'static str {
                match self {
                    $(Self::$situation => $name,)*
                }
            }

            fn index(self) -> usize {
                self as usize
            }
        }
    };
}
pub(crate) use situations;

/// How often each situation was met, and whether the search goes on. All threads of a search write to it.
pub(crate) struct Situations<S> {
    met: Box<[AtomicU64]>,
    /// Explore no further.
    pub(crate) stop: AtomicBool,
    situation: PhantomData<fn(S)>,
}

impl<S: Situation> Default for Situations<S> {
    fn default() -> Self {
        let met = S::ALL.iter().map(|_| AtomicU64::new(0)).collect();
        Self { met, stop: AtomicBool::new(false), situation: PhantomData }
    }
}

impl<S: Situation> Situations<S> {
    pub(crate) fn note(&self, what: S) {
        self.met[what.index()].fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the search has to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The situations that were met, by their names in tables.
    pub(crate) fn met(&self) -> Vec<(&'static str, u64)> {
        let counts = self.met.iter().map(|count| count.load(Ordering::Relaxed));
        let named = S::ALL.iter().map(|what| what.name()).zip(counts);
        named.filter(|(_, count)| *count > 0).collect()
    }
}

/// The names of some situations, as the families of a suite list what they must reach.
pub(crate) fn names<S: Situation>(situations: &[S]) -> Vec<&'static str> {
    situations.iter().map(|what| what.name()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    situations! {
        enum Weather {
            /// Sun.
            Sun = "sun",
            /// Rain.
            Rain = "rain",
            /// Snow.
            Snow = "snow",
        }
    }

    #[test]
    fn what_was_met_is_counted_by_name() {
        let situations = Situations::default();
        for what in [Weather::Snow, Weather::Sun, Weather::Snow] {
            situations.note(what);
        }
        assert_eq!(situations.met(), [("sun", 1), ("snow", 2)]);
        assert_eq!(names(&[Weather::Rain, Weather::Snow]), ["rain", "snow"]);
        assert!(!situations.is_stopped());
    }
}
