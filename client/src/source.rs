//! A recording on this machine: whether it can be uploaded, and its checksum.

use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use shared_protocol::limits::{MAX_PARTS, PART_BYTES};

use crate::transfer::hex;

/// Bytes of the largest recording: as many as the parts of an upload hold. A service may take less.
const MAX_BYTES: u64 = PART_BYTES * MAX_PARTS as u64;

/// Bytes read at a time.
const READ_BYTES: usize = 256 * 1024;

/// Why a file cannot be uploaded.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// No such file.
    #[error("{path}: there is no such file", path = .0.display())]
    Missing(PathBuf),
    /// A folder.
    #[error("{path} is a folder: name its files, or add --recursive", path = .0.display())]
    Folder(PathBuf),
    /// A device, pipe or socket.
    #[error("{path} is not an ordinary file: save the recording to one first", path = .0.display())]
    NotAFile(PathBuf),
    /// Zero bytes.
    #[error("{path} is empty: there is nothing to restore", path = .0.display())]
    Empty(PathBuf),
    /// More bytes than one upload may have.
    #[error("{path} has {size} bytes, more than the {MAX_BYTES} that one upload may have: cut it, or convert it to FLAC or MP3", path = path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        size: u64,
    },
    /// The system refuses to read it.
    #[error("{path} cannot be read: {source}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It became longer or shorter between checking and sending.
    #[error("{path} changed while it was read: try again when it is complete", path = .0.display())]
    Changed(PathBuf),
}

impl InputError {
    /// Stable name of the condition.
    pub fn code(&self) -> &'static str {
        match self {
            InputError::Missing(_) => "input_missing",
            InputError::Folder(_) => "input_is_folder",
            InputError::NotAFile(_) => "input_not_a_file",
            InputError::Empty(_) => "input_empty",
            InputError::TooLarge { .. } => "input_too_large",
            InputError::Unreadable { .. } => "input_unreadable",
            InputError::Changed(_) => "input_changed",
        }
    }
}

/// A recording that was read once and found good for uploading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// Its name without folders, as the service shall know it.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Media type by the name's ending; the service's decoder looks at the content itself.
    pub content_type: &'static str,
    /// SHA-256 in hex, so that storage refuses anything else.
    pub sha256: String,
}

impl Source {
    /// Checks that a file can be uploaded, without reading its content. Returns its size.
    pub fn check(path: &Path) -> Result<u64, InputError> {
        let unreadable = |source: std::io::Error| match source.kind() {
            std::io::ErrorKind::NotFound => InputError::Missing(path.to_owned()),
            _ => InputError::Unreadable { path: path.to_owned(), source },
        };
        let metadata = std::fs::metadata(path).map_err(unreadable)?;
        if metadata.is_dir() {
            return Err(InputError::Folder(path.to_owned()));
        }
        if !metadata.is_file() {
            return Err(InputError::NotAFile(path.to_owned()));
        }
        match metadata.len() {
            0 => return Err(InputError::Empty(path.to_owned())),
            size if size > MAX_BYTES => {
                return Err(InputError::TooLarge { path: path.to_owned(), size });
            }
            _ => {}
        }
        std::fs::File::open(path).map_err(unreadable)?;
        Ok(metadata.len())
    }

    /// Checks a file and computes its checksum.
    pub async fn read(path: &Path) -> Result<Source, InputError> {
        let path = path.to_owned();
        let hashed = path.clone();
        let hashing = tokio::task::spawn_blocking(move || {
            let size = Source::check(&hashed)?;
            Ok((size, hash_file(&hashed, size)?))
        });
        let (size, sha256) = match hashing.await {
            Ok(result) => result?,
            Err(stopped) => {
                return Err(InputError::Unreadable { path, source: std::io::Error::other(stopped) });
            }
        };
        let name = path.file_name().map_or_else(|| "recording".into(), |name| name.to_string_lossy());
        Ok(Source { name: name.into_owned(), size, content_type: content_type(&path), sha256, path })
    }
}

fn hash_file(path: &Path, size: u64) -> Result<String, InputError> {
    let unreadable = |source| InputError::Unreadable { path: path.to_owned(), source };
    let mut file = std::fs::File::open(path).map_err(unreadable)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; READ_BYTES];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer).map_err(unreadable)?;
        if read == 0 {
            break;
        }
        hasher.update(&buffer[..read]);
        bytes += read as u64;
    }
    if bytes != size {
        return Err(InputError::Changed(path.to_owned()));
    }
    Ok(hex(&hasher.finalize()))
}

/// Endings of recordings and their media types; also what a folder is searched for.
const MEDIA_TYPES: &[(&str, &str)] = &[
    ("aac", "audio/aac"),
    ("aif", "audio/aiff"),
    ("aiff", "audio/aiff"),
    ("amr", "audio/amr"),
    ("avi", "video/x-msvideo"),
    ("caf", "audio/x-caf"),
    ("flac", "audio/flac"),
    ("m4a", "audio/mp4"),
    ("m4v", "video/mp4"),
    ("mka", "audio/x-matroska"),
    ("mkv", "video/x-matroska"),
    ("mov", "video/quicktime"),
    ("mp2", "audio/mpeg"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("oga", "audio/ogg"),
    ("ogg", "audio/ogg"),
    ("opus", "audio/ogg"),
    ("wav", "audio/wav"),
    ("webm", "video/webm"),
    ("wma", "audio/x-ms-wma"),
];

/// The media type of a recording by its name's ending, or none when it is not known as a recording.
pub fn media_type(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    MEDIA_TYPES.iter().find(|(known, _)| *known == ending).map(|(_, media_type)| *media_type)
}

fn content_type(path: &Path) -> &'static str {
    media_type(path).unwrap_or("application/octet-stream")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_recording_is_described_by_name_size_type_and_checksum() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("Talk 1.MP3");
        std::fs::write(&path, "abc").expect("file");
        let source = Source::read(&path).await.expect("source");
        assert_eq!((source.name.as_str(), source.size, source.content_type), ("Talk 1.MP3", 3, "audio/mpeg"));
        assert_eq!(source.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn unusable_files_are_told_apart_before_anything_is_sent() {
        let folder = tempfile::tempdir().expect("folder");
        let empty = folder.path().join("empty.wav");
        std::fs::write(&empty, "").expect("file");
        let large = folder.path().join("large.wav");
        std::fs::File::create(&large).and_then(|file| file.set_len(MAX_BYTES + 1)).expect("file");
        let code = |path: &Path| Source::check(path).expect_err("unusable").code();
        assert_eq!(code(&empty), "input_empty");
        assert_eq!(code(&large), "input_too_large");
        assert_eq!(code(folder.path()), "input_is_folder");
        assert_eq!(code(&folder.path().join("no.wav")), "input_missing");
        assert_eq!(code(Path::new("/dev/null")), "input_not_a_file");
    }
}
