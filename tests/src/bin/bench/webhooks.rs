//! Webhooks under load on the real runtime: how long events take to nine good backends beside one that hangs and without it, how many
//! go out in a second, and that none of them is lost, out of order, or signed wrongly.
//!
//! Two edges take turns, one of them with the hanging backend as its tenth, so that whatever slows the machine slows both.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use conformance::harness::{Edge, EdgeOptions, Keys, WebhookAnswer, WebhookReceiver, until};
use edge::api::call::{Announced, Call, Reply};
use edge::outbox::{EventId, EventKind};
use serde_json::{Value, json};
use shared_protocol::{GenerationId, JobId, TenantId, TimestampMs};

use super::report::{Options, Report, percentile};

/// How much slower the slowest events to good backends may be for the hanging one.
const MAX_RATIO: f64 = 1.5;

const GOOD: usize = 9;

/// News of one job, in order.
const STORY: [EventKind; 4] =
    [EventKind::AudioReady, EventKind::AudioReady, EventKind::AudioReady, EventKind::GenerationCompleted];

/// Of what the outbox can send, so much is asked of it while the time of events is measured: more would measure the queue before it.
const LOAD: f64 = 0.4;

/// Jobs that are told of at once.
const AT_ONCE: usize = 2;

/// Until the last of a round's events is there. It hides no loss: what a deadline of the outbox saves is counted as late.
const PATIENCE: Duration = Duration::from_secs(120);

const VARS: &[(&str, &str)] = &[("WEBHOOK_ALLOW_PRIVATE", "true")];

/// Loads of one size, in events; each goes to every backend.
struct Size {
    burst: usize,
    rounds: usize,
    events_a_round: usize,
}

const FULL: Size = Size { burst: 400, rounds: 10, events_a_round: 480 };
const QUICK: Size = Size { burst: 80, rounds: 2, events_a_round: 80 };

struct Backend {
    receiver: WebhookReceiver,
    verifier: standardwebhooks::Webhook,
}

/// An edge with its backends, and what is known of what it was asked to send.
struct Side {
    edge: Edge,
    good: Vec<Backend>,
    hanging: Option<WebhookReceiver>,
    jobs: usize,
    seconds_of_burst: Vec<f64>,
    milliseconds: Vec<f64>,
    tally: Tally,
}

/// What went wrong, over all rounds.
#[derive(Default)]
struct Tally {
    sent: usize,
    lost: usize,
    duplicates: usize,
    out_of_order: usize,
    badly_signed: usize,
}

/// When each event was handed to the scheduler, in order, by job.
type Told = BTreeMap<String, Vec<(String, Instant)>>;

impl Side {
    fn new(hangs: bool) -> Self {
        let edge = Edge::start_with(EdgeOptions { vars: VARS, ..EdgeOptions::default() });
        let make = |receiver: &WebhookReceiver| {
            let made = edge.api(Keys::ACME).post("/v1/webhooks", &json!({ "url": receiver.url() }));
            let secret =
                made.expect(201).json()["secret"].as_str().expect("a new secret is shown").to_owned();
            standardwebhooks::Webhook::new(&secret).expect("its library takes the secret")
        };
        let hanging = hangs.then(WebhookReceiver::start);
        if let Some(receiver) = &hanging {
            receiver.answer(WebhookAnswer::Hang);
            make(receiver);
        }
        let good = (0..GOOD)
            .map(|_| {
                let receiver = WebhookReceiver::start();
                Backend { verifier: make(&receiver), receiver }
            })
            .collect();
        let (seconds_of_burst, milliseconds) = (vec![], vec![]);
        Self { edge, good, hanging, jobs: 0, seconds_of_burst, milliseconds, tally: Tally::default() }
    }

