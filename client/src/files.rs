//! A job's final files: list and download. A download goes to a temporary name, continues where a broken connection left
//! it, and gets its real name when its checksum is right.

use std::path::{Path, PathBuf};

use futures_util::StreamExt;
use reqwest::header::{ETAG, HeaderValue, IF_RANGE, RANGE};
use reqwest::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use shared_protocol::JobId;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::errors::Error;
use crate::http::{Call, Client, fault, unreachable};
use crate::retry::{Fault, backoff, random_fraction};
use crate::transfer::{Progress, hex};
use crate::wire::null_as_default;

/// Tries in a row that bring not one new byte before a download is given up.
const FRUITLESS_TRIES: u32 = 5;
const BUFFER_BYTES: usize = 256 * 1024;

/// One final file of a job.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobFile {
    /// Its name, such as `restored.wav`.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Media type.
    #[serde(default, deserialize_with = "null_as_default")]
    pub content_type: String,
    /// SHA-256 in hex.
    pub sha256: Option<String>,
    /// Where its bytes are.
    pub url: String,
}

/// Whether the stems of a job are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StemsState {
    /// They may still come.
    Waiting,
    /// All of them.
    Ready,
    /// There will be none.
    Failed,
    /// A state of a newer service.
    #[serde(other)]
    Unknown,
}

/// Why there are no stems.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct StemsFailure {
    /// The stable code.
    pub code: String,
    /// What happened, for people.
    pub message: String,
}

/// The stems of a job.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Stems {
    /// Whether they are there.
    pub state: StemsState,
    /// Every object: the manifest, the whole of each stem, and its chunks.
    #[serde(default)]
    pub files: Vec<JobFile>,
    /// Why there are none.
    pub failure: Option<StemsFailure>,
}

impl Stems {
    /// The manifest and the whole of each stem, without the chunks, which hold the same once more.
    pub fn masters(&self) -> impl Iterator<Item = &JobFile> {
        self.files.iter().filter(|file| !is_chunk(&file.name))
    }
}

/// Chunks are named `speech-00000.flac`.
fn is_chunk(name: &str) -> bool {
    let number = name.rsplit_once('-').and_then(|(_, end)| end.strip_suffix(".flac"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()))
}

/// What a job has left.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct JobFiles {
    /// Its final files; none before it is complete.
    pub files: Vec<JobFile>,
    /// Where they were asked for.
    pub stems: Option<Stems>,
}

impl Client {
    /// The final files of a job; none before it is complete.
    pub async fn job_files(&self, job_id: &JobId) -> Result<Vec<JobFile>, Error> {
        Ok(self.job_outputs(job_id).await?.files)
    }

    /// The final files of a job and its stems, which may come up to 45 minutes after its completion.
    pub async fn job_outputs(&self, job_id: &JobId) -> Result<JobFiles, Error> {
        let url = self.resource(&["jobs", job_id.as_str(), "files"]);
        self.call(&Call::new(Method::GET, url)).await?.json()
    }

    /// Downloads a file to `destination`, whose folder must exist, and replaces what is there.
    ///
    /// The bytes go to a temporary file beside it. If the program is stopped that file stays, and a later download of the
    /// same content continues it.
    pub async fn download(
        &self,
        file: &JobFile,
        destination: &Path,
        mut on_progress: impl FnMut(Progress),
    ) -> Result<(), Error> {
        let url = self.resolve(&file.url)?;
        let mut part = Part::open(partial_path(destination, file), file.size).await?;
        let mut fruitless = 0;
        let mut damaged_before = false;
        loop {
            on_progress(Progress { bytes: part.bytes, total: file.size });
            if part.bytes == file.size {
                match part.finish(file, destination).await? {
                    None => return Ok(()),
                    Some(error) if damaged_before => return Err(error),
                    Some(_) => {
                        // Perhaps a left-over that something else had written to: begin once more from nothing.
                        damaged_before = true;
                        part.restart().await?;
                        continue;
                    }
                }
            }
            let before = part.bytes;
            let result =
                self.fetch(&Call::new(Method::GET, url.clone()), file, &mut part, &mut on_progress).await;
            let Err(error) = result else { continue };
            let asked = match fault(&error) {
                Fault::Final => return Err(error),
                Fault::Busy(asked) => asked.unwrap_or_default(),
                Fault::Broken | Fault::NoConnection => std::time::Duration::ZERO,
            };
            fruitless = if part.bytes > before { 0 } else { fruitless + 1 };
            if fruitless == FRUITLESS_TRIES {
                return Err(error);
            }
            tokio::time::sleep(asked + backoff(fruitless, random_fraction())).await;
        }
    }

