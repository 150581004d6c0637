//! Every rate, every number of channels, every level: what comes back has its length, its place and its image.

use std::path::{Path, PathBuf};

use crate::studio::{Studio, decoded_24};

/// Four seconds of real speech at 48 kHz, from the demonstration.
fn speech(studio: &Studio) -> Vec<f32> {
    let demonstration = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/recordings/demo/inaugural.flac");
    let arguments = format!("-ss 3 -t 4 -i {} -ar 48000 -ac 1 -c:a pcm_s32le", demonstration.display());
    floats(&studio.make("speech.wav", &arguments))
}

fn floats(path: &Path) -> Vec<f32> {
    decoded_24(path).into_iter().map(|sample| sample as f32 / (1 << 23) as f32).collect()
}

/// A WAV file of 32-bit floats.
fn wav(studio: &Studio, name: &str, rate: u32, channels: &[Vec<f32>]) -> PathBuf {
    let path = studio.path(name);
    let spec = hound::WavSpec {
        channels: channels.len() as u16,
        sample_rate: rate,
        bits_per_sample: 32,
        sample_format: hound::SampleFormat::Float,
    };
    let mut writer = hound::WavWriter::create(&path, spec).unwrap();
    for place in 0..channels[0].len() {
        for channel in channels {
            writer.write_sample(channel[place]).unwrap();
        }
    }
    writer.finalize().unwrap();
    path
}

fn scaled(samples: &[f32], gain: f32) -> Vec<f32> {
    samples.iter().map(|sample| sample * gain).collect()
}

fn energy(samples: &[f32]) -> f64 {
    samples.iter().map(|&sample| f64::from(sample).powi(2)).sum()
}

/// Ratio in dB of a signal to its difference from another.
fn likeness(signal: &[f32], other: &[f32]) -> f64 {
    let difference: Vec<f32> = signal.iter().zip(other).map(|(a, b)| a - b).collect();
    10.0 * (energy(signal) / energy(&difference).max(1e-20)).log10()
}

#[test]
fn a_recording_of_any_rate_comes_back_with_its_length_and_in_its_place() {
    let studio = Studio::new();
    let rates = [8_000, 11_025, 44_100, 96_000, 192_000];
    // Beside a silent channel a short tone, 0.7 s from the start: where its middle comes out is the delay.
    let tone = |rate: u32| -> Vec<f32> {
        let length = rate as usize * 3 / 2 + 7;
        let value = |i: usize| {
            let seconds = i as f64 / f64::from(rate) - 0.7;
            0.3 * (-(seconds / 0.08).powi(2)).exp() * (std::f64::consts::TAU * 440.0 * seconds).cos()
        };
        (0..length).map(|i| value(i) as f32).collect()
    };
    let files: Vec<_> = rates
        .iter()
        .map(|&rate| {
            let tone = tone(rate);
            wav(&studio, &format!("{rate}.wav"), rate, &[vec![0.0; tone.len()], tone])
        })
        .collect();
    let mut options = vec!["--outputs", "wav,stems"];
    for sampler in ["flash", "pro"] {
        options.truncate(2);
        options.extend(["--sampler", sampler, "--force"]);
        for (&rate, result) in rates.iter().zip(studio.restore(&files, &options)) {
            assert_eq!(result.code(), "ok", "{rate}: {result:?}");
            let restored = floats(&result.file("restored.wav"));
            let expected = tone(rate).len() as f64 * 48_000.0 / f64::from(rate);
            let length = restored.len() / 2;
            assert!((length as f64 - expected).abs() <= 1.0, "{rate}: {length} samples, not {expected}");
            let channel =
                |number: usize| -> Vec<f32> { restored.iter().skip(number).step_by(2).copied().collect() };
            assert!(channel(0).iter().all(|&sample| sample == 0.0), "{rate}: silence beside a tone");
            // What the model did to the tone is its affair; original and restored speech together are in one place.
            let speech = floats(&result.file("stems/speech.flac"));
            let background = floats(&result.file("stems/background.flac"));
            let original = tone(48_000);
            let sum: Vec<f32> =
                speech.iter().zip(&background).skip(1).step_by(2).map(|(s, b)| s + b).collect();
            let ratio = likeness(&original[..length.min(original.len())], &sum);
            assert!(ratio > 55.0, "{rate}: {ratio} dB");
        }
    }
}

