//! The elements of messages.

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A value that can be sent: any bytes are a valid value, and the value is nothing but its bytes. Numbers are
/// elements, and so are arrays of them, and structures that derive the traits of `zerocopy`. References, `bool` and
/// enumerations are not.
///
/// The ranks of a job run on machines of one kind: bytes are not converted.
pub trait Element: FromBytes + IntoBytes + Immutable + Copy + 'static {}

impl<T: FromBytes + IntoBytes + Immutable + Copy + 'static> Element for T {}
