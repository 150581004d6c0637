//! `flash` and `pro` beside RNNoise and ffmpeg's `afftdn`, on the same recordings: what each costs and what it gains.
//!
//! Each method restores all recordings, and a minute for its speed, in a process of its own. Speed is processor time and not
//! time by the clock, so what else the machine does hurts less.

use conformance::{
    measures::{delay_between, si_sdr},
    quality::{Perceptual, load_scorer, perceptual, score},
    recordings::{RecordingSet, decode, mix, wav},
};
use mini_worker::{
    inference::{channel::Channel, onnx::OnnxEngine},
    scorer::Scores,
    storage::{Bundle, Home},
};
use nnnoiseless::DenoiseState;
use serde_json::{Value, json};
use shared_protocol::Sampler;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use super::process::cpu_seconds;
use super::report::{Options, Report, own_peak_memory_bytes};

/// The argument with which this program runs one method.
pub const CHILD: &str = "--measure-sampler";

/// Ours, and what they are compared with.
const METHODS: [&str; 4] = ["flash", "pro", "RNNoise", "afftdn"];

/// ffmpeg's spectral denoiser, told to follow the noise.
const AFFTDN: &str = "afftdn=nr=20:tn=1";

/// Sets of mixtures: noise and ratio in dB.
const SETS: [(&str, i32); 6] =
    [("babble", 5), ("water", 5), ("train", 5), ("forest", 5), ("hall-train", 10), ("water", 20)];

/// Samples at a time, as in the worker: two seconds.
const WINDOW: usize = 96_000;

/// What of a room's answer belongs to the voice: 50 ms, in samples.
const EARLY: usize = 2_400;

/// Methods may be late by at most so much, samples.
const LATEST: usize = 1_500;

struct Case {
    set: String,
    mixture: PathBuf,
    reference: Vec<f32>,
}

#[derive(Clone, Copy)]
struct Quality {
    scores: Scores,
    si_sdr: f64,
    perceptual: Perceptual,
}

/// Measures.
pub fn run(options: &Options) -> Report {
    let home = Home::locate().unwrap_or_else(|error| panic!("{error}"));
    let set = RecordingSet::ready().unwrap_or_else(|error| panic!("{error}"));
    let cases = cases(&set, options.quick);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let references: Vec<PathBuf> =
        cases.iter().enumerate().map(|(i, _)| folder.path().join(format!("reference-{i}.wav"))).collect();
    for (case, path) in cases.iter().zip(&references) {
        wav::write(path, 1, &case.reference).unwrap_or_else(|error| panic!("{error}"));
    }
    let minute = set.long(if options.quick { "10s" } else { "60s" });
    let mut costs: BTreeMap<&str, Value> = BTreeMap::new();
    let mut outputs: BTreeMap<&str, Vec<PathBuf>> = BTreeMap::new();
    outputs.insert("", cases.iter().map(|case| case.mixture.clone()).collect());
    for method in METHODS {
        costs.insert(method, measure(method, &minute, &cases, folder.path()));
        let path = |index| folder.path().join(format!("{method}-{index}.wav"));
        outputs.insert(method, (0..cases.len()).map(path).collect());
    }
    let mut qualities: BTreeMap<&str, Vec<Quality>> = BTreeMap::new();
    for (method, files) in &outputs {
        qualities.insert(method, judge(&home, files, &cases, &references, folder.path()));
    }
    report(&cases, &costs, &qualities)
}

