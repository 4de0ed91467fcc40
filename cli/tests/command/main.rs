//! The command, as those meet it who run it.

mod app;
mod bench;
mod check;
mod commands;
mod common;
mod explore;
mod jobs;
mod limits;
mod run;
mod usage;
mod verify;
