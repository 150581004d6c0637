//! A real browser that listens.

use serde::Deserialize;
use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use super::{repository, workerd::end_with_this_thread};

/// What the page's player says of itself.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlayerState {
    /// The play button could be pressed, and was.
    pub pressed: bool,
    /// Seconds that were heard.
    pub current_time: f64,
    /// Length of what is known of the stream; for a growing one that of its listed part.
    pub duration: Option<f64>,
    /// Played to its end.
    pub ended: bool,
    /// Seconds that were fetched and decoded ahead.
    pub buffered: f64,
    /// What the browser says of the media when it cannot play them.
    pub media_error: Option<String>,
    /// What the page tells its reader.
    pub message: Option<String>,
    /// Errors of scripts and requests.
    pub problems: Vec<String>,
}

/// Chromium with a listen page open. It ends with this value.
#[derive(Debug)]
pub struct Browser {
    process: Child,
    states: mpsc::Receiver<PlayerState>,
    latest: Option<PlayerState>,
}

impl Browser {
    /// Opens a listen page and presses play as soon as that is possible.
    ///
    /// # Panics
    /// There is no browser or no Node; the message says how to get one.
    pub fn listen(page: &str) -> Self {
        let mut command = Command::new(node());
        command
            .arg(repository().join("tests/browser/listen.mjs"))
            .arg(chromium())
            .arg(page)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        end_with_this_thread(&mut command);
        let mut process = command.spawn().expect("node can be run");
        let (sender, states) = mpsc::channel();
        let output = process.stdout.take().expect("its standard output is a pipe");
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let Ok(state) = serde_json::from_str(&line) else { continue };
                if sender.send(state).is_err() {
                    break;
                }
            }
        });
        Self { process, states, latest: None }
    }

    /// Waits for a state of the player.
    ///
    /// # Panics
    /// It does not come in time, or the browser ends.
    pub fn wait_for(
        &mut self,
        what: &str,
        patience: Duration,
        mut wanted: impl FnMut(&PlayerState) -> bool,
    ) -> PlayerState {
        let deadline = Instant::now() + patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.states.recv_timeout(left) {
                Ok(state) if wanted(&state) => return state,
                Ok(state) => self.latest = Some(state),
                Err(error) => panic!("{what} did not happen ({error}); last: {:?}", self.latest),
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // At the end of its input the script closes the browser and removes its profile.
        drop(self.process.stdin.take());
        for _ in 0..100 {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        self.process.kill().unwrap_or_default();
        self.process.wait().map(|_| ()).unwrap_or_default();
    }
}

/// The Node that `npm ci` installs, else the system's.
fn node() -> PathBuf {
    let own = repository().join("node_modules/.bin/node");
    if own.exists() { own } else { "node".into() }
}

/// A browser of this machine: `CHROMIUM`, else one of the usual names.
fn chromium() -> PathBuf {
    if let Some(named) = std::env::var_os("CHROMIUM").filter(|name| !name.is_empty()) {
        return named.into();
    }
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let folders: Vec<PathBuf> =
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    let on_the_path = folders.iter().flat_map(|folder| names.map(|name| folder.join(name)));
    let of_macos = PathBuf::from("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome");
    on_the_path
        .chain([of_macos])
        .find(|path| path.exists())
        .expect("there is no Chromium: install it (`scripts/setup --tests` does), or set CHROMIUM to its program file")
}
