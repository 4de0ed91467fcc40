//! Complex numbers, for messages and reductions.

use std::ops::{Add, Mul, Neg, Sub};
use zerocopy::{FromBytes, Immutable, IntoBytes};

macro_rules! complex {
    ($name:ident, $real:ty, $mpi:literal) => {
        #[doc = concat!("A complex number of two `", stringify!($real), "` (`", $mpi, "`), in the layout of C and Fortran.")]
        #[derive(Clone, Copy, Debug, Default, PartialEq, FromBytes, IntoBytes, Immutable)]
        #[repr(C)]
        pub struct $name {
            /// The real part.
            pub re: $real,
            /// The imaginary part.
            pub im: $real,
        }

        impl $name {
            /// The number with these parts.
            pub const fn new(re: $real, im: $real) -> Self {
                Self { re, im }
            }
        }

        impl Add for $name {
            type Output = Self;

            fn add(self, other: Self) -> Self {
                Self { re: self.re + other.re, im: self.im + other.im }
            }
        }

        impl Sub for $name {
            type Output = Self;

            fn sub(self, other: Self) -> Self {
                Self { re: self.re - other.re, im: self.im - other.im }
            }
        }

        impl Mul for $name {
            type Output = Self;

            fn mul(self, other: Self) -> Self {
                let (re, im) = (self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re);
                Self { re, im }
            }
        }

        impl Neg for $name {
            type Output = Self;

            fn neg(self) -> Self {
                Self { re: -self.re, im: -self.im }
            }
        }

        impl From<$real> for $name {
            fn from(re: $real) -> Self {
                Self { re, im: 0.0 }
            }
        }

        impl From<[$real; 2]> for $name {
            fn from([re, im]: [$real; 2]) -> Self {
                Self { re, im }
            }
        }

        impl From<$name> for [$real; 2] {
            fn from($name { re, im }: $name) -> Self {
                [re, im]
            }
        }
    };
}

complex!(Complex64, f64, "MPI_C_DOUBLE_COMPLEX");
complex!(Complex32, f32, "MPI_C_FLOAT_COMPLEX");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, threads};

    #[test]
    fn complex_numbers_are_sent_and_reduced() {
        let got = threads(3, |world| {
            let own = Complex64::new(world.rank().into(), 1.0);
            let (mut sum, mut product) = ([Complex64::default()], [Complex64::default()]);
            world.allreduce(&[own], &mut sum, |one, other| one + other)?;
            world.allreduce(&[own], &mut product, |one, other| one * other)?;
            Ok::<_, Error>((sum[0], product[0]))
        });
        // i (1 + i) (2 + i) = i (1 + 3i) = -3 + i.
        let expected = Ok((Complex64::new(3.0, 3.0), Complex64::new(-3.0, 1.0)));
        assert_eq!(got, Ok(vec![expected.clone(), expected.clone(), expected]));
    }

    #[test]
    fn their_bytes_are_those_of_two_numbers() {
        let number = Complex32::from([1.5, -2.0]);
        assert_eq!(number.as_bytes(), [1.5_f32, -2.0].as_bytes());
        assert_eq!(<[f32; 2]>::from(-number - Complex32::from(1.0)), [-2.5, 2.0]);
    }
}
