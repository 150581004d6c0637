//! Feeds the decoded timeline to the model, window by window, and writes what comes back.

use shared_protocol::PhaseTiming;

use super::error::{FileError, JobError, RestoreError};
use super::progress::{Fact, Reporter};
use super::timeline::{TimelineReader, TimelineWriter, to_interleaved, to_planar};
use super::timing::{AttemptClock, Intervals};
use crate::inference::{RestoreSession, Restored, SAMPLE_RATE};

/// The first window is just long enough that a first segment of one second comes out of it: one second, one more that
/// the front end looks ahead, and what model and encoder keep back (0.03 s and 0.05 s).
const FIRST_WINDOW: u64 = SAMPLE_RATE as u64 * 22 / 10;

/// Later windows: two seconds keep the cost per window small and let other jobs in between.
const WINDOW: u64 = SAMPLE_RATE as u64 * 2;

/// A shorter wait for the model is none: threads hand over to each other in that time.
const SHORTEST_WAIT: std::time::Duration = std::time::Duration::from_millis(10);

/// What the model did.
#[derive(Debug)]
pub struct ModelWork {
    /// Seconds that it computed.
    pub computed_seconds: f64,
    /// When it was waited for and when it computed.
    pub timings: Vec<PhaseTiming>,
}

/// Restores a whole timeline.
///
/// # Errors
/// When the model fails, or gives back more or fewer samples than it got.
pub async fn restore(
    mut session: RestoreSession,
    mut decoded: TimelineReader,
    mut restored: TimelineWriter,
    channels: usize,
    clock: AttemptClock,
    reporter: &Reporter,
) -> Result<ModelWork, JobError> {
    let mut account = Account::default();
    let mut taken = 0;
    let mut window = FIRST_WINDOW;
    loop {
        let next = decoded.next(window, window).await.map_err(FileError::doing("read the decoded audio"))?;
        window = WINDOW;
        let asked = clock.now();
        let answer = match &next {
            Some(bytes) => {
                let planar = to_planar(bytes, channels);
                taken += planar.first().map_or(0, Vec::len) as u64;
                session.restore(planar).await
            }
            None => session.finish().await,
        };
        let answer = answer.map_err(RestoreError::Engine)?;
        account.add(&answer, asked, clock);
        restored
            .append(&to_interleaved(&answer.audio))
            .await
            .map_err(FileError::doing("write the restored audio"))?;
        reporter.say(Fact::Restored { frames: restored.frames() }).await;
        if next.is_none() {
            break;
        }
    }
    let given = restored.frames();
    if given != taken {
        return Err(RestoreError::WrongLength { taken, given }.into());
    }
    restored.end();
    reporter.say(Fact::RestoredAll).await;
    Ok(account.close())
}

#[derive(Debug, Default)]
struct Account {
    waits: Intervals,
    works: Intervals,
    computed_seconds: f64,
}

impl Account {
    fn add(&mut self, answer: &Restored, asked: shared_protocol::DurationMs, clock: AttemptClock) {
        let milliseconds = |duration: std::time::Duration| duration.as_millis() as u64;
        let end = clock.now();
        let began = shared_protocol::DurationMs(end.0.saturating_sub(milliseconds(answer.computed)));
        if answer.waited >= SHORTEST_WAIT {
            let waited = shared_protocol::DurationMs(asked.0 + milliseconds(answer.waited));
            self.waits.add(asked, waited.min(began.max(asked)));
        }
        self.works.add(began.max(asked), end);
        self.computed_seconds += answer.computed.as_secs_f64();
    }

    fn close(self) -> ModelWork {
        let mut timings = self.waits.timings("inference_wait");
        timings.extend(self.works.timings("inference"));
        ModelWork { computed_seconds: self.computed_seconds, timings }
    }
}
