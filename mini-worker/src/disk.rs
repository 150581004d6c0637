//! Watches the space of the work folder. It never refuses a job: it tells somebody in time, and again while it lasts.

use std::path::PathBuf;
use std::time::Duration;

/// Below this somebody should look: a dozen long jobs fit in still.
const WARNING_BELOW: u64 = 20_000_000_000;

/// Below this jobs will fail soon: an hour of stereo takes about 4 GB while it runs.
const ERROR_BELOW: u64 = 5_000_000_000;

/// How often the space is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// How often the same is said again while it lasts.
const SAY_EVERY: Duration = Duration::from_secs(600);

/// How much space there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// Enough.
    Enough,
    /// Somebody should look.
    Low,
    /// Jobs will fail soon.
    VeryLow,
}

impl Space {
    /// Of so many free bytes.
    pub fn of(free_bytes: u64) -> Self {
        match free_bytes {
            ..ERROR_BELOW => Self::VeryLow,
            ERROR_BELOW..WARNING_BELOW => Self::Low,
            _ => Self::Enough,
        }
    }
}

/// Decides when to say something.
#[derive(Debug, Default)]
struct Watch {
    said: Option<(Space, Duration)>,
}

impl Watch {
    /// Whether to say it now, at a time since any start.
    fn is_due(&mut self, space: Space, now: Duration) -> bool {
        let due = match self.said {
            None => space != Space::Enough,
            Some((before, at)) => {
                before != space || (space != Space::Enough && now.saturating_sub(at) >= SAY_EVERY)
            }
        };
        if due {
            self.said = Some((space, now));
        }
        due
    }
}

/// Free bytes of the folder's file system for this process; none when it cannot be asked.
pub fn free_bytes(folder: &std::path::Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(folder).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Looks now and every minute, for ever.
pub async fn watch(work_folder: PathBuf) {
    let started = tokio::time::Instant::now();
    let mut watch = Watch::default();
    loop {
        if let Some(free_bytes) = free_bytes(&work_folder) {
            let space = Space::of(free_bytes);
            if watch.is_due(space, started.elapsed()) {
                match space {
                    Space::Enough => tracing::info!(free_bytes, "there is enough disk space again"),
                    Space::Low => tracing::warn!(
                        free_bytes,
                        "disk space is low: make room where the work folder lies (below 20 GB)"
                    ),
                    Space::VeryLow => tracing::error!(
                        free_bytes,
                        "disk space is very low: jobs will fail soon; make room where the work folder lies (below 5 GB)"
                    ),
                }
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_space_is_said_at_once_and_again_while_it_lasts_and_enough_only_after_too_little() {
        assert_eq!([4, 5, 19, 20].map(|gb| Space::of(gb * 1_000_000_000)), {
            [Space::VeryLow, Space::Low, Space::Low, Space::Enough]
        });
        let mut watch = Watch::default();
        let minutes = [
            (Space::Enough, false),
            (Space::Low, true),
            (Space::Low, false),
            (Space::VeryLow, true),
            (Space::VeryLow, false),
            (Space::Enough, true),
            (Space::Enough, false),
        ];
        for (minute, (space, said)) in (0..).zip(minutes) {
            assert_eq!(watch.is_due(space, LOOK_EVERY * minute), said, "minute {minute}");
        }
        let said = (10..=40).filter(|minute| watch.is_due(Space::Low, LOOK_EVERY * *minute)).count();
        assert_eq!(said, 4, "at once, and every ten minutes of half an hour");
    }
}
