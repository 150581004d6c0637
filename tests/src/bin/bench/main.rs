//! Every measurement of the project. `scripts/bench` builds what is needed and runs this.
//!
//! A bench prints a table and, as the very last line, `NAME: figure (goal ...) met` or `missed`.

mod aimd;
mod batch;
mod burst;
mod cold_start;
mod copies;
mod cost;
mod dispatch;
mod engines;
mod first_audio;
mod head_of_line;
mod memory;
mod one_engine;
mod overlap;
mod process;
mod put;
mod quality;
mod recovery;
mod report;
mod samplers;
mod scorer;
mod soak;
mod speed;
mod stall;
mod stems;
mod trace;
mod trace_picture;
mod uploads;
mod webhooks;

use report::{Options, Report};
use std::{path::PathBuf, process::ExitCode};

/// One measurement.
struct Bench {
    name: &'static str,
    about: &'static str,
    run: fn(&Options) -> Report,
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "first-audio",
        about: "from the end of the upload to the first decoded audio and to the end, through the whole system",
        run: first_audio::run,
    },
    Bench {
        name: "speed",
        about: "the model alone: real-time factor and memory, against the authors' own runtime",
        run: speed::run,
    },
    Bench {
        name: "engines",
        about: "every engine on one core: speed, memory, and how far its output is from ONNX Runtime's",
        run: engines::run,
    },
    Bench {
        name: "batch",
        about: "windows of several jobs in one run of the network against one after the other (MLX)",
        run: batch::run,
    },
    Bench {
        name: "copies",
        about: "two copies of the model with a job each against one that four jobs share",
        run: copies::run,
    },
    Bench {
        name: "cold-start",
        about: "from nothing to ready, step by step, and the first job against later ones",
        run: cold_start::run,
    },
    Bench {
        name: "quality",
        about: "how recordings of real speech in noise sound before and after restoring",
        run: quality::run,
    },
    Bench {
        name: "samplers",
        about: "flash and pro against RNNoise and ffmpeg's afftdn: speed, memory and quality on the same recordings",
        run: samplers::run,
    },
    Bench {
        name: "burst",
        about: "six uploads at once through an emulated line: one slot against six, and what is possible",
        run: burst::run,
    },
    Bench {
        name: "head-of-line",
        about: "a short recording behind a long one, by windows and by whole recordings; six long ones at once",
        run: head_of_line::run,
    },
    Bench {
        name: "stall",
        about: "what unanswered requests cost, and a completion that is lost with its socket",
        run: stall::run,
    },
    Bench {
        name: "stems",
        about: "stems one after another against eight at a time, with 0.4 s for each PUT",
        run: stems::run,
    },
    Bench {
        name: "aimd",
        about: "the adaptive limit of uploads against fixed ones, on lines that fail more and less",
        run: aimd::run,
    },
    Bench {
        name: "put",
        about: "a PUT allowed by its ticket, against one that asks the scheduler's object first",
        run: put::run,
    },
    Bench {
        name: "memory",
        about: "an hour against a minute: the worker's memory, and the bytes against a restore without streaming",
        run: memory::run,
    },
    Bench {
        name: "scorer",
        about: "the time of a job whose worker scores what it completes, against one whose worker does not",
        run: scorer::run,
    },
    Bench {
        name: "soak",
        about: "many jobs: memory, descriptors, threads, programs and disk before, at the peak and after",
        run: soak::run,
    },
    Bench {
        name: "dispatch",
        about: "the scheduler under load: submission to offer, transitions a second, a burst, a flood, memory",
        run: dispatch::run,
    },
    Bench {
        name: "recovery",
        about: "how soon things are well after a worker vanished, the edge was killed, a fleet lost its scheduler",
        run: recovery::run,
    },
    Bench {
        name: "trace",
        about: "where the time of a generation goes, with a real recogniser, here and behind two lines; a picture in target/trace.svg",
        run: trace::run,
    },
    Bench {
        name: "cost",
        about: "what one whole job costs, in what the platform bills: requests, frames, alarms, rows",
        run: cost::run,
    },
    Bench {
        name: "webhooks",
        about: "events to nine good backends beside one that hangs and without it: time, order, signatures, throughput",
        run: webhooks::run,
    },
];

const USAGE: &str = "usage: bench NAME [--quick | --full] [--json FILE] | --list";

fn main() -> ExitCode {
    let mut name = None;
    let mut options = Options { quick: false, full: false };
    let mut json: Option<PathBuf> = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--list" => {
                for bench in BENCHES {
                    println!("{:<12} {}", bench.name, bench.about);
                }
                return ExitCode::SUCCESS;
            }
            "--quick" => options.quick = true,
            "--full" => options.full = true,
            "--json" => match arguments.next() {
                Some(path) => json = Some(path.into()),
                None => return wrong("--json needs a file"),
            },
            // Measured in a process of its own, so that its memory is its own.
            one_engine::CHILD => return one_engine::child(&mut arguments),
            copies::CHILD => return copies::child(&mut arguments),
            cold_start::CHILD => return cold_start::child(&mut arguments),
            samplers::CHILD => return samplers::child(&mut arguments),
            other if name.is_none() && !other.starts_with('-') => name = Some(other.to_owned()),
            other => return wrong(&format!("what is {other:?}?")),
        }
    }
    let Some(name) = name else { return wrong("which bench?") };
    let Some(bench) = BENCHES.iter().find(|bench| bench.name == name) else {
        return wrong(&format!("there is no bench {name:?}; --list shows those that there are"));
    };
    let report = (bench.run)(&options);
    if let Some(path) = json
        && let Err(error) = std::fs::write(&path, report.to_json(bench.name, &options))
    {
        eprintln!("cannot write {}: {error}", path.display());
        return ExitCode::FAILURE;
    }
    print!("{}", report.to_text(bench.name));
    ExitCode::SUCCESS
}

fn wrong(what: &str) -> ExitCode {
    eprintln!("{what}\n{USAGE}");
    ExitCode::from(2)
}
