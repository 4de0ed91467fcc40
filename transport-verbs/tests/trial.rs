//! Messages that are sent to see what they cost, over an adapter that is none.
#![cfg(feature = "verbs")]

mod fake;

use carrousel_transport_verbs::{Choice, Device, LoanTrial};
use fake::Adapter;

#[test]
fn a_message_comes_copied_and_lent() {
    let choice = Choice { device: Some(Adapter(0).name()), ..Choice::default() };
    let device = Device::open(&choice).expect("it is there");
    let mut trial = LoanTrial::new(&device, 512).expect("it reaches itself");
    for lent in [false, true, true, false] {
        let before = Adapter(0).doorbells();
        trial.send(512, lent).expect("it comes");
        assert_eq!(Adapter(0).doorbells() - before, 1, "of one message, lent: {lent}");
    }
    // Credits come back for as many as there are.
    (0..1000).for_each(|count| trial.send(512, count % 2 == 0).expect("it comes"));
    Adapter(0).cut();
    for lent in [false, true] {
        let error = trial.send(512, lent).expect_err("nothing comes").to_string();
        assert!(error.starts_with("sending a message within the device: "), "{error}");
    }
}