    /// Tells of so many events, in stories of [`AT_ONCE`] jobs that take turns, at this rate if there is one, and waits until all good
    /// backends have all of them. Gives the time of each, in ms, and that of the whole, in s.
    fn round(&mut self, events: usize, events_a_second: Option<f64>) -> (Vec<f64>, f64) {
        let begun = Instant::now();
        let mut told = Told::new();
        let stories = events / STORY.len() / AT_ONCE;
        for _ in 0..stories {
            let jobs: Vec<usize> = (0..AT_ONCE).map(|n| self.jobs + n).collect();
            self.jobs += AT_ONCE;
            for (step, kind) in STORY.into_iter().enumerate() {
                let calls: Vec<Call> = jobs.iter().map(|job| announcement(*job, step, kind)).collect();
                if let Some(rate) = events_a_second {
                    let due = told.values().map(Vec::len).sum::<usize>() as f64 / rate;
                    std::thread::sleep(Duration::from_secs_f64(due).saturating_sub(begun.elapsed()));
                }
                let now = Instant::now();
                for job in &jobs {
                    told.entry(job_name(*job)).or_default().push((event_name(*job, step), now));
                }
                let replies = self.edge.call_scheduler(&calls);
                assert!(replies.iter().all(|reply| *reply == Reply::Announced), "{replies:?}");
            }
        }
        let count: usize = told.values().map(Vec::len).sum();
        let complete = |good: &Backend| good.receiver.count() >= count;
        let mut waited = Duration::ZERO;
        while !self.good.iter().all(complete) && waited < PATIENCE {
            waited += Duration::from_millis(5);
            std::thread::sleep(Duration::from_millis(5));
        }
        let seconds = begun.elapsed().as_secs_f64();
        // Nothing of this round may come in the next one.
        let all_is_booked = || {
            let webhooks = self.edge.api(Keys::ACME).get("/v1/webhooks").expect(200).json();
            let mut waiting = webhooks["webhooks"].as_array()?.iter().filter(|one| one["waiting"] != 0);
            let left = waiting.by_ref().count();
            (left <= usize::from(self.hanging.is_some())).then_some(())
        };
        until("every acknowledgement is booked", PATIENCE, all_is_booked);
        let times = self.take(&told);
        (times, seconds)
    }

    /// Takes what came in, checks it, and gives the time of each event.
    fn take(&mut self, told: &Told) -> Vec<f64> {
        let mut times = vec![];
        for backend in &self.good {
            let mut seen: BTreeSet<String> = BTreeSet::new();
            let mut by_job: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for request in backend.receiver.take() {
                if backend.verifier.verify(&request.body, &request.headers).is_err() {
                    self.tally.badly_signed += 1;
                }
                let (job, event) = (request.job(), request.id().to_owned());
                if !seen.insert(event.clone()) {
                    self.tally.duplicates += 1;
                    continue;
                }
                let begun = told.get(&job).and_then(|events| events.iter().find(|(id, _)| *id == event));
                let (_, begun) = begun.expect("nothing else was told of in this round");
                times.push((request.at - *begun).as_secs_f64() * 1e3);
                by_job.entry(job).or_default().push(event);
            }
            for (job, events) in told {
                let came = by_job.get(job).cloned().unwrap_or_default();
                let expected: Vec<String> = events.iter().map(|(id, _)| id.clone()).collect();
                self.tally.sent += expected.len();
                self.tally.lost += expected.len() - came.len();
                if !expected.iter().filter(|id| came.contains(id)).eq(came.iter()) {
                    self.tally.out_of_order += 1;
                }
            }
        }
        times
    }
}

fn job_name(job: usize) -> String {
    format!("job_{job}")
}

fn event_name(job: usize, step: usize) -> String {
    format!("msg_{job}_{step}")
}

fn announcement(job: usize, step: usize, kind: EventKind) -> Call {
    let generation = GenerationId::new(format!("gen_{job}")).expect("it is short");
    // As large as a real one.
    let notes = "A recording of some kind, as its owner calls it. ".repeat(10);
    Call::Announce(Box::new(Announced {
        id: EventId::new(event_name(job, step)).expect("it is short"),
        tenant: TenantId::new("acme").expect("it is short"),
        job_id: JobId::new(job_name(job)).expect("it is short"),
        generation: generation.clone(),
        kind,
        at: TimestampMs(1_796_000_000_000),
        only: None,
        data: json!({ "tenant": "acme", "jobId": job_name(job), "generationId": generation, "notes": notes }),
    }))
}

