//! ffmpeg and ffprobe as children: they read only what they are given, leave no trace, and never outlive their job.

use std::ffi::OsStr;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::error::{FileError, JobError, ProgramError};
use crate::config::MediaConfig;

/// Only these protocols: a playlist, a script or a reference inside an upload reaches no network and no other file
/// through anything else. Formats that refer to other files are kept out by [`FORMATS`].
pub const PROTOCOLS: &str = "file,pipe";

/// Containers and raw streams that are read, by ffmpeg's names. Whatever refers to other files (hls, concat, dash, imf,
/// sdp, image sequences, ...), reads devices, or takes any text for a picture is not here.
pub const FORMATS: &str = "wav,w64,rf64,mp3,flac,ogg,mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,aac,loas,aiff,asf,asf_o,wsd,\
avi,mpegts,mpeg,mpegvideo,flv,live_flv,amr,amrnb,amrwb,caf,au,ac3,eac3,dts,dtshd,truehd,mlp,ape,wv,tta,tak,mpc,mpc8,\
oma,aea,dsf,iff,voc,sox,avr,ircam,nut,mxf,gxf,rm,ivf,dv,ast,sln,gsm,g722,g729,qcp,aptx,shn,bwf,nistsphere,paf,pvf,\
wtv,ty,vqf,xwma,wve,smjpeg,swf,y4m,h264,hevc,m4v,mjpeg,gif,png_pipe,jpeg_pipe";

/// Last bytes of a program's messages that go into a failure.
const LAST_WORDS_BYTES: u64 = 600;

/// Longest time that a question about the programs themselves may take.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(20);

/// Variables that children get; above all no secret of the worker.
const PASSED_ON: [&str; 6] =
    ["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"];

/// The programs, and what this build of them can do.
#[derive(Debug, Clone)]
pub struct MediaPrograms {
    ffmpeg: PathBuf,
    ffprobe: PathBuf,
    /// Whether ffmpeg resamples with soxr.
    pub soxr: bool,
    /// Whether ffmpeg encodes MP3.
    pub mp3: bool,
    /// ffmpeg's own words about its version.
    pub version: String,
}

impl MediaPrograms {
    /// Asks both programs what they are.
    ///
    /// # Errors
    /// When one of them does not start.
    pub async fn find(config: &MediaConfig) -> Result<Self, ProgramError> {
        let version = answer(&config.ffmpeg, "ffmpeg", &["-version"]).await?;
        answer(&config.ffprobe, "ffprobe", &["-version"]).await?;
        let encoders = answer(&config.ffmpeg, "ffmpeg", &["-hide_banner", "-encoders"]).await?;
        Ok(Self {
            ffmpeg: config.ffmpeg.clone(),
            ffprobe: config.ffprobe.clone(),
            soxr: version.contains("--enable-libsoxr"),
            mp3: encoders.contains("libmp3lame"),
            version: version.lines().next().unwrap_or_default().to_owned(),
        })
    }

    /// ffmpeg, ready for its arguments.
    pub fn ffmpeg<'a>(&'a self, folder: &'a Path, log: &'static str) -> Invocation<'a> {
        Invocation::new(&self.ffmpeg, "ffmpeg", folder, log).args(["-hide_banner", "-nostdin", "-v", "error"])
    }

    /// ffprobe, ready for its arguments.
    pub fn ffprobe<'a>(&'a self, folder: &'a Path, log: &'static str) -> Invocation<'a> {
        Invocation::new(&self.ffprobe, "ffprobe", folder, log).args(["-hide_banner", "-v", "error"])
    }
}

async fn answer(path: &Path, program: &'static str, question: &[&str]) -> Result<String, ProgramError> {
    let mut command = Command::new(path);
    command.args(question).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let start = |source| ProgramError::Start { program, source };
    match tokio::time::timeout(QUESTION_TIMEOUT, command.output()).await {
        Ok(output) => Ok(String::from_utf8_lossy(&output.map_err(start)?.stdout).into_owned()),
        Err(_) => Err(start(std::io::ErrorKind::TimedOut.into())),
    }
}

