//! What the papers say of their figures is true here, with as few points as the relations need.

use carrousel_figures::{Entry, FAMILIES, Points};
use std::collections::BTreeSet;

/// Draws each figure of a family; its relations hold.
fn relations_hold(name: &str) {
    let family = FAMILIES.iter().find(|family| family.name == name).expect("there is such a family");
    let mut broken = String::new();
    for Entry { id, draw } in family.figures {
        let figure = draw(Points::Few).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(figure.id, *id);
        assert!(!figure.relations.is_empty(), "{id}: nothing is said of it");
        assert!(
            figure.panels.iter().all(|panel| panel.series.iter().any(|series| !series.points.is_empty())),
            "{id}"
        );
        for relation in figure.broken() {
            broken += &format!("{id}: {} ({})\n", relation.says, relation.by);
        }
    }
    assert!(broken.is_empty(), "these do not hold:\n{broken}");
}

#[test]
fn of_epochs_that_never_block() {
    relations_hold("NB");
}

#[test]
fn of_the_order_within_an_epoch() {
    relations_hold("IE");
}

#[test]
fn of_the_speculative_rendezvous() {
    relations_hold("SR");
}

#[test]
fn of_arrival_orders() {
    relations_hold("SI");
}

#[test]
fn every_family_is_tested_and_every_figure_has_a_number_of_its_own() {
    let names: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
    assert_eq!(names, ["NB", "IE", "SR", "SI"], "a further family has a test here");
    let mut ids = BTreeSet::new();
    for family in FAMILIES {
        for Entry { id, .. } in family.figures {
            assert!(id.starts_with(family.name) && ids.insert(id), "{id}");
        }
    }
}
