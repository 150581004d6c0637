//! Where things are in storage. Keys contain the attempt, so that two attempts never write the same object.

use shared_protocol::{Attempt, JobId, TenantId, UploadId};

/// Characters of a file's name below `files/` and `stems/`.
const MAX_FILE_NAME_LENGTH: usize = 128;

/// The object of an upload.
pub fn upload(tenant: &TenantId, upload: &UploadId) -> String {
    format!("uploads/{tenant}/{upload}")
}

/// An object of an attempt.
pub fn attempt_object(job: &JobId, attempt: Attempt, object: &AttemptObject) -> String {
    format!("jobs/{job}/{attempt}/{}", object.path())
}

/// What an attempt may store. There is nothing else, so no path of a worker's can lead anywhere else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptObject {
    /// `hls/init.mp4`
    HlsInit,
    /// `hls/seg-00000.m4s`
    HlsSegment(u32),
    /// `files/{name}`
    File(String),
    /// `stems/{name}`
    Stem(String),
}

impl AttemptObject {
    /// Reads a path as workers write it: `hls/init.mp4`, `hls/seg-00000.m4s`, `files/restored.wav`,
    /// `stems/manifest.json`.
    pub fn parse(path: &str) -> Option<Self> {
        match path.split_once('/')? {
            ("hls", name) => Self::parse_hls(name),
            ("files", name) => is_file_name(name).then(|| Self::File(name.to_owned())),
            ("stems", name) => is_file_name(name).then(|| Self::Stem(name.to_owned())),
            _ => None,
        }
    }

    /// Reads the last part of a playlist's URI: `init.mp4` or `seg-00000.m4s`.
    pub fn parse_hls(name: &str) -> Option<Self> {
        if name == "init.mp4" {
            return Some(Self::HlsInit);
        }
        let digits = name.strip_prefix("seg-")?.strip_suffix(".m4s")?;
        let sequence = digits.bytes().all(|c| c.is_ascii_digit()).then(|| digits.parse().ok())??;
        // One spelling for each, or a segment could be stored twice.
        (segment_name(sequence) == name).then_some(Self::HlsSegment(sequence))
    }

    /// The path below the attempt.
    pub fn path(&self) -> String {
        match self {
            Self::HlsInit => "hls/init.mp4".to_owned(),
            Self::HlsSegment(sequence) => format!("hls/{}", segment_name(*sequence)),
            Self::File(name) => format!("files/{name}"),
            Self::Stem(name) => format!("stems/{name}"),
        }
    }
}

/// A segment's name: at least five digits.
pub fn segment_name(sequence: u32) -> String {
    format!("seg-{sequence:05}.m4s")
}

/// Names of files are of a safe alphabet: they stand in URLs, headers and on people's disks.
pub fn is_file_name(name: &str) -> bool {
    let safe = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.');
    (1..=MAX_FILE_NAME_LENGTH).contains(&name.len())
        && name.bytes().all(safe)
        && !name.starts_with(['.', '-'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_of_an_attempt_has_one_key() {
        let job = JobId::new("job_1").unwrap();
        for path in
            ["hls/init.mp4", "hls/seg-00000.m4s", "hls/seg-123456.m4s", "files/restored.wav", "stems/x.flac"]
        {
            let object = AttemptObject::parse(path).unwrap();
            assert_eq!(attempt_object(&job, Attempt(3), &object), format!("jobs/job_1/3/{path}"));
        }
    }

    #[test]
    fn no_path_leads_out_of_its_attempt() {
        for path in [
            "",
            "hls",
            "hls/",
            "hls/../x",
            "files/../hls/init.mp4",
            "files/.hidden",
            "files/a/b",
            "files/",
            "hls/seg-1.m4s",
            "hls/seg-000001.m4s",
            "hls/seg-+0001.m4s",
            "hls/seg-99999999999.m4s",
            "stems/.x",
            "stem/x",
            "../x",
            "files/a%2fb",
        ] {
            assert_eq!(AttemptObject::parse(path), None, "{path:?}");
        }
    }
}
