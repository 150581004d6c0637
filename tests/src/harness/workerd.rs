//! The built edge under real `workerd`: on a port of its own, with its state on disk, to be killed and booted again.

use std::{
    io::{BufRead, BufReader, Read},
    os::unix::{fs::symlink, process::CommandExt},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError, mpsc},
    time::{Duration, Instant},
};

use edge::api::admin::call::AdminCall;
use edge::api::call::{Call, Reply};
use edge::api::tenants::call::{TenantCall, TenantReply};
use edge::api::view::UsageView;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Api, Installation, Key, Keys, PATIENCE, WorkerdConfig, wall_clock::WallClock};

/// How to boot an edge.
#[derive(Debug, Clone, Copy, Default)]
pub struct EdgeOptions {
    /// Makes [`Edge::set_wall_clock_ahead`] work.
    pub movable_wall_clock: bool,
    /// Collects garbage often, for tests of what stays in memory.
    pub garbage_is_collected_often: bool,
    /// Variables beside those of `wrangler.toml`, or in their place.
    pub vars: &'static [(&'static str, &'static str)],
}

/// A running edge. It ends with this value, and with the thread that booted it should the test be killed.
#[derive(Debug)]
pub struct Edge {
    installation: Installation,
    folder: tempfile::TempDir,
    clock: Option<WallClock>,
    process: Option<Child>,
    port: u16,
    control_port: u16,
    log: Log,
}

