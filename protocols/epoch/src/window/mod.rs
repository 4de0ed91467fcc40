//! The window: what it is told goes in here, and its parts below decide.

mod activate;
mod close;
mod death;
mod end;
mod flush;
mod grants;
mod host;
mod input;
mod lists;
mod open;
mod staging;
mod state;
mod transfer;
mod view;

pub use state::Window;
pub use view::{EpochView, OriginView, TargetView};
