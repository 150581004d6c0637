//! A wall clock that a test can move, for what happens hours later. Linux only.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// Moves the wall clock of one process. Alarms that are already armed do not notice before a restart.
#[derive(Debug)]
pub struct WallClock {
    library: PathBuf,
    offset_path: PathBuf,
    offset: File,
}

impl WallClock {
    /// Compiles the shim into `folder`.
    ///
    /// # Panics
    /// There is no C compiler (`cc`).
    pub fn build(folder: &Path) -> Self {
        let library = folder.join("wall_clock.so");
        let source = folder.join("wall_clock.c");
        std::fs::write(&source, include_str!("wall_clock.c")).expect("the test's folder can be written");
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", "-O2", "-o"])
            .args([&library, &source])
            .status()
            .expect("a C compiler (cc) is installed: it builds the movable clock");
        assert!(status.success(), "cc could not build the movable clock");
        let offset_path = folder.join("wall_clock.offset");
        let offset = File::options()
            .create(true)
            .truncate(true)
            .read(true)
            .write(true)
            .open(&offset_path)
            .expect("the test's folder can be written");
        offset.set_len(4096).expect("the test's folder can be written");
        Self { library, offset_path, offset }
    }

    /// Makes a process see this clock.
    pub fn apply(&self, command: &mut Command) {
        command.env("LD_PRELOAD", &self.library).env("WALL_CLOCK_OFFSET_FILE", &self.offset_path);
    }

    /// Sets how far the clock is ahead.
    ///
    /// # Panics
    /// The file cannot be written.
    pub fn set_ahead(&self, by: Duration) {
        let milliseconds = i64::try_from(by.as_millis()).expect("less than 292 million years");
        self.offset.write_all_at(&milliseconds.to_le_bytes(), 0).expect("the offset file can be written");
    }
}
