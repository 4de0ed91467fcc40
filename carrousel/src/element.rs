//! What messages are made of.

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A value that can travel: any bytes are one, and it is nothing but its bytes. Numbers are, arrays of them
/// are, and structures that derive the traits of `zerocopy`; references, `bool` and enumerations are not.
///
/// The ranks of a job run on machines of one kind: bytes are not converted.
pub trait Element: FromBytes + IntoBytes + Immutable + Copy + 'static {}

impl<T: FromBytes + IntoBytes + Immutable + Copy + 'static> Element for T {}
