//! What ranks promise each other, over a driver that keeps the law and moves real bytes.

mod barrier;
mod beside;
mod cancel;
mod claims;
mod collective;
mod eager;
mod forged;
mod group;
mod hostile;
mod limits;
mod lost;
mod matching;
mod pair;
mod rendezvous;
mod to_self;
mod usage;

/// Runs each of the tests, which are generic in the protocol, under both rule sets.
macro_rules! under_both {
    ($($name:ident),* $(,)?) => {
        $(mod $name {
            #[test]
            fn mirror() {
                super::$name::<carrousel_rank::Mirror>();
            }

            #[test]
            fn published() {
                super::$name::<carrousel_rank::Published>();
            }
        })*
    };
}
pub(crate) use under_both;
