//! The simulation's command line.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::{Report, Violation, mutants, run_seed};

const USAGE: &str = "usage: sim run [--seeds N] [--from S] [--jobs J] [--all]
       sim replay SEED [--quiet]
       sim meta [--seeds N]
       sim mutants [--only NAME] [--jobs J]";

/// Does what the arguments ask for. Says whether all was well.
///
/// # Errors
/// What is wrong with the arguments, or with this machine.
pub fn run(arguments: &[String]) -> Result<bool, String> {
    let option = |name: &str| -> Result<Option<u64>, String> {
        let Some(at) = arguments.iter().position(|argument| argument == name) else { return Ok(None) };
        let number = arguments.get(at + 1).and_then(|text| text.parse().ok());
        number.map(Some).ok_or_else(|| format!("{name} needs a number\n{USAGE}"))
    };
    let flag = |name: &str| arguments.iter().any(|argument| argument == name);
    if flag("--help") || flag("-h") {
        println!("{USAGE}");
        return Ok(true);
    }
    let jobs = option("--jobs")?.unwrap_or(2).max(1);
    match arguments.first().map(String::as_str) {
        Some("run") => {
            let (from, seeds) = (option("--from")?.unwrap_or(1), option("--seeds")?.unwrap_or(1_000));
            Ok(run_seeds(from, seeds, jobs, flag("--all")))
        }
        Some("replay") => {
            let seed = arguments.get(1).and_then(|text| text.parse().ok()).ok_or(USAGE)?;
            Ok(replay(seed, flag("--quiet")))
        }
        Some("meta") => meta(option("--seeds")?.unwrap_or(20)),
        Some("mutants") => {
            let only = arguments.iter().position(|argument| argument == "--only");
            let only = only.and_then(|at| arguments.get(at + 1)).map(String::as_str);
            mutants::run(only, jobs)
        }
        _ => Err(USAGE.to_owned()),
    }
}

/// Runs a seed; a panic of a brain is a violation like any other.
fn run_safely(seed: u64, text: bool) -> Report {
    catch_unwind(AssertUnwindSafe(|| run_seed(seed, text))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let violation = Violation { check: "panic".to_owned(), at_ms: 0, what: text.unwrap_or_default() };
        Report { violation: Some(violation), ..Report::empty(seed) }
    })
}

fn run_seeds(from: u64, seeds: u64, jobs: u64, all: bool) -> bool {
    let (next, stop) = (AtomicU64::new(from), AtomicBool::new(false));
    let violations: Mutex<BTreeMap<u64, Violation>> = Mutex::new(BTreeMap::new());
    let totals: Mutex<[u64; 5]> = Mutex::new([0; 5]);
    // What a violation says is printed below; a panic of a brain needs no second text.
    std::panic::set_hook(Box::new(|_| {}));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                let mut sums = [0u64; 5];
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= from.saturating_add(seeds) || stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let report = run_safely(seed, false);
                    let numbers = [1, report.fleet_ms, report.events, report.jobs, report.digest];
                    sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum = sum.wrapping_add(number));
                    if let Some(violation) = report.violation
                        && let Ok(mut violations) = violations.lock()
                    {
                        violations.insert(seed, violation);
                        stop.store(!all && violations.len() >= 5, Ordering::Relaxed);
                    }
                }
                if let Ok(mut totals) = totals.lock() {
                    totals.iter_mut().zip(sums).for_each(|(total, sum)| *total = total.wrapping_add(sum));
                }
            });
        }
    });
    drop(std::panic::take_hook());
    let seconds = begun.elapsed().as_secs_f64();
    let violations = violations.into_inner().unwrap_or_default();
    let [ran, fleet_ms, events, made, digest] = totals.into_inner().unwrap_or_default();
    for (seed, violation) in &violations {
        println!("seed {seed}: {} at {} ms: {}", violation.check, violation.at_ms, violation.what);
        println!("    replay with: cargo run --release -p conformance --bin sim -- replay {seed}");
    }
    let cpu = cpu_seconds().unwrap_or(seconds);
    println!(
        "{ran} seeds, {made} submissions, {events} events, {:.1} hours of fleet time in {seconds:.1} s ({cpu:.1} s of CPU)",
        fleet_ms as f64 / 3.6e6
    );
    println!(
        "{:.1} seeds per second, {:.2} hours of fleet time per CPU second, digest {digest:016x}, {} violations",
        ran as f64 / seconds,
        fleet_ms as f64 / 3.6e6 / cpu,
        violations.len()
    );
    violations.is_empty()
}

/// CPU time of this process, all threads, by the system's own count.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok());
    // Fields 14 and 15 of the whole, in hundredths of a second.
    Some((ticks(11)? + ticks(12)?) / 100.0)
}

fn replay(seed: u64, quiet: bool) -> bool {
    let report = run_seed(seed, !quiet);
    print!("{}", report.trace);
    match &report.violation {
        Some(violation) => {
            println!("seed {seed}: {} at {} ms: {}", violation.check, violation.at_ms, violation.what)
        }
        None => println!("seed {seed}: no violation, digest {:016x}", report.digest),
    }
    report.violation.is_none()
}

/// Equal seeds give equal bytes: twice here, and once more in a process of its own.
fn meta(seeds: u64) -> Result<bool, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let mut same = true;
    for seed in 1..=seeds {
        let (first, second) = (run_seed(seed, true), run_seed(seed, true));
        let output = std::process::Command::new(&program)
            .args(["replay", &seed.to_string()])
            .output()
            .map_err(|error| format!("cannot run {}: {error}", program.display()))?;
        let other = String::from_utf8_lossy(&output.stdout);
        let within = first.trace == second.trace && first.digest == second.digest;
        let across = other.starts_with(&first.trace) && !first.trace.is_empty();
        let silent = run_seed(seed, false).digest == first.digest;
        same &= within && across && silent;
        if !(within && across && silent) {
            println!(
                "seed {seed}: same here {within}, same elsewhere {across}, same without a trace {silent}"
            );
        }
    }
    println!("{seeds} seeds: equal seeds {} equal bytes", if same { "give" } else { "DO NOT give" });
    Ok(same)
}