fn report(cases: &[Case], costs: &BTreeMap<&str, Value>, qualities: &BTreeMap<&str, Vec<Quality>>) -> Report {
    let mean = |method: &str, wanted: &dyn Fn(&Case) -> bool| -> [f64; 6] {
        let chosen: Vec<&Quality> =
            cases.iter().zip(&qualities[method]).filter(|(case, _)| wanted(case)).map(|(_, q)| q).collect();
        let of = |pick: fn(&Quality) -> f64| {
            chosen.iter().map(|quality| pick(quality)).sum::<f64>() / chosen.len() as f64
        };
        [
            of(|q| q.scores.overall),
            of(|q| q.scores.signal),
            of(|q| q.scores.background),
            of(|q| q.si_sdr),
            of(|q| q.perceptual.estoi),
            of(|q| q.perceptual.pesq),
        ]
    };
    let cells = |values: [f64; 6]| -> Vec<String> {
        values.iter().zip([2, 2, 2, 2, 3, 2]).map(|(value, digits)| format!("{value:.digits$}")).collect()
    };
    let mut rows = Vec::new();
    let mut row = |name: String, cost: [String; 3], values: [f64; 6]| {
        rows.push([name].into_iter().chain(cost).chain(cells(values)).collect::<Vec<String>>());
    };
    let dash = || ["-", "-", "-"].map(str::to_owned);
    // All sets are of one size, so this is the balanced mean.
    row("recording".to_owned(), dash(), mean("", &|_| true));
    for method in METHODS {
        let factor = costs[method]["realTimeFactor"].as_f64().unwrap_or(f64::NAN);
        let memory = costs[method]["peakMemoryBytes"].as_f64().unwrap_or(f64::NAN) / 1e6;
        let cost = [format!("{factor:.4}"), format!("{:.1}x", 1.0 / factor), format!("{memory:.0} MB")];
        row(method.to_owned(), cost, mean(method, &|_| true));
    }
    let difference = |wanted: &dyn Fn(&Case) -> bool| {
        let (flash, pro) = (mean("flash", wanted), mean("pro", wanted));
        std::array::from_fn(|index| pro[index] - flash[index])
    };
    for (noise, snr) in SETS {
        let name = format!("{noise} {snr} dB");
        if !cases.iter().any(|case| case.set == name) {
            continue;
        }
        row(format!("pro less flash, {name}"), dash(), difference(&|case| case.set == name));
    }
    let all: [f64; 6] = difference(&|_| true);
    row("pro less flash".to_owned(), dash(), all);
    let speed = |method: &str| 1.0 / costs[method]["realTimeFactor"].as_f64().unwrap_or(f64::NAN);
    let (flash, pro) = (speed("flash"), speed("pro"));
    Report {
        columns: vec![
            "method",
            "real-time factor",
            "times real time",
            "peak memory",
            "OVRL",
            "SIG",
            "BAK",
            "SI-SDR dB",
            "ESTOI",
            "PESQ",
        ],
        rows,
        runs: costs.values().cloned().collect(),
        figure: format!(
            "pro {:+.2} dB SI-SDR, {:+.3} ESTOI, {:+.2} PESQ against flash; {flash:.1} and {pro:.1} times real time",
            all[3], all[4], all[5]
        ),
        goal: "+0.5 dB, +0.01, not lower; flash 30 and pro 11 times real time on one core",
        met: all[3] >= 0.5 && all[4] >= 0.01 && all[5] >= 0.0 && flash >= 30.0 && pro >= 11.0,
    }
}

/// Mixtures whose clean speech is known; in a room the reference is the voice with the first 50 ms of its echo.
fn cases(set: &RecordingSet, quick: bool) -> Vec<Case> {
    let all = set.noisy().unwrap_or_else(|error| panic!("{error}"));
    let wanted = |noise: &str, snr: i32| SETS.contains(&(noise, snr)) && (!quick || snr == 5);
    let speech = |name: &str| name != "en-debate" && (!quick || name == "en-novel" || name == "vad-test");
    all.into_iter()
        .filter(|noisy| wanted(&noisy.noise, noisy.snr_db) && speech(&noisy.speech))
        .map(|noisy| {
            let read = |path: &Path| wav::read(path).unwrap_or_else(|error| panic!("{error}")).1;
            let mut reference = read(&noisy.clean);
            if let Some((room, _)) = noisy.noise.split_once('-') {
                let response = read(&set.folder().join("room").join(format!("{room}.wav")));
                reference = mix::convolve(&reference, &response[..EARLY.min(response.len())]);
            }
            Case { set: format!("{} {} dB", noisy.noise, noisy.snr_db), mixture: noisy.path, reference }
        })
        .collect()
}

fn judge(
    home: &Home,
    files: &[PathBuf],
    cases: &[Case],
    references: &[PathBuf],
    folder: &Path,
) -> Vec<Quality> {
    let mut scorer = load_scorer().unwrap_or_else(|error| panic!("{error}"));
    let mut pairs = Vec::new();
    let mut found = Vec::new();
    for (index, (file, case)) in files.iter().zip(cases).enumerate() {
        let mut samples = decode::mono(file).unwrap_or_else(|error| panic!("{error}"));
        // The delay of a method is looked for in one second out of the middle.
        let middle = (samples.len().min(case.reference.len()) / 2).saturating_sub(WINDOW / 4);
        let part = middle..(middle + WINDOW / 2).min(samples.len()).min(case.reference.len());
        let delay = delay_between(&samples[part.clone()], &case.reference[part], LATEST);
        samples.drain(..usize::try_from(delay).unwrap_or(0).min(samples.len()));
        samples.resize(case.reference.len(), 0.0);
        let aligned = folder.join(format!("aligned-{index}.wav"));
        wav::write(&aligned, 1, &samples).unwrap_or_else(|error| panic!("{error}"));
        let ratio = si_sdr(&samples, &case.reference).unwrap_or(f64::NAN);
        found.push((ratio, score(&mut scorer, &aligned, 2).unwrap_or_else(|error| panic!("{error}"))));
        pairs.push((aligned, references[index].clone()));
    }
    let heard = perceptual(home, &pairs).unwrap_or_else(|error| panic!("{error}"));
    found
        .into_iter()
        .zip(heard)
        .map(|((si_sdr, scores), perceptual)| Quality { scores, si_sdr, perceptual })
        .collect()
}

/// Runs a method in a process of its own.
fn measure(method: &str, minute: &Path, cases: &[Case], folder: &Path) -> Value {
    let own = std::env::current_exe().expect("a running program has a path");
    let files = cases.iter().map(|case| &case.mixture);
    let output = Command::new(own)
        .args([CHILD, method])
        .arg(folder)
        .arg(minute)
        .args(files)
        .output()
        .expect("this program can be run");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{method}: {words}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{method}: {error}: {words}"))
}

