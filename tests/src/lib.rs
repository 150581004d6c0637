//! minifleet as a whole: what the tests and the benches of the whole system share. See `docs/performance.md` for the
//! benches and `CONTRIBUTING.md` for how to run the tests.

pub mod fuzz;
pub mod harness;
pub mod measures;
pub mod protocol_schema;
pub mod quality;
pub mod recordings;
pub mod reference_run;
pub mod schemathesis;
pub mod sim;
