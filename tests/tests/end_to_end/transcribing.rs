//! A recording becomes text, by a real recogniser, and the text has its say in the restore.

use conformance::harness::{
    Api, Edge, EdgeOptions, Keys, PATIENCE, Transcriber, WorkerProcess, media, repository, until,
};
use serde_json::json;

const RATE: u32 = 48_000;

/// What is said in the demonstration.
const SAID: &str = "and so my fellow americans ask not what your country can do for you ask what you can do for your country";

/// The demonstration (11 s), then 4 s of faint noise.
fn speech_and_silence(folder: &std::path::Path) -> Vec<u8> {
    let demonstration = repository().join("tests/recordings/demo/inaugural.flac");
    let file = folder.join("talk.flac");
    let noise = "anoisesrc=d=4:c=pink:a=0.003:r=16000:seed=1";
    media::ffmpeg(&[
        "-i",
        demonstration.to_str().unwrap(),
        "-f",
        "lavfi",
        "-i",
        noise,
        "-filter_complex",
        "[0:a][1:a]concat=n=2:v=0:a=1",
        file.to_str().unwrap(),
    ]);
    std::fs::read(file).unwrap()
}

fn words_of(text: &str) -> Vec<String> {
    let letters = |word: &str| -> String { word.chars().filter(|c| c.is_alphanumeric()).collect() };
    text.to_lowercase().split_whitespace().map(letters).filter(|word| !word.is_empty()).collect()
}

/// Word error rate: the fewest words to replace, leave out or put in, by the words that were said.
fn word_error_rate(said: &str, heard: &str) -> f64 {
    let (said, heard) = (words_of(said), words_of(heard));
    let mut row: Vec<usize> = (0..=heard.len()).collect();
    for (n, word) in said.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = n + 1;
        for (m, other) in heard.iter().enumerate() {
            let replaced = diagonal + usize::from(word != other);
            diagonal = row[m + 1];
            row[m + 1] = replaced.min(diagonal + 1).min(row[m] + 1);
        }
    }
    row[heard.len()] as f64 / said.len() as f64
}

/// The restored samples of a generation.
fn restored(api: &Api, project: &str, mode: &str) -> Vec<f32> {
    let wanted = json!({ "transcript": mode, "outputs": ["wav"] });
    let made = api.post(&format!("{project}/generations"), &wanted);
    assert!(made.status < 300, "{}", made.text());
    let made = made.json();
    assert_eq!(made["audio"]["conditionedOn"].as_u64(), (mode != "none").then_some(1), "{made}");
    let id = made["jobId"].as_str().unwrap();
    let path = format!("{project}/generations/{}", made["generationId"].as_str().unwrap());
    until("the generation to be complete", PATIENCE * 4, || {
        (api.get(&path).expect(200).json()["state"] == "completed").then_some(())
    });
    let file = api.get(&format!("/v1/jobs/{id}/files/restored.wav")).expect(200).body;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("restored.wav");
    std::fs::write(&path, file).unwrap();
    media::decode(&path, RATE)
}

#[test]
fn a_real_recogniser_hears_what_was_said_and_where_nobody_speaks_the_restore_is_quieter() {
    let folder = tempfile::tempdir().unwrap();
    let recording = speech_and_silence(folder.path());
    let transcriber = Transcriber::start("sk-test");
    let url: &'static str = Box::leak(transcriber.url().to_owned().into_boxed_str());
    let vars = Box::leak(Box::new([("TRANSCRIPTION_URL", url), ("TRANSCRIPTION_KEY", "sk-test")]));
    let edge = Edge::start_with(EdgeOptions { vars, ..EdgeOptions::default() });
    let _worker = WorkerProcess::start(&edge, "mini-1");
    let api = edge.api(Keys::ACME);
    let project = api.project("talk.flac", "audio/flac", &recording);
    let without = restored(&api, &project, "none");

    let begun = api.post(&format!("{project}/transcription"), &json!({}));
    assert!(begun.status < 300, "{}", begun.text());
    until("the transcript", PATIENCE * 4, || {
        let transcription = api.get(&project).expect(200).json()["transcription"].clone();
        assert_ne!(transcription["state"], "failed", "{transcription}");
        (transcription["state"] == "done").then_some(())
    });
    let found = api.get(&format!("{project}/transcript")).expect(200).json();
    let transcript = found.get("transcript").unwrap_or(&found);
    let text = transcript["text"].as_str().unwrap();
    let errors = word_error_rate(SAID, text);
    println!("{errors:.2} of the words are wrong: {text}");
    assert!(errors <= 0.25, "{errors}: {text}");
    let words = transcript["words"].as_array().unwrap();
    let starts: Vec<f64> = words.iter().map(|word| word["start"].as_f64().unwrap()).collect();
    assert!(words.len() >= 15 && starts.is_sorted(), "{transcript}");

    let with = restored(&api, &project, "given");
    assert_eq!(with.len(), without.len());
    let part = |samples: &[f32], from: u32, to: u32| {
        media::level_db(&samples[(from * RATE) as usize..(to * RATE) as usize])
    };
    let silence = (part(&without, 13, 15), part(&with, 13, 15));
    println!("where nobody speaks: {:.1} dB without the transcript, {:.1} dB with it", silence.0, silence.1);
    assert!(silence.1 < silence.0 - 6.0, "{silence:?}");
    let speech = part(&without, 4, 10) - part(&with, 4, 10);
    assert!(speech.abs() < 0.1, "speech stays: {speech} dB");
}
