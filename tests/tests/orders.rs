//! The register of the orders that `verify --portable` takes for granted: it has all of them, each has a section of MPI, and
//! each is needed, as its scenario is proven with it and not without it.

use carrousel_scenario::load;
use carrousel_verify::explore::Limits;
use carrousel_verify::report::Verdict;
use carrousel_verify::run::{Request, check};
use carrousel_verify::weakest::{Order, REGISTER};
use serde::Deserialize;

#[derive(Deserialize)]
struct Orders {
    order: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    /// Of MPI-4.1.
    section: String,
    says: String,
    /// The check that is violated without it; empty if it cannot be switched off.
    #[serde(default)]
    finds: String,
    scenario: String,
}

fn register() -> Vec<Entry> {
    let register: Orders = toml::from_str(REGISTER).unwrap_or_else(|error| panic!("{error}"));
    register.order
}

/// The checks that are violated, the note among them.
fn violated(entry: &Entry, without: Option<&str>, reduce: bool) -> Vec<&'static str> {
    let scenario =
        load(&entry.id, entry.scenario.as_bytes()).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let limits = Limits { threads: 1, ..Limits::default() };
    let without = without.map(ToOwned::to_owned);
    let request = Request { portable: true, reduce, without, limits, ..Request::default() };
    let report = check(&scenario, &request).unwrap_or_else(|error| panic!("{}: {error}", entry.id));
    assert!(report.exhaustive, "{}", entry.id);
    let violated = report.checks.iter().filter(|check| check.verdict == Verdict::Violated);
    violated.map(|check| check.name).collect()
}

#[test]
fn the_register_and_the_code_have_the_same_orders() {
    let register = register();
    for entry in &register {
        assert!(!entry.section.is_empty() && entry.says.ends_with('.'), "{}", entry.id);
        assert_eq!(
            entry.id.parse::<Order>().is_ok(),
            !entry.finds.is_empty(),
            "{} is switched off by name",
            entry.id
        );
    }
    for order in Order::ALL {
        assert_eq!(register.iter().filter(|entry| entry.id == order.name()).count(), 1, "{order}");
    }
}

#[test]
fn each_order_is_needed() {
    for entry in register() {
        for reduce in [true, false] {
            assert_eq!(violated(&entry, None, reduce), [""; 0], "{}, reduced: {reduce}", entry.id);
            if !entry.finds.is_empty() {
                let found = violated(&entry, Some(&entry.id), reduce);
                assert!(found.contains(&&*entry.finds), "{} off, reduced: {reduce}: {found:?}", entry.id);
            }
        }
    }
}