/// Measures.
pub fn run(options: &Options) -> Report {
    let size = if options.quick { QUICK } else { FULL };
    let mut sides = [Side::new(false), Side::new(true)];
    // What an edge can do, and the warming up of both.
    for _ in 0..2 {
        for side in &mut sides {
            let (_, seconds) = side.round(size.burst, None);
            side.seconds_of_burst.push(seconds);
            eprintln!("{} events to {GOOD} good backends in {seconds:.2} s", size.burst);
        }
    }
    let throughput = sides.each_ref().map(|side| {
        let best = side.seconds_of_burst.iter().copied().fold(f64::INFINITY, f64::min);
        (size.burst * GOOD) as f64 / best
    });
    let rate = throughput[0] * LOAD / GOOD as f64;
    for round in 0..size.rounds {
        for side in &mut sides {
            let (times, _) = side.round(size.events_a_round, Some(rate));
            let (half, most) = (percentile(&times, 0.5), percentile(&times, 0.99));
            let hangs = side.hanging.is_some();
            eprintln!(
                "round {round}, hanging {hangs}: p50 {half:.1} ms, p99 {most:.1} ms of {}",
                times.len()
            );
            side.milliseconds.extend(times);
        }
    }
    report(&sides, throughput, rate)
}

fn report(sides: &[Side; 2], throughput: [f64; 2], rate: f64) -> Report {
    let shares = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)];
    let mut rows = vec![];
    let mut runs = vec![];
    let mut worst = 0.0_f64;
    for (name, share) in shares {
        let [without, with] = sides.each_ref().map(|side| percentile(&side.milliseconds, share));
        worst = worst.max(with / without);
        let cells = [format!("{without:.1} ms"), format!("{with:.1} ms"), format!("{:.2}", with / without)];
        rows.push(row(&format!("time to a good backend, {name}"), cells));
    }
    let [without, with] = throughput;
    let cells = [format!("{without:.0}"), format!("{with:.0}"), format!("{:.2}", with / without)];
    rows.push(row("deliveries a second, when all come at once", cells));
    type Count = fn(&Tally) -> usize;
    let counts: [(&str, Count); 5] = [
        ("deliveries", |tally| tally.sent),
        ("lost", |tally| tally.lost),
        ("more than once", |tally| tally.duplicates),
        ("jobs out of order", |tally| tally.out_of_order),
        ("wrongly signed", |tally| tally.badly_signed),
    ];
    for (name, count) in counts {
        let [without, with] = sides.each_ref().map(|side| count(&side.tally).to_string());
        rows.push(row(name, [without, with, String::new()]));
    }
    for side in sides {
        let hanging = side.hanging.as_ref().map(WebhookReceiver::count);
        runs.push(json!({
            "hanging": hanging.is_some(),
            "requestsToTheHangingOne": hanging,
            "eventsASecond": rate,
            "milliseconds": side.milliseconds,
            "secondsOfBursts": side.seconds_of_burst,
        }));
    }
    let wrong: usize =
        sides.iter().map(|side| side.tally.lost + side.tally.out_of_order + side.tally.badly_signed).sum();
    Report {
        columns: vec!["what", "nine good", "nine good, one hangs", "ratio"],
        rows,
        runs: runs.into_iter().collect::<Vec<Value>>(),
        figure: format!(
            "{worst:.2} times as long beside one that hangs, {wrong} lost, out of order or wrongly signed"
        ),
        goal: "at most 1.5 times, none",
        met: worst <= MAX_RATIO && wrong == 0,
    }
}

fn row(name: &str, cells: [String; 3]) -> Vec<String> {
    std::iter::once(name.to_owned()).chain(cells).collect()
}
