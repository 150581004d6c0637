//! Which recordings are meant, and where their results go.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Endings of files that are taken from a folder; a file that is named by itself may be called as it likes.
const ENDINGS: [&str; 24] = [
    "wav", "w64", "rf64", "flac", "mp3", "ogg", "oga", "opus", "m4a", "mp4", "mov", "aac", "aiff", "aif",
    "wma", "mkv", "webm", "mka", "caf", "au", "amr", "3gp", "avi", "ac3",
];

/// A recording and the folder for its results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// The recording.
    pub file: PathBuf,
    /// Where its results go.
    pub target: PathBuf,
}

/// Files as they are named, and of folders the recordings in them and below, in the order of their names; results lie as the
/// recordings do. Hidden files are left out, and links to folders are not followed. Recordings of one name get numbers.
///
/// # Errors
/// When a folder cannot be read or holds no recording, or a path has no name.
pub fn collect(paths: &[PathBuf], output: &Path) -> Result<Vec<Input>> {
    let mut found: Vec<(PathBuf, PathBuf)> = Vec::new();
    for path in paths {
        if path.is_dir() {
            let before = found.len();
            search(path, Path::new(""), output, &mut found)?;
            if found.len() == before {
                bail!("there are no recordings in the folder {}", path.display());
            }
        } else {
            found.push((path.clone(), PathBuf::new()));
        }
    }
    let mut inputs: Vec<Input> = Vec::new();
    for (file, below) in found {
        let Some(stem) = file.file_stem() else { bail!("{} is not a file", file.display()) };
        let stem = stem.to_string_lossy().into_owned();
        let folder = output.join(below);
        let names = std::iter::once(stem.clone()).chain((2..).map(|n| format!("{stem}-{n}")));
        let free = names
            .map(|name| folder.join(name))
            .find(|target| !inputs.iter().any(|input| input.target == *target));
        inputs.extend(free.map(|target| Input { file, target }));
    }
    Ok(inputs)
}

fn search(folder: &Path, below: &Path, output: &Path, found: &mut Vec<(PathBuf, PathBuf)>) -> Result<()> {
    let read = || format!("cannot read the folder {}", folder.display());
    let entries: std::io::Result<Vec<_>> = std::fs::read_dir(folder).with_context(read)?.collect();
    let mut entries = entries.with_context(read)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        if name.to_string_lossy().starts_with('.') {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // Results of an earlier run are no recordings.
            if path != output {
                search(&path, &below.join(name), output, found)?;
            }
        } else if is_recording(&path) {
            found.push((path, below.to_owned()));
        }
    }
    Ok(())
}

fn is_recording(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    path.is_file() && ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_searched_and_results_lie_as_their_recordings_do() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let out = root.join("cleaned");
        for (name, ..) in [
            ("b.wav",),
            ("a.MP3",),
            ("notes.txt",),
            (".hidden.wav",),
            ("day/a.flac",),
            ("cleaned/a/restored.wav",),
        ] {
            std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            std::fs::write(root.join(name), "").unwrap();
        }
        let paths = [root.to_owned(), root.join("a.MP3"), root.join("notes.txt")];
        let inputs = collect(&paths, &out).unwrap();
        let pairs: Vec<_> = inputs
            .iter()
            .map(|input| {
                let file = input.file.strip_prefix(root).unwrap().display().to_string();
                (file, input.target.strip_prefix(&out).unwrap().display().to_string())
            })
            .collect();
        let expected = [
            ("a.MP3", "a"),
            ("b.wav", "b"),
            ("day/a.flac", "day/a"),
            ("a.MP3", "a-2"),
            ("notes.txt", "notes"),
        ];
        assert_eq!(pairs, expected.map(|(file, target)| (file.to_owned(), target.to_owned())));
        let empty = root.join("empty");
        std::fs::create_dir(&empty).unwrap();
        assert!(collect(&[empty], &out).unwrap_err().to_string().contains("no recordings"));
    }
}
