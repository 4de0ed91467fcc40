//! x
pub mod model;
pub mod program;
pub mod state;
pub mod step;
pub mod chart;
pub mod explore;
pub mod report;
pub mod scenario;
mod facts;
mod reduce;
