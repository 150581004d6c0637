//! Makes the recordings: downloads what is needed once, then everything from fixed seeds.

use super::chance::Chance;
use super::manifest::{Babble, Clip, Long, Manifest, text};
use super::mix::{
    at_snr, convolve, cut, excerpt, fade, join, rms, samples_in, scale, to_peak, to_rms, without_rumble,
};
use super::package::{download, hex, take};
use super::room::impulse_response;
use super::set::RecordingSet;
use super::wav::write;
use super::{RecordingsError, decode};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Raise it when the same list makes other sounds.
const METHOD: u32 = 2;

/// Pause between joined words, in seconds.
const GAP_SECONDS: f64 = 0.35;

/// Peak of clean speech.
const SPEECH_PEAK: f32 = 0.35;

/// Level of stored noise: -26 dBFS.
const NOISE_LEVEL: f32 = 0.05;

/// Length of one passage in a long recording, in seconds, and the ratios that the passages take in turn.
const PASSAGE_SECONDS: f64 = 15.0;
const PASSAGE_SNR_DB: [f32; 4] = [10.0, 5.0, 15.0, 8.0];

/// Sounds as decoded, by name.
type Sounds = BTreeMap<String, Vec<f32>>;

/// Makes the set unless it is there and made from the same list. Returns whether anything was made.
pub fn ensure(
    set: &RecordingSet,
    force: bool,
    tell: &mut dyn FnMut(String),
) -> Result<bool, RecordingsError> {
    let folder = set.folder();
    if !force && is_current(folder) {
        return Ok(false);
    }
    let lock = folder.with_extension("lock");
    let parent = folder.parent().unwrap_or(folder);
    std::fs::create_dir_all(parent).map_err(disk(parent))?;
    let lock_file = std::fs::File::create(&lock).map_err(disk(&lock))?;
    lock_file.lock().map_err(disk(&lock))?;
    // Another process may have made it while this one waited.
    if !force && is_current(folder) {
        return Ok(false);
    }
    make(folder, &Manifest::built_in(), tell)?;
    Ok(true)
}

fn make(folder: &Path, manifest: &Manifest, tell: &mut dyn FnMut(String)) -> Result<(), RecordingsError> {
    let partial = folder.with_extension("partial");
    remove(&partial)?;
    let sources = partial.join("sources");
    for name in ["clean", "noise", "room", "noisy", "long", "sources"] {
        let path = partial.join(name);
        std::fs::create_dir_all(&path).map_err(disk(&path))?;
    }
    let raw = decode_sources(manifest, &sources, tell)?;
    remove(&sources)?;
    tell("mixing".into());

    let mut speech = Sounds::new();
    for clip in manifest.speech.iter().filter(|clip| raw.contains_key(&clip.name)) {
        let samples = cut(&raw[&clip.name], samples_in(clip.start), samples_in(clip.seconds));
        let mut samples = without_rumble(&samples);
        to_peak(&mut samples, SPEECH_PEAK);
        fade(&mut samples);
        write(&partial.join(format!("clean/{}.wav", clip.name)), 1, &samples)?;
        speech.insert(clip.name.clone(), samples);
    }
    let noises = make_noises(manifest, &raw, &partial)?;
    let mut rooms = Sounds::new();
    for room in &manifest.room {
        let response = impulse_response(room);
        write(&partial.join(format!("room/{}.wav", room.name)), 1, &response)?;
        rooms.insert(room.name.clone(), response);
    }
    make_mixtures(manifest, &speech, &noises, &rooms, &partial)?;
    for long in &manifest.long {
        let samples = make_long(manifest, long, &raw, &noises);
        write(&partial.join(format!("long/{}.wav", long.name)), long.channels, &samples)?;
    }

    write_stamp(&partial)?;
    remove(folder)?;
    std::fs::rename(&partial, folder).map_err(disk(folder))
}

/// Downloads, checks and decodes everything that can be had here.
fn decode_sources(
    manifest: &Manifest,
    sources: &Path,
    tell: &mut dyn FnMut(String),
) -> Result<Sounds, RecordingsError> {
    let mut raw = Sounds::new();
    for package in &manifest.package {
        let Some(downloaded) = download(package, sources, tell)? else { continue };
        for clip in manifest.clips_of(package) {
            let files = take(&downloaded, clip, sources)?;
            raw.insert(clip.name.clone(), decode_clip(clip, &files)?);
        }
    }
    Ok(raw)
}

fn decode_clip(clip: &Clip, files: &[PathBuf]) -> Result<Vec<f32>, RecordingsError> {
    let mut parts = files.iter().map(|file| decode::mono(file)).collect::<Result<Vec<_>, _>>()?;
    if parts.len() == 1 {
        return Ok(parts.remove(0));
    }
    let length = samples_in(clip.start + clip.seconds);
    Ok(join(&parts, samples_in(GAP_SECONDS), length, &mut Chance::named(&clip.name)))
}

fn make_noises(manifest: &Manifest, raw: &Sounds, partial: &Path) -> Result<Sounds, RecordingsError> {
    let mut noises = Sounds::new();
    for clip in &manifest.noise {
        noises.insert(
            clip.name.clone(),
            cut(&raw[&clip.name], samples_in(clip.start), samples_in(clip.seconds)),
        );
    }
    for babble in &manifest.babble {
        noises.insert(babble.name.clone(), make_babble(babble, raw));
    }
    for (name, samples) in &mut noises {
        to_rms(samples, NOISE_LEVEL);
        write(&partial.join(format!("noise/{name}.wav")), 1, samples)?;
    }
    Ok(noises)
}

