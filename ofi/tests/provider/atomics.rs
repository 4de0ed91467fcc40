//! Atomics on a peer's memory (fi_atomic(3)).

use crate::host::{End, call, close, pair};
use carrousel_ofi::bindings as b;

const ALL: u32 = b::FI_REMOTE_READ | b::FI_REMOTE_WRITE;

#[test]
fn operations_change_memory_and_return_what_was_there() {
    let (domain, one, two) = pair();
    let mut memory = 10u64.to_ne_bytes().repeat(2);
    let start = memory.as_ptr().addr() as u64;
    let (mr, key) = End::register(&domain, &mut memory, ALL, 0);
    let null = std::ptr::null_mut();
    let values = || {
        let (first, second) = memory.split_at(8);
        [first, second].map(|half| u64::from_ne_bytes(half.try_into().expect("it has 8 bytes")))
    };
    let two_and_three = [2u64, 3];
    let operand = two_and_three.as_ptr().cast();
    let done = || assert!(one.wait(&[two]).has(b::FI_ATOMIC));
    let u64s = b::FI_UINT64;
    assert_eq!(call!(one.ep, atomic.write(operand, 2, null, 0, start, key, u64s, b::FI_SUM, null)), 0);
    done();
    assert_eq!(values(), [12, 13]);
    let mut old = [0u64; 2];
    let result = old.as_mut_ptr().cast();
    let fetched = call!(
        one.ep,
        atomic.readwrite(operand, 2, null, result, null, 0, start, key, u64s, b::FI_PROD, null)
    );
    assert_eq!(fetched, 0);
    done();
    assert_eq!((old, values()), ([12, 13], [24, 39]));
    let none = std::ptr::null();
    let read = b::FI_ATOMIC_READ;
    assert_eq!(
        call!(one.ep, atomic.readwrite(none, 2, null, result, null, 0, start, key, u64s, read, null)),
        0
    );
    done();
    assert_eq!(old, [24, 39]);
    // The second value is another one than what is compared with.
    let expected = [24u64, 40];
    let compare = expected.as_ptr().cast();
    let swapped = call!(
        one.ep,
        atomic.compwrite(
            operand,
            2,
            null,
            compare,
            null,
            result,
            null,
            0,
            start,
            key,
            u64s,
            b::FI_CSWAP,
            null
        )
    );
    assert_eq!(swapped, 0);
    done();
    assert_eq!((old, values()), ([24, 39], [2, 39]));
    assert_eq!(call!(one.ep, atomic.inject(operand, 1, 0, start, key, u64s, b::FI_SUM)), 0);
    while values()[0] != 4 {
        two.progress();
        one.progress();
    }
    assert_eq!(close(mr), 0);
    domain.close([one, two]);
}

#[test]
fn what_there_is_is_told() {
    let (domain, one, two) = pair();
    let mut count = 0;
    for (datatype, op, compares, size) in [
        (b::FI_INT8, b::FI_MIN, false, 1),
        (b::FI_UINT32, b::FI_BXOR, false, 4),
        (b::FI_DOUBLE, b::FI_SUM, false, 8),
        (b::FI_FLOAT, b::FI_CSWAP_LT, true, 8),
        (b::FI_INT64, b::FI_MSWAP, true, 16),
    ] {
        let valid = if compares {
            call!(one.ep, atomic.compwritevalid(datatype, op, &mut count))
        } else {
            call!(one.ep, atomic.writevalid(datatype, op, &mut count))
        };
        assert_eq!((valid, count > 0, count * size <= 8192), (0, true, true), "{datatype} {op}");
    }
    for (datatype, op) in [
        (b::FI_DOUBLE, b::FI_BOR),
        (b::FI_LONG_DOUBLE, b::FI_SUM),
        (b::FI_INT32, b::FI_CSWAP),
        (b::FI_INT32, 99),
    ] {
        let valid = call!(one.ep, atomic.writevalid(datatype, op, &mut count));
        assert_eq!(valid, -(b::FI_EOPNOTSUPP as i32), "{datatype} {op}");
    }
    let (operand, null) = (std::ptr::null(), std::ptr::null_mut());
    let long = call!(one.ep, atomic.write(operand, 5000, null, 0, 0, 0, b::FI_INT64, b::FI_SUM, null));
    assert_eq!(long, -(b::FI_EMSGSIZE as isize));
    domain.close([one, two]);
}

#[test]
fn memory_that_may_be_read_only_is_not_changed() {
    let (domain, one, two) = pair();
    let mut memory = [1; 8];
    let start = memory.as_ptr().addr() as u64;
    let (mr, key) = End::register(&domain, &mut memory, b::FI_REMOTE_READ, 0);
    let (operand, null) = ([1u64], std::ptr::null_mut());
    let mut old = [0u64];
    let result = old.as_mut_ptr().cast();
    let operand = operand.as_ptr().cast();
    let u64s = b::FI_UINT64;
    assert_eq!(call!(one.ep, atomic.write(operand, 1, null, 0, start, key, u64s, b::FI_SUM, null)), 0);
    assert_eq!(one.wait_error(&[two]).error, b::FI_EACCES);
    let read = b::FI_ATOMIC_READ;
    assert_eq!(
        call!(one.ep, atomic.readwrite(operand, 1, null, result, null, 0, start, key, u64s, read, null)),
        0
    );
    one.wait(&[two]);
    assert_eq!((old, memory, close(mr)), ([u64::from_ne_bytes([1; 8])], [1; 8], 0));
    domain.close([one, two]);
}
