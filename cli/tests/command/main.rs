//! The command as its users meet it.

mod app;
mod bench;
mod check;
mod commands;
mod common;
mod explore;
mod fi;
mod hostile;
mod info;
mod jobs;
mod limits;
mod refused_calls;
mod run;
mod schema;
mod usage;
mod verify;
