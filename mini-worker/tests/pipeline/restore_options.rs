//! What `mini-worker restore` can be asked for beyond a restore.

use crate::results::talk;
use crate::studio::Studio;

#[test]
fn a_folder_is_restored_with_stems_and_a_page_that_compares_before_and_after() {
    let studio = Studio::new();
    std::fs::create_dir_all(studio.path("day/one")).unwrap();
    studio.make("day/one/talk.flac", &talk(3));
    studio.make("day/hello.wav", &talk(2));
    let output = studio.run_restore(&[studio.path("day")], &["--outputs", "wav", "--stems", "--compare"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let results: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(results.len(), 2);
    for (result, folder) in results.iter().zip(["restored/hello", "restored/one/talk"]) {
        let folder = studio.path(folder);
        for name in ["restored.wav", "stems/speech.flac", "compare/original.png", "compare/restored.png"] {
            assert!(folder.join(name).metadata().unwrap().len() > 1_000, "{name}");
        }
        let page = std::fs::read_to_string(folder.join("compare/index.html")).unwrap();
        let overall = result["comparison"]["after"]["overall"].as_f64().unwrap();
        assert!((1.0..5.0).contains(&overall), "{result}");
        assert!(page.contains(&format!("<td>{overall:.2}")) && page.contains("../restored.wav"), "{page}");
    }
}

#[test]
fn a_transcript_is_read_before_anything_is_restored_and_wrong_ones_are_told() {
    let studio = Studio::new();
    let file = studio.make("talk.wav", &talk(2));
    let subtitles = studio.write("talk.vtt", b"WEBVTT\n\n00:00.100 --> 00:00.600\nso\n");
    let with = |transcript: &str| {
        studio.run_restore(
            std::slice::from_ref(&file),
            &["--force", "--outputs", "wav", "--transcript", transcript],
        )
    };
    let output = with(subtitles.to_str().unwrap());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let wrong = studio.write("wrong.txt", b"so it began");
    let output = with(wrong.to_str().unwrap());
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("neither JSON") && said.contains("WebVTT"), "{said}");
}
