//! The real worker, as a process of its own.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use super::{Edge, Keys, PATIENCE, home, program, until, workerd::end_with_this_thread};

/// A worker to be started.
#[derive(Debug, Clone)]
pub struct WorkerSetup {
    name: String,
    slots: u32,
    environments: Vec<(String, String)>,
    settings: String,
    scores: bool,
    level: String,
}

impl WorkerSetup {
    /// A worker of one slot, without an environment yet.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            slots: 1,
            environments: vec![],
            settings: String::new(),
            scores: false,
            level: "info".to_owned(),
        }
    }

    /// So many jobs at once.
    #[must_use]
    pub fn slots(self, slots: u32) -> Self {
        Self { slots, ..self }
    }

    /// One more scheduler, behind those before it. `origin` is an edge's address, or that of an uplink in front of one.
    #[must_use]
    pub fn environment(mut self, name: &str, origin: &str) -> Self {
        self.environments.push((name.to_owned(), origin.to_owned()));
        self
    }

    /// One more line of the configuration, such as `model_home = "/x"`.
    #[must_use]
    pub fn setting(mut self, line: &str) -> Self {
        self.settings.push_str(line);
        self.settings.push('\n');
        self
    }

    /// Scores completed jobs, which costs every start and every job a second of processor time.
    #[must_use]
    pub fn scores(self) -> Self {
        Self { scores: true, ..self }
    }

    /// What is logged, as in `MINIFLEET_LOG`.
    #[must_use]
    pub fn log_level(self, level: &str) -> Self {
        Self { level: level.to_owned(), ..self }
    }

    /// Starts it and does not wait for it.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn start(self) -> WorkerProcess {
        let folder =
            tempfile::Builder::new().prefix("minifleet-worker-").tempdir().expect("a temporary folder");
        let process = self.spawn(folder.path());
        WorkerProcess { setup: self, folder, process }
    }

    /// Starts it and waits until it has said to the edge that it is ready.
    ///
    /// # Panics
    /// It does not come up; the message has what it printed, or what to build.
    pub fn start_connected(self, edge: &Edge) -> WorkerProcess {
        let worker = self.start();
        worker.wait_until_connected(edge);
        worker
    }

    fn spawn(&self, folder: &Path) -> Child {
        let mut config = format!(
            "worker_id = {:?}\nslots = {}\nwork_folder = {:?}\nstate_folder = {:?}\n{}",
            self.name,
            self.slots,
            folder.join("work"),
            folder.join("state"),
            self.settings,
        );
        config.push_str(&format!("\n[scorer]\nenabled = {}\n", self.scores));
        for (name, origin) in &self.environments {
            config.push_str(&format!(
                "\n[[environment]]\nname = {name:?}\nurl = {origin:?}\nkey_env = \"MINIFLEET_WORKER_KEY\"\n"
            ));
        }
        let config_path = folder.join("worker.toml");
        std::fs::write(&config_path, config).expect("a temporary folder can be written");
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(log_path(folder))
            .expect("a temporary folder can be written");
        let log_again = log.try_clone().expect("a file can be opened twice");
        let mut command = Command::new(program("mini-worker"));
        command
            .args(["run", "--config"])
            .arg(&config_path)
            .env("MINIFLEET_WORKER_KEY", Keys::WORKER.0)
            .env("MINIFLEET_HOME", home())
            .env("MINIFLEET_LOG", &self.level)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(log_again);
        end_with_this_thread(&mut command);
        command.spawn().expect("mini-worker can be run")
    }
}

/// What a worker holds at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holdings {
    /// Resident memory.
    pub memory_bytes: u64,
    /// Open descriptors.
    pub descriptors: u64,
    /// Threads.
    pub threads: u64,
    /// Programs that it has started and that run.
    pub children: u64,
}

/// A running `mini-worker run`. It ends with this value.
#[derive(Debug)]
pub struct WorkerProcess {
    setup: WorkerSetup,
    folder: tempfile::TempDir,
    process: Child,
}

