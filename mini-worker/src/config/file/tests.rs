//! What the configuration file promises.

use super::*;
use crate::config::EXAMPLE;

fn parse(text: &str) -> Result<Config, String> {
    let variable = |name: &str| (name == DEFAULT_KEY_VARIABLE).then(|| "mfw_key\n".to_owned());
    Config::parse(text, Path::new("/etc/minifleet/worker.toml"), Path::new("/home"), &variable)
        .map_err(|e| e.to_string())
}

const ENVIRONMENT: &str = "[[environment]]\nname = \"production\"\nurl = \"https://edge.example\"\n";

#[test]
fn the_example_is_valid_and_shows_the_defaults() {
    let example = parse(EXAMPLE).unwrap();
    let shortest = parse(ENVIRONMENT).unwrap();
    assert_eq!(example.slots, shortest.slots);
    assert_eq!(example.inference_threads, shortest.inference_threads);
    assert_eq!(example.scheduling, shortest.scheduling);
    assert_eq!((example.metrics_listen, shortest.metrics_listen), (None, None), "off unless asked for");
    assert_eq!(example.media.max_audio_minutes, shortest.media.max_audio_minutes);
    assert_eq!(example.media.ffmpeg, shortest.media.ffmpeg);
    assert_eq!(shortest.environments[0].key.expose(), "mfw_key");
    assert_eq!(shortest.work_folder, Path::new("/home/worker/work"));
}

#[test]
fn a_mistake_is_named_with_its_line() {
    for (text, line, words) in [
        (format!("slotz = 2\n{ENVIRONMENT}"), "line 1", "slotz"),
        (format!("\nslots = 0\n{ENVIRONMENT}"), "line 2", "1 to 64"),
        (format!("worker_id = \"a b\"\n{ENVIRONMENT}"), "line 1", "an id may hold only"),
        (ENVIRONMENT.replace("https://edge.example", "wss://edge.example"), "line 3", "https://"),
        (ENVIRONMENT.replace("https://edge.example", "https://edge.example/v1"), "line 3", "only scheme"),
        (ENVIRONMENT.replace("production", "../x"), "line 2", "an environment's name"),
    ] {
        let error = parse(&text).unwrap_err();
        assert!(error.contains(line) && error.contains(words), "{text}\n{error}");
    }
}

#[test]
fn a_missing_key_says_where_it_was_looked_for_and_a_key_is_never_shown() {
    let error = parse(&format!("{ENVIRONMENT}key_env = \"OTHER\"")).unwrap_err();
    assert!(error.contains("OTHER") && error.contains("key_file"), "{error}");
    let shown = format!("{:?}", parse(ENVIRONMENT).unwrap());
    assert!(!shown.contains("mfw_key"), "{shown}");
}

#[test]
fn two_environments_of_one_name_would_share_a_journal() {
    let error = parse(&format!("{ENVIRONMENT}{ENVIRONMENT}")).unwrap_err();
    assert!(error.contains("two environments are named"), "{error}");
}

#[test]
fn an_engine_that_cannot_be_had_here_is_refused_before_anything_is_loaded() {
    assert_eq!(parse(ENVIRONMENT).unwrap().selection, Selection::default());
    let error = parse(&format!("engine = \"onnx\"\nprovider = \"metal\"\n{ENVIRONMENT}")).unwrap_err();
    assert!(error.contains("it has cpu, coreml and cuda"), "{error}");
    let error = parse(&format!("engine = \"tract\"\n{ENVIRONMENT}")).unwrap_err();
    assert!(error.contains("line 1") && error.contains("`onnx`"), "{error}");
    let config = parse(&format!("onnxruntime = \"gpu/libonnxruntime.so\"\n{ENVIRONMENT}")).unwrap();
    assert_eq!(config.onnxruntime.as_deref(), Some(Path::new("/etc/minifleet/gpu/libonnxruntime.so")));
}
