//! Which message goes to which receive.

use crate::pair::{LARGE, Pair, SMALL, bytes, from, options, tag};
use crate::under_both;
use carrousel_rank::*;

under_both!(
    messages_do_not_overtake_whatever_their_size,
    tags_select_among_messages,
    a_wildcard_posted_first_is_served_first,
    any_source_takes_what_arrives_first,
    a_wildcard_tag_keeps_the_order_of_sending,
    a_large_receive_behind_a_wildcard_waits_its_turn,
    masks_that_overlap_in_part_block_each_other,
    receives_with_one_mask_are_announced_together,
);

fn messages_do_not_overtake_whatever_their_size<P: Protocol>() {
    // Bit `n` of the pattern: message `n` is large; bit `n` of `early`: receive `n` is posted before all sends.
    for pattern in 0..16_u8 {
        for early in [0, 1, 2, 4] {
            for announce in [false, true] {
                let mut pair = Pair::<P>::new().announce(announce);
                let receive = |pair: &mut Pair<P>| pair.receive(1, from(0), tag(5), LARGE);
                let mut receives: Vec<Handle> = (0..early).map(|_| receive(&mut pair)).collect();
                pair.run();
                let data = |n: u8| bytes(if pattern & (1 << n) == 0 { SMALL } else { LARGE }, n);
                for n in 0..4 {
                    pair.send(0, 1, 5, &data(n));
                }
                receives.extend((early..4).map(|_| receive(&mut pair)));
                pair.run();
                for (n, receive) in receives.into_iter().enumerate() {
                    pair.got(1, receive, 0, 5, &data(n as u8));
                }
                pair.is_over();
            }
        }
    }
}

fn tags_select_among_messages<P: Protocol>() {
    for early in [false, true] {
        let mut pair = Pair::<P>::announcing();
        let receives = |pair: &mut Pair<P>| [3, 2, 1].map(|n| pair.receive(1, from(0), tag(n), LARGE));
        let before = early.then(|| receives(&mut pair));
        pair.run();
        for n in 1..4 {
            pair.send(0, 1, n, &bytes(20 * n as usize - 10, n as u8));
        }
        pair.run();
        let [three, two, one] = before.unwrap_or_else(|| receives(&mut pair));
        pair.run();
        pair.got(1, one, 0, 1, &bytes(10, 1));
        pair.got(1, two, 0, 2, &bytes(30, 2));
        pair.got(1, three, 0, 3, &bytes(50, 3));
        pair.is_over();
    }
}

fn a_wildcard_posted_first_is_served_first<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    let any = pair.receive(1, Source::Any, mpi::ANY_TAG, LARGE);
    let exact = pair.receive(1, from(0), tag(5), LARGE);
    pair.run();
    assert_eq!(pair.told(), "", "the second receive is not announced past the first");
    pair.send(0, 1, 5, &bytes(LARGE, 1));
    pair.send(0, 1, 5, &bytes(LARGE, 2));
    pair.run();
    pair.got(1, any, 0, 5, &bytes(LARGE, 1));
    pair.got(1, exact, 0, 5, &bytes(LARGE, 2));
    pair.is_over();
}

fn any_source_takes_what_arrives_first<P: Protocol>() {
    let mut pair = Pair::<P>::with(3, &options()).announce(true);
    for len in [SMALL, LARGE] {
        pair.send(2, 0, 5, &bytes(len, 2));
        pair.send(1, 0, 5, &bytes(len, 1));
        pair.deliver(1, 0, Direction::ToReceiver).expect("rank 1 is faster");
        pair.run();
        let first = pair.receive(0, Source::Any, tag(5), LARGE);
        let second = pair.receive(0, Source::Any, tag(5), LARGE);
        pair.run();
        pair.got(0, first, 1, 5, &bytes(len, 1));
        pair.got(0, second, 2, 5, &bytes(len, 2));
        pair.is_over();
    }
}

