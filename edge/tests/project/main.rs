//! A project's brain, through its public commands only.

mod cancelling;
mod joining;
mod restarting;
mod rig;
mod uploading;
