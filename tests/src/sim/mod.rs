//! A whole fleet in one thread and a made-up time: the real brains of scheduler and worker session, and around them a
//! network, processes, a store, operators and clients that do what real ones do on bad days.
//!
//! A run has two phases. First the faults that its seed chose; then they end, everybody is connected, and everything
//! has to end too. Checks, one file each in [`checks`], look at every step from outside of both brains.
//!
//! The same seed gives the same run, to the byte: one `u64` feeds one stream of random numbers, nothing reads a clock, and
//! nothing iterates in an order that is not its own.

mod agenda;
mod backend;
mod checks;
mod clients;
pub mod command;
mod disturb;
mod fault;

mod mutant_list;
mod mutants;
mod network;
mod object;
mod operators;
mod plan;
pub mod random;
mod store;
mod trace;
mod turn;
mod worker;
mod worker_life;
mod world;

pub use world::{Report, Violation, run_seed};
