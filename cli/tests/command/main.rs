//! The command as its users meet it.

mod app;
mod bench;
mod check;
mod commands;
mod common;
mod explore;
mod fi;
mod info;
mod jobs;
mod limits;
mod run;
mod schema;
mod usage;
mod verify;
