//! The real worker, as a process of its own.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use super::{Edge, Keys, PATIENCE, home, program, until, workerd::end_with_this_thread};

/// A running `mini-worker run`. It ends with this value.
#[derive(Debug)]
pub struct WorkerProcess {
    name: String,
    folder: tempfile::TempDir,
    process: Child,
}

impl WorkerProcess {
    /// Starts a worker of this name for an edge and waits until it is connected.
    ///
    /// # Panics
    /// It does not come up; the message has what it printed, or what to build.
    pub fn start(edge: &Edge, name: &str) -> Self {
        let worker = Self::start_unconnected(edge, name);
        let api = edge.api(Keys::ACME);
        until(&format!("{name} to connect\n{}", worker.log()), PATIENCE, || {
            let status = api.get("/v1/status").expect(200).json();
            let workers = status["workers"].as_array()?;
            workers
                .iter()
                .any(|w| w["workerId"] == name && w["connected"] == true && w["openSlots"].as_u64() > Some(0))
                .then_some(())
        });
        worker
    }

    /// Starts a worker and does not wait for it.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn start_unconnected(edge: &Edge, name: &str) -> Self {
        let folder =
            tempfile::Builder::new().prefix("minifleet-worker-").tempdir().expect("a temporary folder");
        let process = spawn(folder.path(), &edge.origin(), name);
        Self { name: name.to_owned(), folder, process }
    }

    /// Starts it again under the same name and with the same folders, after [`Self::kill`].
    ///
    /// # Panics
    /// It cannot be started.
    pub fn start_again(&mut self, edge: &Edge) {
        self.process = spawn(self.folder.path(), &edge.origin(), &self.name);
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

    /// The most memory that it ever had resident, in bytes. Linux only.
    pub fn peak_memory_bytes(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kib * 1024)
    }

    /// How much processor time it has used, its ended programs included. Linux only.
    pub fn processor_time(&self) -> Option<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).ok()?;
        // Fields 14 to 17 of the whole; the name in field 2 may hold anything, so count behind it.
        let fields: Vec<u64> =
            stat.rsplit_once(") ")?.1.split(' ').skip(11).take(4).filter_map(|f| f.parse().ok()).collect();
        let ticks: u64 = fields.iter().sum();
        // The kernel reports 100 ticks a second on every platform that it runs on today.
        Some(Duration::from_millis(ticks * 10))
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("--- what {} printed:\n{}---", self.name, self.log());
        }
    }
}

fn log_path(folder: &Path) -> PathBuf {
    folder.join("worker.log")
}

fn spawn(folder: &Path, origin: &str, name: &str) -> Child {
    let config = format!(
        "worker_id = {name:?}\nslots = 1\nwork_folder = {:?}\nstate_folder = {:?}\n\n\
         [[environment]]\nname = \"test\"\nurl = {origin:?}\nkey_env = \"MINIFLEET_WORKER_KEY\"\n",
        folder.join("work"),
        folder.join("state"),
    );
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
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(log_again);
    end_with_this_thread(&mut command);
    command.spawn().expect("mini-worker can be run")
}
