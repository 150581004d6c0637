//! `cargo run -p conformance --bin recordings`: makes the recordings that tests and benches use.

use conformance::recordings::manifest::Manifest;
use conformance::recordings::{RecordingSet, RecordingsError, build};
use std::process::ExitCode;

const USAGE: &str = "usage: recordings [--list | --force]

Without an option: makes the recordings unless they are there.
  --list   lists what they are made from: origin, licence, hash
  --force  makes them again";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => make(false),
        ["--force"] => make(true),
        ["--list"] => {
            list();
            Ok(())
        }
        ["--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("recordings: {error}");
            ExitCode::FAILURE
        }
    }
}

fn make(force: bool) -> Result<(), RecordingsError> {
    let set = RecordingSet::locate()?;
    let made = build::ensure(&set, force, &mut |line| println!("{line}"))?;
    let mixtures = set.noisy()?.len();
    let state = if made { "made" } else { "already there" };
    println!(
        "{} clips of speech, {mixtures} mixtures, {state}: {}",
        set.speech()?.len(),
        set.folder().display()
    );
    Ok(())
}

fn list() {
    let manifest = Manifest::built_in();
    for (kind, clips) in [("speech", &manifest.speech), ("noise", &manifest.noise)] {
        for clip in clips {
            let package = manifest.package(&clip.package);
            println!("{kind} {}: {} {}", clip.name, clip.about, clip.language);
            println!(
                "  {} {}{}",
                package.name,
                package.version,
                if package.optional { " (optional)" } else { "" }
            );
            println!("  {} from {:.0} s, {:.0} s", clip.members.join(" "), clip.start, clip.seconds);
            println!("  sha256 {}", clip.sha256);
            println!("  licence: {}", package.licence);
        }
    }
    for babble in &manifest.babble {
        println!("noise {}: {} voices from other parts of the speech", babble.name, babble.voices);
    }
    for room in &manifest.room {
        println!("room {}: {}, {} s, computed", room.name, room.about, room.rt60);
    }
}