fn a_wildcard_tag_keeps_the_order_of_sending<P: Protocol>() {
    for early in [false, true] {
        let mut pair = Pair::<P>::announcing();
        let receives = |pair: &mut Pair<P>| [0; 3].map(|_| pair.receive(1, from(0), mpi::ANY_TAG, LARGE));
        let before = early.then(|| receives(&mut pair));
        pair.run();
        pair.send(0, 1, 9, &bytes(LARGE, 1));
        pair.send(0, 1, 7, &bytes(SMALL, 2));
        pair.send(0, 1, 8, &bytes(LARGE, 3));
        pair.run();
        let [first, second, third] = before.unwrap_or_else(|| receives(&mut pair));
        pair.run();
        pair.got(1, first, 0, 9, &bytes(LARGE, 1));
        pair.got(1, second, 0, 7, &bytes(SMALL, 2));
        pair.got(1, third, 0, 8, &bytes(LARGE, 3));
        pair.is_over();
    }
}

fn a_large_receive_behind_a_wildcard_waits_its_turn<P: Protocol>() {
    // The receive of tag 5 may be announced, that of tag 6 is behind a small one of the same envelope.
    let mut pair = Pair::<P>::announcing();
    let small = pair.receive(1, from(0), tag(6), SMALL);
    let other = pair.receive(1, from(0), tag(5), LARGE);
    let large = pair.receive(1, from(0), tag(6), LARGE);
    pair.run();
    pair.send(0, 1, 6, &bytes(SMALL, 1));
    pair.send(0, 1, 6, &bytes(LARGE, 2));
    pair.send(0, 1, 5, &bytes(LARGE, 3));
    pair.run();
    pair.got(1, small, 0, 6, &bytes(SMALL, 1));
    pair.got(1, large, 0, 6, &bytes(LARGE, 2));
    pair.got(1, other, 0, 5, &bytes(LARGE, 3));
    assert!(pair.told().contains("0 write"));
    pair.is_over();
}

/// What shares a tag, 3, though neither accepts all that the other does: 2 and 3, 1 and 3.
const OVERLAPPING: [TagSelector; 2] = [TagSelector::new(Tag(2), 0b01), TagSelector::new(Tag(1), 0b10)];

fn masks_that_overlap_in_part_block_each_other<P: Protocol>() {
    let [first, second] = OVERLAPPING;
    let apart = TagSelector::new(Tag(0b100), 0b11);
    let mut pair = Pair::<P>::announcing();
    let small = pair.receive(1, from(0), first, SMALL);
    let large = pair.receive(1, from(0), second, LARGE);
    pair.run();
    assert_eq!(pair.told(), "", "the second receive is not announced past the first");
    let other = pair.receive(1, from(0), apart, LARGE);
    pair.send(0, 1, 3, &bytes(SMALL, 1));
    pair.send(0, 1, 3, &bytes(LARGE, 2));
    pair.send(0, 1, 5, &bytes(LARGE, 3));
    pair.run();
    pair.got(1, small, 0, 3, &bytes(SMALL, 1));
    pair.got(1, large, 0, 3, &bytes(LARGE, 2));
    pair.got(1, other, 0, 5, &bytes(LARGE, 3));
    pair.is_over();
}

fn receives_with_one_mask_are_announced_together<P: Protocol>() {
    let [first, _] = OVERLAPPING;
    let mut pair = Pair::<P>::announcing();
    let small = pair.receive(1, from(0), first, SMALL);
    let large = pair.receive(1, from(0), first, LARGE);
    pair.run();
    let announced = pair.told();
    pair.send(0, 1, 3, &bytes(SMALL, 1));
    pair.send(0, 1, 2, &bytes(LARGE, 2));
    pair.run();
    let written = pair.told();
    // The published rules announce none that ignores a bit of its tag.
    let is_mirror = announced.contains("RTR");
    assert_eq!(is_mirror, std::any::type_name::<P>().contains("Mirror"), "{announced}");
    assert_eq!(is_mirror, written.contains("0 write"), "{written}");
    pair.got(1, small, 0, 3, &bytes(SMALL, 1));
    pair.got(1, large, 0, 2, &bytes(LARGE, 2));
    pair.is_over();
}
