//! Requests that nobody should send, by the ten thousand, against the real edge: whatever is asked, nobody reads or changes
//! what is not theirs, nothing fails inside, and every refusal says why in the one shape that errors have.
//!
//! Each try is made of the seed and its own number alone, so one that went wrong can be made again by itself.

mod credentials;
mod oracle;
mod request;
mod sample;
mod summary;
mod wire;
mod world;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub use oracle::Violation;
pub use summary::Summary;
pub use world::World;

use crate::harness::Edge;
use crate::sim::random::Random;
use request::Vocabulary;
use wire::Connection;

/// How much is tried, and of what.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The first try's number.
    pub from: u64,
    /// How many tries.
    pub tries: u64,
    /// Decides all of them.
    pub seed: u64,
    /// Connections at once.
    pub connections: usize,
    /// Prints every request and its answer.
    pub verbose: bool,
}

/// Tries between two looks at what must not have changed.
const LOOK_EVERY: u64 = 1_000;

/// Boots an edge, fills it, tries, and says what came of it.
///
/// # Panics
/// The edge does not come up, or does not do what well-behaved callers ask.
pub fn run(options: Options) -> Summary {
    let edge = Edge::start();
    let world = World::fill(&edge);
    let vocabulary = Vocabulary::new(&world);
    let untouched = world.snapshot(&edge);
    let summary = Mutex::new(Summary::default());
    let (mut from, end) = (options.from, options.from + options.tries);
    while from < end && summary.lock().unwrap_or_else(std::sync::PoisonError::into_inner).violation.is_none()
    {
        let until = (from + LOOK_EVERY).min(end);
        let next = AtomicU64::new(from);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..options.connections.max(1) {
                scope.spawn(|| {
                    let mut connection = Connection::new(edge.port());
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= until || stop.load(Ordering::Relaxed) {
                            break;
                        }
                        let outcome = one(&mut connection, &world, &vocabulary, options, number);
                        let mut summary = summary.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                        summary.add(outcome);
                        if summary.violation.is_some() {
                            stop.store(true, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        if let Some(change) = world::difference(&untouched, &world.snapshot(&edge)) {
            summary.lock().unwrap_or_else(std::sync::PoisonError::into_inner).violation.get_or_insert(
                Violation {
                    number: from,
                    rule: "what is not theirs was changed",
                    what: format!("by one of the tries {from} to {}: {change}", until - 1),
                },
            );
        }
        from = until;
    }
    let mut summary = summary.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if summary.violation.is_some() {
        summary.log = edge.log();
    }
    summary
}

/// What came of one try.
struct Outcome {
    kind: String,
    answer: String,
    violation: Option<Violation>,
}

fn one(
    connection: &mut Connection,
    world: &World,
    vocabulary: &Vocabulary,
    options: Options,
    number: u64,
) -> Outcome {
    let mut random = Random::new(options.seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let request = request::draw(&mut random, world, vocabulary);
    let answer = connection.ask(&request);
    if options.verbose {
        println!("{number}: {}\n    {:?}", request.describe(), answer.as_ref().map(wire::Answer::describe));
    }
    let violation = oracle::check(world, &request, answer.as_ref()).map(|(rule, what)| Violation {
        number,
        rule,
        what: format!("{}\n{what}", request.describe()),
    });
    let code = answer.as_ref().map_or_else(|error| error.clone(), oracle::name_of);
    Outcome { kind: request.kind(), answer: code, violation }
}