/// One run of a program inside a job's folder: it sees relative names only, so its messages hold no path of the machine.
#[derive(Debug)]
pub struct Invocation<'a> {
    command: Command,
    program: &'static str,
    folder: &'a Path,
    log: &'static str,
    niceness: i32,
}

impl<'a> Invocation<'a> {
    fn new(path: &Path, program: &'static str, folder: &'a Path, log: &'static str) -> Self {
        let mut command = Command::new(path);
        command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
        command.env_clear().env("AV_LOG_FORCE_NOCOLOR", "1");
        for name in PASSED_ON {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        // A process group of its own: Ctrl-C in a terminal drains the worker and must not end its children.
        command.process_group(0).kill_on_drop(true);
        Self { command, program, folder, log, niceness: 0 }
    }

    /// More arguments.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    /// The uploaded file as input: untrusted, so read with the allowed protocols and formats only.
    #[must_use]
    pub fn untrusted_input(self, name: &str) -> Self {
        let name = format!("file:{name}");
        self.args(["-protocol_whitelist", PROTOCOLS, "-format_whitelist", FORMATS, "-i", &name])
    }

    /// Runs with less of the processor than others.
    #[must_use]
    pub fn nice(mut self) -> Self {
        self.niceness = 10;
        self
    }

    /// Its standard input is written by us.
    #[must_use]
    pub fn with_stdin(mut self) -> Self {
        self.command.stdin(Stdio::piped());
        self
    }

    /// Its standard output is read by us.
    #[must_use]
    pub fn with_stdout(mut self) -> Self {
        self.command.stdout(Stdio::piped());
        self
    }

    /// Starts it. Its messages go to the log file, because nobody reads a pipe of them while the audio flows.
    ///
    /// # Errors
    /// When the log cannot be made or the program does not start.
    pub fn start(mut self) -> Result<RunningProgram, JobError> {
        let log = self.folder.join(self.log);
        let messages =
            std::fs::File::create(&log).map_err(FileError::doing("make a log in the job's folder"))?;
        self.command.stderr(messages);
        prepare_child(&mut self.command, self.niceness);
        let program = self.program;
        let child = self.command.spawn().map_err(|source| ProgramError::Start { program, source })?;
        Ok(RunningProgram { child, program, log })
    }
}

/// Sets what a child can only set for itself: its niceness, and on Linux that it is killed when the worker dies.
fn prepare_child(command: &mut Command, niceness: i32) {
    let prepare = move || {
        if niceness != 0 {
            // A child at full priority is no reason to fail a job.
            rustix::process::nice(niceness).unwrap_or_default();
        }
        #[cfg(target_os = "linux")]
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
        Ok(())
    };
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. The closure makes two system calls
    // (setpriority and prctl), allocates nothing, takes no lock and touches no state of the parent.
    unsafe { command.pre_exec(prepare) };
}

/// A started program. Dropping it kills it.
#[derive(Debug)]
pub struct RunningProgram {
    child: Child,
    program: &'static str,
    log: PathBuf,
}

impl RunningProgram {
    /// The end to write to, once, when it was asked for.
    pub fn stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// The end to read from, once, when it was asked for.
    pub fn stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// Waits for its end. True when it succeeded.
    ///
    /// # Errors
    /// When it was ended by a signal: then nothing it wrote can be trusted to be whole.
    pub async fn wait(&mut self) -> Result<bool, JobError> {
        let program = self.program;
        let status = self.child.wait().await.map_err(|source| ProgramError::Start { program, source })?;
        match signal_of(status) {
            Some(signal) => Err(ProgramError::Killed { program, signal }.into()),
            None => Ok(status.success()),
        }
    }

    /// The last lines of its messages.
    pub fn last_words(&self) -> String {
        read_last_words(&self.log).unwrap_or_default()
    }
}

fn signal_of(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

fn read_last_words(log: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LAST_WORDS_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(LAST_WORDS_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().map(without_address).filter(|line| !line.is_empty()).collect();
    Ok(lines[lines.len().saturating_sub(3)..].join("; "))
}

/// `[mp3 @ 0x55d0c8]  Header missing` without its memory address.
fn without_address(line: &str) -> &str {
    match line.split_once("] ") {
        Some((head, rest)) if head.contains(" @ 0x") => rest.trim(),
        _ => line.trim(),
    }
}
