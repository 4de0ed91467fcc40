//! Whatever a host gives a rank, in any order, with any numbers, it gets an error code: no call finds a
//! mistake of the library, and none ends the process. Debug assertions of the protocols are on here.

mod pair;

use carrousel_error as E;
use carrousel_ffi::*;
use pair::*;
use proptest::prelude::*;
use std::mem::MaybeUninit;
use std::ptr;

#[derive(Clone, Debug)]
enum Input {
    Call(carrousel_call),
    Event(carrousel_event),
    Release(carrousel_handle),
    Claim(carrousel_pattern),
    Define(u32, Vec<u32>),
    Forget(u32),
    Window(Promises),
    WindowCall(u32, WindowCall),
    WindowEvent(u32, carrousel_window_event),
    Announce,
}

/// The promises of a setup.
type Promises = [u32; 4];

#[derive(Clone, Debug)]
struct WindowCall {
    numbers: [u32; 5],
    group: Vec<u32>,
    transfer: carrousel_transfer,
}

fn handle() -> impl Strategy<Value = carrousel_handle> {
    let index = prop_oneof![8 => 0..6_u32, 1 => Just(1 << 31), 1 => Just(3 << 30), 1 => any::<u32>()];
    (index, 0..3_u32).prop_map(|(index, generation)| carrousel_handle { index, generation })
}

fn len() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..64_u64, 4 => Just(1 << 20), 1 => any::<u64>()]
}

fn number(most: u32) -> impl Strategy<Value = u32> {
    prop_oneof![12 => 0..=most, 1 => any::<u32>()]
}

fn call_of() -> impl Strategy<Value = carrousel_call> {
    let first = (number(7), number(3), number(2), number(1), 0..3_u64, len(), number(1));
    (first, (number(8), number(3), 0..9_u32), handle()).prop_map(
        |(first, (collective, root, element), request)| {
            let (kind, peer, communicator, synchronous, tag, len, has_data) = first;
            carrousel_call {
                kind,
                peer: if peer == 3 { CARROUSEL_ANY_SOURCE } else { peer },
                communicator,
                synchronous,
                tag,
                ignore: tag / 2,
                len,
                has_data,
                collective,
                root,
                element,
                request,
                ..Default::default()
            }
        },
    )
}

fn packet_of() -> impl Strategy<Value = carrousel_packet> {
    let numbers = (number(13), number(4), 0..3_u64, 0..2_u64, len(), number(1));
    (numbers, handle(), handle(), (0..4_u32, 0..200_u64, 0..3_u16, 0..3_u16)).prop_map(
        |((kind, hint, tag, ignore, len, has_data), send, receive, (seen, taken, index, ahead))| {
            carrousel_packet {
                kind,
                hint,
                tag,
                ignore,
                len,
                has_data,
                send,
                receive,
                seen,
                taken,
                index,
                ahead,
                ..Default::default()
            }
        },
    )
}

fn window_event_of() -> impl Strategy<Value = carrousel_window_event> {
    let packet = (number(6), number(3), 0..4_u64).prop_map(|(kind, mode, access)| carrousel_window_packet {
        kind,
        mode,
        access,
    });
    (number(7), number(2), packet, number(3), 0..4_u64, (0..6_u64, number(4))).prop_map(
        |(kind, peer, packet, word, value, (age, place))| carrousel_window_event {
            kind,
            peer,
            packet,
            word,
            value,
            operation: carrousel_operation { age, place },
        },
    )
}

fn window_call_of() -> impl Strategy<Value = WindowCall> {
    let transfer = (number(2), number(7), len(), 0..3_u64).prop_map(|(target, kind, len, count)| {
        carrousel_transfer { target, kind, len, count, stride: len, ..Default::default() }
    });
    let numbers = (number(13), number(2), number(3), number(1), number(1));
    (numbers, prop::collection::vec(number(2), 0..3), transfer)
        .prop_map(|(numbers, group, transfer)| WindowCall { numbers: numbers.into(), group, transfer })
}