/// What `workerd` printed so far.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Log {
    fn add(&self, line: &str) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.push_str(line);
        log.push('\n');
    }

    fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Edge {
    /// Boots an edge with empty state.
    ///
    /// # Panics
    /// It does not come up; the message has what it printed, or what to install.
    pub fn start() -> Self {
        Self::start_with(EdgeOptions::default())
    }

    /// Boots an edge with empty state, as asked for.
    ///
    /// # Panics
    /// As [`Self::start`].
    pub fn start_with(options: EdgeOptions) -> Self {
        let installation = Installation::find();
        let folder =
            tempfile::Builder::new().prefix("minifleet-edge-").tempdir().expect("a temporary folder");
        let path = folder.path();
        for state in ["objects", "r2"] {
            std::fs::create_dir_all(path.join("state").join(state))
                .expect("a temporary folder can be written");
        }
        // `embed` takes only paths below the configuration's own folder.
        symlink(&installation.edge_build, path.join("app")).expect("a temporary folder can be written");
        symlink(&installation.miniflare_workers, path.join("miniflare"))
            .expect("a temporary folder can be written");
        let assets = installation.edge_build.join("assets");
        let mut config = WorkerdConfig::read();
        if options.garbage_is_collected_often {
            config.collect_garbage_often();
        }
        for (name, value) in options.vars {
            config.set_var(name, value);
        }
        let config = config.to_capnp(&path.join("state"), &assets, &Keys::secrets());
        std::fs::write(path.join("edge.capnp"), config).expect("a temporary folder can be written");
        let clock = options.movable_wall_clock.then(|| WallClock::build(path));
        let mut edge = Self {
            installation,
            folder,
            clock,
            process: None,
            port: 0,
            control_port: 0,
            log: Log::default(),
        };
        edge.boot();
        edge
    }

    /// Boots it again on the same state, after [`Self::kill`]. The port is another one unless it was asked to stay. Returns how
    /// long it took to listen.
    ///
    /// # Panics
    /// As [`Self::start`].
    pub fn boot(&mut self) -> Duration {
        let started = Instant::now();
        let mut command = Command::new(&self.installation.workerd);
        command
            .args(["serve", "edge.capnp", "--experimental", "--control-fd", "1"])
            .arg(format!("--socket-addr=http=127.0.0.1:{}", self.port))
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(clock) = &self.clock {
            clock.apply(&mut command);
        }
        end_with_this_thread(&mut command);
        let mut process = command.spawn().expect("workerd can be run: `npm ci` installs it");
        let (listening, port) = mpsc::channel();
        let log = self.log.clone();
        read_lines(process.stdout.take(), move |line| {
            let event = serde_json::from_str::<serde_json::Value>(line).unwrap_or_default();
            let port = event["port"].as_u64().and_then(|port| u16::try_from(port).ok());
            match (port, event["socket"].as_str()) {
                (Some(port), Some(socket)) if event["event"] == "listen" => {
                    // Nobody waits any more when the boot was given up.
                    listening.send((socket.to_owned(), port)).unwrap_or_default();
                }
                _ => log.add(line),
            }
        });
        let log = self.log.clone();
        read_lines(process.stderr.take(), move |line| log.add(line));
        self.process = Some(process);
        for _ in ["http", "control"] {
            match port.recv_timeout(PATIENCE) {
                Ok((socket, port)) if socket == "http" => self.port = port,
                Ok((_, port)) => self.control_port = port,
                Err(_) => panic!("workerd does not listen:\n{}", self.log()),
            }
        }
        started.elapsed()
    }

    /// SIGKILL, as a crash or a power cut would.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // It may have ended by itself: then there is nothing left to kill.
            process.kill().unwrap_or_default();
            process.wait().map(|_| ()).unwrap_or_default();
        }
    }

    /// How much processor time it has used. Linux only.
    pub fn processor_time(&self) -> Option<Duration> {
        super::processor_time(&self.process.as_ref()?.id().to_string())
    }

    /// Where it listens on 127.0.0.1. The same after another [`Self::boot`].
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its address.
    pub fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Its folder of state.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What it printed so far.
    pub fn log(&self) -> String {
        self.log.text()
    }

    /// Its API, as the holder of this key sees it.
    pub fn api(&self, key: Key) -> Api {
        Api::new(self.origin(), Some(key))
    }

    /// Its API without any key.
    pub fn api_without_key(&self) -> Api {
        Api::new(self.origin(), None)
    }

    /// The process.
    ///
    /// # Panics
    /// It was killed.
    pub fn process_id(&self) -> u32 {
        self.process.as_ref().expect("it runs").id()
    }

    /// Calls the scheduler's object as the Worker in front does, one call after the other.
    ///
    /// # Panics
    /// It does not answer.
    pub fn call_scheduler(&self, calls: &[Call]) -> Vec<Reply> {
        self.control(&json!({ "calls": calls }))
    }

    /// Calls a tenant's object as the Worker in front and other objects do, one call after the other.
    ///
    /// # Panics
    /// It does not answer.
    pub fn call_tenant(&self, tenant: &str, calls: &[TenantCall]) -> Vec<TenantReply> {
        self.control(&json!({ "tenant": tenant, "calls": calls }))
    }

    /// What the scheduler's object has used since it was last made.
    ///
    /// # Panics
    /// It does not say.
    pub fn usage(&self) -> UsageView {
        match self.call_scheduler(&[Call::Admin(AdminCall::Usage)]).pop() {
            Some(Reply::Admin { document, .. }) => {
                serde_json::from_value(document).expect("the usage is what it was when this was built")
            }
            other => panic!("usage was asked for, and the answer is {other:?}"),
        }
    }

    /// Takes the objects' memory, as the platform does when it needs it. Sockets live on.
    ///
    /// # Panics
    /// It cannot be done.
    pub fn evict(&self) {
        self.control::<Reply>(&json!({ "evict": { "webSockets": "hibernate" } }));
    }

    /// Whether the scheduler's answers to whoever asks it to take a job arrive. It takes the jobs all the same. A new boot answers.
    ///
    /// # Panics
    /// It cannot be done.
    pub fn set_scheduler_answers(&self, does: bool) {
        self.control::<Reply>(&json!({ "loseAnswers": !does }));
    }

    fn control<R: DeserializeOwned>(&self, order: &Value) -> Vec<R> {
        let control = Api::new(format!("http://127.0.0.1:{}", self.control_port), None);
        let answer = control.post("/", order);
        serde_json::from_slice(&answer.body).unwrap_or_else(|error| {
            panic!("the control answered {} {} ({error})\n{}", answer.status, answer.text(), self.log())
        })
    }

    /// Sets how far its wall clock is ahead of this machine's.
    ///
    /// # Panics
    /// It was not booted with a movable clock.
    pub fn set_wall_clock_ahead(&self, by: Duration) {
        self.clock.as_ref().expect("booted with movable_wall_clock").set_ahead(by);
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("--- what the edge printed:\n{}---", self.log());
        }
    }
}

/// Lets the system end the process together with the thread that starts it, so that a killed test leaves nothing behind.
/// (macOS has no such thing; there a killed test leaves its processes.)
pub(super) fn end_with_this_thread(command: &mut Command) {
    #[cfg(target_os = "linux")]
    {
        let end_with_parent = || {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            Ok(())
        };
        // SAFETY: between fork and exec only one system call is made, which allocates nothing.
        unsafe { command.pre_exec(end_with_parent) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = command.process_group(0);
}

fn read_lines(pipe: Option<impl Read + Send + 'static>, mut each: impl FnMut(&str) + Send + 'static) {
    let Some(pipe) = pipe else { return };
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            each(&line);
        }
    });
}
