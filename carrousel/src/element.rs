//! The elements of messages.

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A value that can be sent: any bytes are a valid value, and the value is nothing but its bytes. Numbers are
/// elements ([`Complex64`](crate::Complex64), too), and so are arrays of them, and structures that derive the traits of
/// `zerocopy`, which this crate passes on:
///
/// ```
/// use carrousel::zerocopy::{FromBytes, Immutable, IntoBytes};
///
/// #[derive(Clone, Copy, Debug, PartialEq, FromBytes, IntoBytes, Immutable)]
/// #[zerocopy(crate = "carrousel::zerocopy")]
/// #[repr(C)]
/// struct Particle {
///     position: [f64; 3],
///     mass: f64,
///     number: u64,
/// }
///
/// let sent = Particle { position: [0.0, 1.0, 2.0], mass: 4.5, number: 7 };
/// let got = carrousel::threads(2, |world| {
///     let mut all = [sent; 3];
///     if world.rank() == 0 {
///         world.send(&all, 1, 0)?;
///     } else {
///         all = [Particle { position: [0.0; 3], mass: 0.0, number: 0 }; 3];
///         world.recv(&mut all, 0, 0)?;
///     }
///     Ok::<_, carrousel::Error>(all)
/// })?;
/// assert_eq!(got[1], Ok([sent; 3]));
/// # Ok::<(), carrousel::Error>(())
/// ```
///
/// References are no elements, nor are `bool`, `char` and enumerations: not all bytes are one of their values, and what
/// another process sends may be any. Send a `bool` as a `u8`:
///
/// ```compile_fail
/// # fn flag(world: &carrousel::Communicator) -> Result<(), carrousel::Error> {
/// world.send(&[true], 1, 0)
/// # }
/// ```
///
/// ```
/// # fn flag(world: &carrousel::Communicator, done: bool) -> Result<bool, carrousel::Error> {
/// let mut others = [0u8];
/// world.allreduce(&[u8::from(done)], &mut others, |one, other| one & other)?;
/// Ok(others == [1])
/// # }
/// ```
///
/// The ranks of a job run on machines of one kind: bytes are not converted.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of messages",
    label = "not every sequence of bytes is a `{Self}`, or a `{Self}` is more than its bytes",
    note = "numbers, and arrays of numbers, are elements; send a `bool` as `u8::from(flag)`, an enumeration as a number",
    note = "for a structure: `use carrousel::zerocopy::{{FromBytes, Immutable, IntoBytes}};` and \
            `#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable)] #[zerocopy(crate = \"carrousel::zerocopy\")] \
            #[repr(C)]` before it; its fields are elements, without gaps between them",
    note = "of a `Vec` or an array, send a slice: `&values`, and receive into `&mut values`"
)]
pub trait Element: FromBytes + IntoBytes + Immutable + Copy + 'static {}

// What is not one shall be told what to do, and not which of five traits it does not have.
#[diagnostic::do_not_recommend]
impl<T: FromBytes + IntoBytes + Immutable + Copy + 'static> Element for T {}