fn input() -> impl Strategy<Value = Input> {
    let event = (number(6), number(2), number(5), handle(), packet_of()).prop_map(
        |(kind, peer, context, request, packet)| carrousel_event {
            kind,
            peer,
            context: context as u16,
            request,
            packet,
        },
    );
    let pattern = (number(3), 0..6_u16, 0..3_u64, 0..4_u64)
        .prop_map(|(source, context, tag, ignore)| carrousel_pattern { source, context, tag, ignore });
    prop_oneof![
        6 => call_of().prop_map(Input::Call),
        8 => event.prop_map(Input::Event),
        2 => handle().prop_map(Input::Release),
        1 => pattern.prop_map(Input::Claim),
        1 => (number(3), prop::collection::vec(number(2), 0..4)).prop_map(|(at, all)| Input::Define(at, all)),
        1 => number(3).prop_map(Input::Forget),
        1 => prop::array::uniform4(0..2_u32).prop_map(Input::Window),
        5 => (number(1), window_call_of()).prop_map(|(window, call)| Input::WindowCall(window, call)),
        5 => (number(1), window_event_of()).prop_map(|(window, event)| Input::WindowEvent(window, event)),
        1 => Just(Input::Announce),
    ]
}

fn give(rank: *mut carrousel_rank, input: &Input) -> E {
    match input {
        Input::Call(it) => call(rank, it).err().unwrap_or(E::None),
        Input::Event(event) => carrousel_rank_event(rank, Some(event)),
        Input::Release(request) => {
            got(|status| carrousel_rank_release(rank, *request, status)).err().unwrap_or(E::None)
        }
        Input::Claim(pattern) => {
            let (mut request, mut arrived) = (MaybeUninit::uninit(), MaybeUninit::uninit());
            carrousel_rank_claim(rank, Some(pattern), Some(&mut request), Some(&mut arrived))
        }
        Input::Define(number, members) => {
            carrousel_rank_define(rank, *number, members.as_ptr(), members.len())
        }
        Input::Forget(number) => carrousel_rank_forget(rank, *number),
        Input::Window([one, two, three, four]) => {
            let mut setup = got(|setup| carrousel_window_setup_default(setup)).expect("there is one");
            setup.access_after_access = *one;
            setup.access_after_exposure = *two;
            setup.exposure_after_exposure = *three;
            setup.exposure_after_access = *four;
            got(|window| carrousel_rank_create_window(rank, Some(&setup), window)).err().unwrap_or(E::None)
        }
        Input::WindowCall(window, WindowCall { numbers, group, transfer }) => {
            let [kind, target, mode, with_request, is_local] = *numbers;
            let (group_len, group) =
                (group.len(), if group.is_empty() { ptr::null() } else { group.as_ptr() });
            let call = carrousel_window_call {
                kind,
                target,
                mode,
                with_request,
                is_local,
                group_len,
                group,
                transfer: *transfer,
            };
            let (mut called, mut request) = (MaybeUninit::uninit(), MaybeUninit::uninit());
            carrousel_rank_window_call(rank, *window, Some(&call), Some(&mut called), Some(&mut request))
        }
        Input::WindowEvent(window, event) => carrousel_rank_window_event(rank, *window, Some(event)),
        Input::Announce => match got(|request| carrousel_rank_may_announce(rank, request)) {
            Ok(request) => {
                let kind = carrousel_event_kind::Announce as u32;
                carrousel_rank_event(rank, Some(&carrousel_event { kind, request, ..Default::default() }))
            }
            Err(error) => error,
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_input_finds_a_mistake(inputs in prop::collection::vec(input(), 0..60), drains in any::<u64>()) {
        let mut rank = create(None, 0, 2).expect("it can be made");
        for (at, input) in inputs.iter().enumerate() {
            let error = give(rank, input);
            prop_assert!(error != E::Failed, "{:?}", input);
            prop_assert!(error != E::OutOfMemory, "{:?}", input);
            // Sometimes a host forgets to take the work.
            if drains >> (at % 64) & 7 != 0 {
                while next_work(rank).is_ok() {}
            }
        }
        prop_assert_eq!(carrousel_rank_free(Some(&mut rank)), E::None);
    }
}