    /// Fetches what is missing, once. On an error the part holds what had arrived.
    async fn fetch(
        &self,
        call: &Call,
        file: &JobFile,
        part: &mut Part,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<(), Error> {
        let mut call = call.clone();
        if part.bytes > 0 {
            call = call.header(RANGE, header_value(&format!("bytes={}-", part.bytes)));
            if let Some(etag) = part.etag.clone() {
                call = call.header(IF_RANGE, etag);
            }
        }
        let response = match self.open(&call).await {
            Err(Error::Problem(problem)) if problem.status == 416 => {
                part.restart().await?;
                self.open(&Call::new(Method::GET, self.resolve(&file.url)?)).await?
            }
            response => response?,
        };
        if response.status() != StatusCode::PARTIAL_CONTENT && part.bytes > 0 {
            // The whole file came: ranges are not served, or the file is not the one that was begun.
            part.restart().await?;
        }
        // Weak tags are of no use for ranges.
        part.etag = response.headers().get(ETAG).filter(|tag| !tag.as_bytes().starts_with(b"W/")).cloned();
        let url = response.url().clone();
        let mut chunks = response.bytes_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = match chunk {
                Ok(chunk) => chunk,
                Err(error) => {
                    part.flush().await?;
                    return Err(unreachable(&url, &error));
                }
            };
            if part.bytes + chunk.len() as u64 > file.size {
                part.restart().await?;
                return Err(self.unexpected(format!("{} is longer than announced", file.name)));
            }
            part.append(&chunk).await?;
            on_progress(Progress { bytes: part.bytes, total: file.size });
        }
        part.flush().await?;
        if part.bytes < file.size {
            return Err(Error::Unreachable {
                address: crate::http::address(&url),
                reason: format!("{} ended after {} of {} bytes", file.name, part.bytes, file.size),
                before_sending: false,
            });
        }
        Ok(())
    }
}

/// The temporary file of a download, and the checksum of what is in it.
struct Part {
    path: PathBuf,
    file: tokio::io::BufWriter<tokio::fs::File>,
    hasher: Sha256,
    bytes: u64,
    etag: Option<HeaderValue>,
}

impl Part {
    /// Opens the temporary file and takes over what an earlier download left in it.
    async fn open(path: PathBuf, size: u64) -> Result<Part, Error> {
        let mut file = tokio::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .await
            .map_err(|error| Error::local("write", &path, error))?;
        let mut hasher = Sha256::new();
        let mut bytes = 0;
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let read = file.read(&mut buffer).await.map_err(|error| Error::local("read", &path, error))?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
            bytes += read as u64;
        }
        let file = tokio::io::BufWriter::with_capacity(BUFFER_BYTES, file);
        let mut part = Part { path, file, hasher, bytes, etag: None };
        if part.bytes > size {
            part.restart().await?;
        }
        Ok(part)
    }

    async fn append(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.file.write_all(chunk).await.map_err(|error| Error::local("write", &self.path, error))?;
        self.hasher.update(chunk);
        self.bytes += chunk.len() as u64;
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), Error> {
        self.file.flush().await.map_err(|error| Error::local("write", &self.path, error))
    }

    /// Forgets everything.
    async fn restart(&mut self) -> Result<(), Error> {
        use tokio::io::AsyncSeekExt;
        let result = async {
            self.file.flush().await?;
            self.file.seek(std::io::SeekFrom::Start(0)).await?;
            self.file.get_mut().set_len(0).await
        };
        result.await.map_err(|error| Error::local("write", &self.path, error))?;
        self.hasher = Sha256::new();
        self.bytes = 0;
        self.etag = None;
        Ok(())
    }

    /// Gives the file its real name, or says that its content is wrong.
    async fn finish(&mut self, file: &JobFile, destination: &Path) -> Result<Option<Error>, Error> {
        self.flush().await?;
        let actual = hex(&self.hasher.clone().finalize());
        if let Some(expected) =
            file.sha256.as_deref().filter(|expected| !expected.eq_ignore_ascii_case(&actual))
        {
            let (name, expected) = (file.name.clone(), expected.to_owned());
            return Ok(Some(Error::ChecksumMismatch { name, expected, actual }));
        }
        self.file.get_ref().sync_all().await.map_err(|error| Error::local("write", &self.path, error))?;
        tokio::fs::rename(&self.path, destination)
            .await
            .map_err(|error| Error::local("write", destination, error))?;
        Ok(None)
    }
}

/// `.talk-restored.wav.0123456789ab.part`: hidden, beside the destination, and named after the content, so that what an
/// earlier job left is never continued with another job's bytes.
fn partial_path(destination: &Path, file: &JobFile) -> PathBuf {
    let name = destination.file_name().unwrap_or_default().to_string_lossy();
    let content: String = match &file.sha256 {
        Some(sha256) => sha256.chars().filter(char::is_ascii_hexdigit).take(12).collect(),
        None => hex(&Sha256::digest(file.url.as_bytes())[..6]),
    };
    destination.with_file_name(format!(".{name}.{content}.part"))
}

fn header_value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("digits and ASCII punctuation are valid in a header")
}
