//! The figures of the papers, reproduced in virtual time: each series beside the paper's number, and what the paper
//! says of it, checked.
//!
//! A figure is a function that runs scenarios in the simulator, with the ranks that ship, and returns a [`Figure`]:
//! series of points, and relations, the sentences of the paper about them, each with the numbers that decide it.
//!
//! **Promises.**
//! - A figure is a function of nothing but [`Points`]: the same numbers in each run.
//! - No series is a formula. A baseline of a paper is an option of the simulator that switches off one rule; an
//!   exception are the equations of a paper, which are its numbers.
//! - A relation compares shapes, with a tolerance that it shows. One that does not hold is a failure of the tests,
//!   which draw each figure with few points. Where ours has another shape, the figure says why.
//! - The paper's numbers are those that its text states; a curve that is only drawn has none.
//!
//! **Leaves to others.** Times of real runs (`carrousel-bench`), and proofs: a figure shows one order of events, but
//! those of races (`rendezvous/races`), which show what the model checker finds without a rule, and that it finds
//! nothing with all of them.
//! **Entry point.** [`FAMILIES`]: a family is a paper, or a part of one, with a folder of its own, in which `series` or
//! `message` is what its figures share; a further figure is a line there. Begin reading at [`Figure`]. `measure` runs
//! scenarios, `chart` and `page` draw, `summary` is the table, `arrivals` adds timelines.
//!
//! ```
//! use carrousel_figures::{FAMILIES, Points};
//! let epochs = FAMILIES.iter().find(|family| family.name == "NB").expect("it is there");
//! let late_post = epochs.figures.iter().find(|entry| entry.id == "NB 2").expect("it is there");
//! let figure = (late_post.draw)(Points::Few)?;
//! assert!(figure.relations.iter().all(|relation| relation.holds));
//! # Ok::<(), carrousel_figures::FigureError>(())
//! ```
#![forbid(unsafe_code)]

mod arrivals;
mod chart;
mod entry;
mod epochs;
mod families;
mod figure;
mod measure;
mod page;
mod programs;
mod rendezvous;
mod scheduling;
mod summary;

pub use chart::svg;
pub use entry::{Entry, Points};
pub use families::{FAMILIES, Family};
pub use figure::{Drawing, Figure, Panel, Place, Point, Relation, Scale, Series};
pub use measure::FigureError;
pub use page::html;
pub use summary::{FamilyDrawn, Reproduction, table};