/// Voices at equal levels, each from another place.
fn make_babble(babble: &Babble, raw: &Sounds) -> Vec<f32> {
    let length = samples_in(babble.seconds);
    let mut sum = vec![0f32; length];
    for voice in 0..babble.voices {
        let part = &babble.part[voice % babble.part.len()];
        let source = cut(&raw[&part.speech], samples_in(part.start), usize::MAX / 2);
        let mut chance = Chance::named(&format!("{}.{voice}", babble.name));
        let start = chance.below(source.len());
        let mut samples: Vec<f32> = source.iter().copied().cycle().skip(start).take(length).collect();
        to_rms(&mut samples, 1.0);
        sum.iter_mut().zip(samples).for_each(|(a, b)| *a += b);
    }
    sum
}

fn make_mixtures(
    manifest: &Manifest,
    speech: &Sounds,
    noises: &Sounds,
    rooms: &Sounds,
    partial: &Path,
) -> Result<(), RecordingsError> {
    let mix = &manifest.mix;
    for (name, clean) in speech {
        for (noise_name, noise) in noises {
            let noise = excerpt(noise, clean.len(), &mut Chance::named(&format!("{name}.{noise_name}")));
            for &snr in &mix.snr_db {
                let mixture = at_snr(clean, &noise, snr as f32);
                write(&partial.join(format!("noisy/{name}.{noise_name}.{snr}.wav")), 1, &mixture)?;
            }
        }
        let label = format!("{}-{}", mix.room, mix.room_noise);
        let mut wet = convolve(clean, &rooms[&mix.room]);
        to_rms(&mut wet, rms(clean));
        let noise =
            excerpt(&noises[&mix.room_noise], clean.len(), &mut Chance::named(&format!("{name}.{label}")));
        let mixture = at_snr(&wet, &noise, mix.room_snr_db as f32);
        write(&partial.join(format!("noisy/{name}.{label}.{}.wav", mix.room_snr_db)), 1, &mixture)?;
    }
    Ok(())
}

/// Passages of the sources that every machine has, each time from another place, in changing noise.
fn make_long(manifest: &Manifest, long: &Long, raw: &Sounds, noises: &Sounds) -> Vec<f32> {
    let talkers: Vec<&Vec<f32>> = manifest
        .speech
        .iter()
        .filter(|clip| clip.members.len() == 1)
        .filter_map(|clip| raw.get(&clip.name))
        .collect();
    let noise_names: Vec<&String> = manifest.noise.iter().map(|clip| &clip.name).collect();
    let frames = samples_in(long.seconds);
    let channels = usize::from(long.channels);
    let mut samples = Vec::with_capacity(frames * channels);
    let mut chance = Chance::named("long");
    let mut passage = 0;
    while samples.len() < frames * channels {
        let length = samples_in(PASSAGE_SECONDS).min(frames - samples.len() / channels);
        let mut speech = excerpt(talkers[passage % talkers.len()], length, &mut chance);
        to_rms(&mut speech, NOISE_LEVEL);
        fade(&mut speech);
        let noise = &noises[noise_names[passage % noise_names.len()]];
        let snr = PASSAGE_SNR_DB[passage % PASSAGE_SNR_DB.len()];
        let mut sides: Vec<Vec<f32>> = (0..channels)
            .map(|side| {
                // The talker stands to one side; the noise comes from everywhere.
                let mut heard = speech.clone();
                scale(&mut heard, [1.0, 0.7][side.min(1)]);
                at_snr(&heard, &excerpt(noise, length, &mut chance), snr)
            })
            .collect();
        sides.iter_mut().for_each(|side| fade(side));
        for i in 0..length {
            samples.extend(sides.iter().map(|side| side[i]));
        }
        passage += 1;
    }
    samples
}

/// What the set was made from, and the size of each file: enough to notice a stale or damaged set in a few milliseconds.
fn write_stamp(folder: &Path) -> Result<(), RecordingsError> {
    let mut stamp = origin();
    for path in wav_files(folder)? {
        let size = std::fs::metadata(&path).map_err(disk(&path))?.len();
        let name = path.strip_prefix(folder).unwrap_or(&path).display();
        writeln!(stamp, "{size} {name}").expect("writing to a String cannot fail");
    }
    let path = folder.join("made.txt");
    std::fs::write(&path, stamp).map_err(disk(&path))
}

fn origin() -> String {
    format!("list {} method {METHOD}\n", hex(&Sha256::digest(text().as_bytes())))
}

/// Made from this list, and every file has its size.
pub fn is_current(folder: &Path) -> bool {
    let Ok(stamp) = std::fs::read_to_string(folder.join("made.txt")) else { return false };
    stamp.strip_prefix(&origin()).is_some_and(|files| {
        files.lines().all(|line| {
            line.split_once(' ').is_some_and(|(size, name)| {
                std::fs::metadata(folder.join(name)).is_ok_and(|found| found.len().to_string() == size)
            })
        })
    })
}

fn wav_files(folder: &Path) -> Result<Vec<PathBuf>, RecordingsError> {
    let mut files = Vec::new();
    for part in ["clean", "noise", "room", "noisy", "long"] {
        let inside = folder.join(part);
        for entry in std::fs::read_dir(&inside).map_err(disk(&inside))? {
            files.push(entry.map_err(disk(&inside))?.path());
        }
    }
    files.sort();
    Ok(files)
}

fn remove(folder: &Path) -> Result<(), RecordingsError> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(disk(folder)(error)),
        _ => Ok(()),
    }
}

fn disk(path: &Path) -> impl FnOnce(std::io::Error) -> RecordingsError {
    let path = path.to_owned();
    move |source| RecordingsError::Disk { path, source }
}
