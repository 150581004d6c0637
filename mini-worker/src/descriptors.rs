//! Open files: their limit, and how many there are.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A job holds about 25 descriptors; the usual soft limit of 256 on macOS is used up by ten of them.
const WANTED: u64 = 10_240;

/// Raises the soft limit as far as the hard one allows. Children inherit it.
pub fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(WANTED, |most| most.min(WANTED));
    if current.is_some_and(|now| now < wanted)
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum })
    {
        tracing::warn!(%error, wanted, "the limit of open files could not be raised; many jobs at once may fail");
    }
}

/// How many descriptors this process has open; none where the system does not show them.
pub fn open_count() -> Option<usize> {
    // The folder that is being read is one of them itself.
    let entries = std::fs::read_dir("/dev/fd").ok()?;
    Some(entries.count().saturating_sub(1))
}