#[test]
fn eight_channels_keep_their_levels_and_stay_apart() {
    let studio = Studio::new();
    let speech = speech(&studio);
    let gains = [1.0, 0.5, 0.0, 0.25, 1.0, 0.1, 0.0, 0.03];
    let channels: Vec<_> = gains.iter().map(|&gain| scaled(&speech, gain)).collect();
    let file = wav(&studio, "eight.wav", 48_000, &channels);
    for sampler in ["flash", "pro"] {
        let options = ["--outputs", "wav", "--sampler", sampler, "--force"];
        let result = &studio.restore(std::slice::from_ref(&file), &options)[0];
        let restored = floats(&result.file("restored.wav"));
        let channel = |number: usize| -> Vec<f32> {
            restored.iter().skip(number).step_by(gains.len()).copied().collect()
        };
        let first = channel(0);
        for (number, &gain) in gains.iter().enumerate() {
            let here = channel(number);
            if gain == 0.0 {
                assert!(here.iter().all(|&sample| sample == 0.0), "{sampler}: channel {number}");
            } else {
                let ratio = likeness(&scaled(&first, gain), &here);
                assert!(ratio > 40.0, "{sampler}: channel {number} is the first, quieter: {ratio} dB");
            }
        }
    }
}

#[test]
fn odd_levels_offsets_and_what_is_no_number_change_nothing_but_themselves() {
    let studio = Studio::new();
    let speech = speech(&studio);
    let peak = speech.iter().fold(0f32, |peak, sample| peak.max(sample.abs()));
    let speech = scaled(&speech, 0.5 / peak);
    let place = 2 * 48_000;
    let with = |value: f32| {
        let mut samples = speech.clone();
        samples[place] = value;
        samples
    };
    let quiet = scaled(&speech, 0.01);
    let offset: Vec<f32> = speech.iter().map(|sample| sample + 0.3).collect();
    let clipped: Vec<f32> = speech.iter().map(|sample| (sample * 12.0).clamp(-1.0, 1.0)).collect();
    let hot = scaled(&speech, 2.6);
    let blink = speech[place..place + 960].to_vec();
    let cases = [
        speech.clone(),
        quiet,
        offset,
        clipped,
        hot,
        with(f32::NAN),
        with(f32::INFINITY),
        blink.clone(),
        vec![0.0; 48_000],
    ];
    let files: Vec<_> = cases
        .iter()
        .enumerate()
        .map(|(number, samples)| {
            wav(&studio, &format!("case-{number}.wav"), 48_000, std::slice::from_ref(samples))
        })
        .collect();
    for sampler in ["flash", "pro"] {
        let results = studio.restore(&files, &["--outputs", "wav", "--sampler", sampler, "--force"]);
        let restored: Vec<Vec<f32>> =
            results.iter().map(|result| floats(&result.file("restored.wav"))).collect();
        for (before, after) in cases.iter().zip(&restored) {
            assert_eq!(before.len(), after.len());
            assert!(after.iter().all(|sample| sample.abs() <= 1.0), "{sampler}: nothing passes full scale");
        }
        let [plain, quiet, offset, clipped, hot, nan, infinity, short, silence] = &restored[..] else {
            panic!("nine results")
        };
        let ratio = likeness(plain, &scaled(quiet, 100.0));
        assert!(ratio > 15.0, "{sampler}: at some -60 dBFS it is the same speech: {ratio} dB");
        let mean = offset.iter().map(|&sample| f64::from(sample)).sum::<f64>() / offset.len() as f64;
        assert!(mean.abs() < 1e-3, "{sampler}: the offset is gone: {mean}");
        // The step at the start and at the end is the offset's own.
        let inside = 48_000..plain.len() - 24_000;
        let ratio = likeness(&plain[inside.clone()], &offset[inside]);
        assert!(ratio > 15.0, "{sampler}: and the speech is there: {ratio} dB");
        assert!(energy(clipped) > 20.0 * energy(plain), "{sampler}: clipped speech stays loud");
        let loudest = hot.iter().fold(0f32, |peak, sample| peak.max(sample.abs()));
        assert!(loudest > 0.9, "{sampler}: peaks of 1.3 are bent to full scale: {loudest}");
        for (name, spoilt) in [("NaN", nan), ("infinity", infinity)] {
            let ratio = likeness(plain, spoilt);
            assert!(ratio > 20.0, "{sampler}: {name} spoils one sample only: {ratio} dB");
        }
        assert!(likeness(&blink, short) > 80.0, "{sampler}: 20 ms are given back as they are");
        assert!(silence.iter().all(|&sample| sample == 0.0), "{sampler}: silence");
    }
}
