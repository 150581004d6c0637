//! Which recordings to restore, and what their results are called: all checked before the first byte is sent.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use minifleet_client::Error;
use minifleet_client::source::{InputError, Source, media_type};

use super::exit::Failure;
use super::text::printable;

/// One recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Where it is.
    pub path: PathBuf,
    /// Its name for messages.
    pub label: String,
    /// Folder below the output folder: mirrors the folders that were searched.
    pub folder: PathBuf,
    /// What its results' names begin with; no two inputs of a run share folder and stem.
    pub stem: OsString,
}

/// `talk` and `restored.wav` give `talk-restored.wav`. The file's name comes from the service: no folder in it counts.
pub fn result_name(stem: &OsStr, file_name: &str) -> OsString {
    let safe: String =
        file_name.chars().map(|c| if matches!(c, '/' | '\\' | '\0') { '_' } else { c }).collect();
    let mut name = stem.to_owned();
    name.push("-");
    name.push(safe);
    name
}

/// Expands folders and checks every file. Each unusable one is named in the failure.
pub fn collect(paths: &[PathBuf], recursive: bool) -> Result<Vec<Input>, Failure> {
    let mut found: Vec<(PathBuf, PathBuf)> = Vec::new();
    let mut complaints: Vec<InputError> = Vec::new();
    for path in paths {
        if recursive && path.is_dir() {
            let before = found.len() + complaints.len();
            search(path, Path::new(""), &mut found, &mut complaints);
            if found.len() + complaints.len() == before {
                let message = format!("{}: there are no recordings in this folder", path.display());
                return Err(Failure::usage("input_missing", message));
            }
        } else {
            match Source::check(path) {
                Ok(_) => found.push((path.clone(), PathBuf::new())),
                Err(complaint) => complaints.push(complaint),
            }
        }
    }
    match complaints.len() {
        0 => Ok(name_results(found)),
        1 => Err(Error::from(complaints.remove(0)).into()),
        count => {
            let lines: Vec<String> = complaints.iter().map(|complaint| format!("\n  {complaint}")).collect();
            let message = format!("{count} files cannot be uploaded:{}", lines.concat());
            Err(Failure::usage(complaints[0].code(), message))
        }
    }
}

/// Adds the recordings in a folder, sorted. Hidden entries are left out, linked folders are not followed.
fn search(
    folder: &Path,
    below: &Path,
    found: &mut Vec<(PathBuf, PathBuf)>,
    complaints: &mut Vec<InputError>,
) {
    let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(source) => return complaints.push(InputError::Unreadable { path: folder.to_owned(), source }),
    };
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        if name.to_string_lossy().starts_with('.') {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            search(&path, &below.join(name), found, complaints);
        } else if path.is_file() && media_type(&path).is_some() {
            match Source::check(&path) {
                Ok(_) => found.push((path, below.to_owned())),
                Err(complaint) => complaints.push(complaint),
            }
        }
    }
}

/// Two recordings of one stem (`talk.wav`, `talk.mp3`) are told apart by a number. A file named twice is taken once.
fn name_results(found: Vec<(PathBuf, PathBuf)>) -> Vec<Input> {
    let mut taken_files = BTreeSet::new();
    let mut taken_names = BTreeSet::new();
    let mut inputs = Vec::new();
    for (path, folder) in found {
        if !taken_files.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
            continue;
        }
        let stem = path.file_stem().unwrap_or_default().to_owned();
        let numbered = |number: u32| {
            let mut numbered = stem.clone();
            numbered.push(format!("-{number}"));
            numbered
        };
        let stem = std::iter::once(stem.clone())
            .chain((2..).map(numbered))
            .find(|stem| taken_names.insert((folder.clone(), stem.clone())))
            .expect("an endless sequence of different names has one that is free");
        let name = path.file_name().unwrap_or_default();
        let label = printable(&folder.join(name).to_string_lossy());
        inputs.push(Input { path, label, folder, stem });
    }
    inputs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("folder");
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("folders");
            std::fs::write(path, "content").expect("file");
        }
        folder
    }

    #[test]
    fn a_folder_is_searched_and_its_shape_is_kept() {
        let folder = folder_with(&["b/talk.MP3", "a.wav", "notes.txt", ".hidden/x.wav", "b/c/z.flac"]);
        let inputs = collect(&[folder.path().to_owned()], true).expect("inputs");
        let names: Vec<PathBuf> =
            inputs.iter().map(|input| input.folder.join(result_name(&input.stem, "restored.wav"))).collect();
        assert_eq!(names, ["a-restored.wav", "b/c/z-restored.wav", "b/talk-restored.wav"].map(PathBuf::from));
    }

    #[test]
    fn results_of_equal_names_do_not_overwrite_each_other() {
        let folder = folder_with(&["talk.wav", "talk.mp3", "talk-2.wav"]);
        let paths = ["talk.wav", "talk.mp3", "talk-2.wav", "talk.wav"].map(|name| folder.path().join(name));
        let inputs = collect(&paths, false).expect("inputs");
        let stems: Vec<_> = inputs.iter().map(|input| input.stem.to_string_lossy().into_owned()).collect();
        assert_eq!(stems, ["talk", "talk-2", "talk-2-2"]);
    }

    #[test]
    fn every_unusable_file_is_named_at_once() {
        let folder = folder_with(&["good.wav"]);
        let paths = ["good.wav", "empty.wav", "none.wav"].map(|name| folder.path().join(name));
        std::fs::write(&paths[1], "").expect("file");
        let message = collect(&paths, false).expect_err("two unusable").to_string();
        assert!(
            message.contains("empty.wav is empty") && message.contains("none.wav: there is no such"),
            "{message}"
        );
    }

    #[test]
    fn a_name_of_the_service_cannot_leave_the_output_folder() {
        assert_eq!(result_name("talk".as_ref(), "../../etc/passwd"), "talk-.._.._etc_passwd");
    }
}