/// Restores a recording for its speed and others for their quality, and prints a JSON object.
pub fn child(arguments: &mut impl Iterator<Item = String>) -> ExitCode {
    let (Some(method), Some(folder), Some(minute)) = (arguments.next(), arguments.next(), arguments.next())
    else {
        return ExitCode::from(2);
    };
    let folder = PathBuf::from(folder);
    let files: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    let (factor, memory) = if method == "afftdn" {
        let cost = afftdn(Path::new(&minute), None);
        for (index, file) in files.iter().enumerate() {
            afftdn(file, Some(&folder.join(format!("afftdn-{index}.wav"))));
        }
        cost
    } else {
        let read = |path: &Path| wav::read(path).unwrap_or_else(|error| panic!("{error}")).1;
        let mut method_run = Running::open(&method);
        method_run.restore(&vec![0.001; WINDOW]);
        let audio = read(Path::new(&minute));
        let before = cpu_seconds(std::process::id());
        method_run.restore(&audio);
        let seconds = audio.len() as f64 / 48_000.0;
        let factor = (cpu_seconds(std::process::id()) - before) / seconds;
        let memory = own_peak_memory_bytes();
        for (index, file) in files.iter().enumerate() {
            let restored = method_run.restore(&read(file));
            wav::write(&folder.join(format!("{method}-{index}.wav")), 1, &restored)
                .unwrap_or_else(|error| panic!("{error}"));
        }
        (factor, memory)
    };
    println!("{}", json!({ "method": method, "realTimeFactor": factor, "peakMemoryBytes": memory }));
    ExitCode::SUCCESS
}

enum Running {
    Ours(Box<OnnxEngine>, Sampler),
    RnNoise,
}

impl Running {
    fn open(method: &str) -> Self {
        let sampler = match method {
            "flash" => Sampler::Flash,
            "pro" => Sampler::Pro,
            _ => return Self::RnNoise,
        };
        let home = Home::locate().unwrap_or_else(|error| panic!("{error}"));
        let bundle = Bundle::open(&home).unwrap_or_else(|error| panic!("{error}"));
        let engine = OnnxEngine::load(&bundle, 1).unwrap_or_else(|error| panic!("{error}"));
        Self::Ours(Box::new(engine), sampler)
    }

    fn restore(&mut self, audio: &[f32]) -> Vec<f32> {
        match self {
            Self::Ours(engine, sampler) => {
                let mut channel = Channel::open(&**engine, *sampler, true);
                let mut restored = Vec::with_capacity(audio.len());
                for window in audio.chunks(WINDOW) {
                    let part = channel.restore(&mut **engine, window.to_vec());
                    restored.extend(part.unwrap_or_else(|error| panic!("{error}")));
                }
                restored.extend(channel.finish(&mut **engine).unwrap_or_else(|error| panic!("{error}")));
                restored
            }
            Self::RnNoise => rnnoise(audio),
        }
    }
}

/// RNNoise hears samples of 16 bits.
fn rnnoise(audio: &[f32]) -> Vec<f32> {
    const FULL_SCALE: f32 = 32_768.0;
    let mut state = DenoiseState::new();
    let mut restored = Vec::with_capacity(audio.len());
    let mut input = [0.0; DenoiseState::FRAME_SIZE];
    let mut output = [0.0; DenoiseState::FRAME_SIZE];
    for frame in audio.chunks_exact(DenoiseState::FRAME_SIZE) {
        for (value, sample) in input.iter_mut().zip(frame) {
            *value = sample * FULL_SCALE;
        }
        state.process_frame(&mut output, &input);
        restored.extend(output.map(|sample| sample / FULL_SCALE));
    }
    restored
}

/// Real-time factor and peak memory of ffmpeg, which counts them itself.
fn afftdn(input: &Path, output: Option<&Path>) -> (f64, u64) {
    let mut command = Command::new("ffmpeg");
    command.args(["-hide_banner", "-nostdin", "-benchmark", "-threads", "1", "-y", "-i"]).arg(input);
    command.args(["-af", AFFTDN, "-c:a", "pcm_f32le", "-f"]);
    match output {
        Some(output) => command.arg("wav").arg(output),
        None => command.args(["null", "-"]),
    };
    let done = command.output().expect("ffmpeg is installed");
    let words = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{words}");
    let number = |key: &str| -> f64 {
        let rest = words.rsplit_once(key).map_or("", |(_, rest)| rest);
        let digits = rest.split(|c: char| !(c.is_ascii_digit() || c == '.')).next().unwrap_or_default();
        digits.parse().unwrap_or(f64::NAN)
    };
    let seconds = decode::mono(input).unwrap_or_else(|error| panic!("{error}")).len() as f64 / 48_000.0;
    ((number("utime=") + number("stime=")) / seconds, (number("maxrss=") * 1024.0) as u64)
}