impl WorkerProcess {
    /// Starts a worker of this name for an edge and waits until it is connected.
    ///
    /// # Panics
    /// It does not come up; the message has what it printed, or what to build.
    pub fn start(edge: &Edge, name: &str) -> Self {
        WorkerSetup::new(name).environment("test", &edge.origin()).start_connected(edge)
    }

    /// Starts a worker and does not wait for it.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn start_unconnected(edge: &Edge, name: &str) -> Self {
        WorkerSetup::new(name).environment("test", &edge.origin()).start()
    }

    /// Starts it again under the same name and with the same folders, after [`Self::kill`].
    ///
    /// # Panics
    /// It cannot be started.
    pub fn start_again(&mut self) {
        self.process = self.setup.spawn(self.folder.path());
    }

    /// Waits until it has said to the edge that it is ready.
    ///
    /// # Panics
    /// It has not within the usual patience.
    pub fn wait_until_connected(&self, edge: &Edge) {
        let name = &self.setup.name;
        let api = edge.api(Keys::ACME);
        until(&format!("{name} to connect\n{}", self.log()), PATIENCE, || {
            let status = api.get("/v1/status").expect(200).json();
            let workers = status["workers"].as_array()?;
            workers
                .iter()
                .any(|w| {
                    w["workerId"] == *name && w["connected"] == true && w["openSlots"].as_u64() > Some(0)
                })
                .then_some(())
        });
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Its folder: `work`, `state` and the log.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Sends a signal by its name, such as `TERM`.
    ///
    /// # Panics
    /// It has ended.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.id().to_string()]).status();
        assert!(sent.expect("`kill` can be run").success(), "the worker has ended");
    }

    /// Waits for its end; returns its exit code.
    ///
    /// # Panics
    /// It goes on.
    pub fn wait_for_end(&mut self, patience: Duration) -> Option<i32> {
        until("the worker to end", patience, || self.process.try_wait().expect("a child can be waited for"))
            .code()
    }

    /// SIGKILL, as a crash would. Programs that it runs end by themselves when their pipes break.
    pub fn kill(&mut self) {
        // It may have ended by itself: then there is nothing left to kill.
        self.process.kill().unwrap_or_default();
        self.process.wait().map(|_| ()).unwrap_or_default();
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// What it printed so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(log_path(self.folder.path())).unwrap_or_default()
    }

    /// Time stamp and text of the log lines that hold these words, in their order.
    pub fn log_lines(&self, words: &str) -> Vec<String> {
        self.log().lines().filter(|line| line.contains(words)).map(str::to_owned).collect()
    }

    /// What it holds now: resident bytes, descriptors, threads, running programs. Linux only.
    pub fn holdings(&self) -> Option<Holdings> {
        let process = format!("/proc/{}", self.process.id());
        let status = std::fs::read_to_string(format!("{process}/status")).ok()?;
        let number = |name: &str| -> Option<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let tasks = std::fs::read_dir(format!("{process}/task")).ok()?.flatten();
        let children = tasks
            .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
            .map(|ids| ids.split_whitespace().count() as u64)
            .sum();
        Some(Holdings {
            memory_bytes: number("VmRSS:")? * 1024,
            descriptors: std::fs::read_dir(format!("{process}/fd")).ok()?.count() as u64,
            threads: number("Threads:")?,
            children,
        })
    }

    /// The most memory that it ever had resident, in bytes. Linux only.
    pub fn peak_memory_bytes(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kib * 1024)
    }

    /// How much processor time it has used, its ended programs included. Linux only.
    pub fn processor_time(&self) -> Option<Duration> {
        super::processor_time(&self.process.id().to_string())
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("--- what {} printed:\n{}---", self.setup.name, self.log());
        }
    }
}

fn log_path(folder: &Path) -> PathBuf {
    folder.join("worker.log")
}
