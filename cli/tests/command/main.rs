//! The command as its users meet it.

mod app;
mod bench;
mod check;
mod commands;
mod common;
mod explore;
mod hostile;
mod jobs;
mod limits;
mod refused_calls;
mod run;
mod schema;
mod usage;
mod verify;
