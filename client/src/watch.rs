//! Waiting for a job: look at it again and again, first quickly, then once a second, also across an outage of the service.

use std::time::{Duration, Instant};

use reqwest::StatusCode;
use reqwest::header::{ETAG, HeaderValue, IF_NONE_MATCH};
use shared_protocol::JobId;

use crate::errors::{Error, ErrorKind};
use crate::http::Client;
use crate::jobs::Job;

/// How to wait for a job.
#[derive(Debug, Clone, Copy)]
pub struct WaitOptions {
    /// Pause between two looks at the beginning, when first audio is near.
    pub first_interval: Duration,
    /// Pause between two looks at a long job.
    pub last_interval: Duration,
    /// How long the service may be away before waiting is given up. The job itself goes on.
    pub patience: Duration,
}

impl Default for WaitOptions {
    fn default() -> Self {
        WaitOptions {
            first_interval: Duration::from_millis(250),
            last_interval: Duration::from_secs(1),
            patience: Duration::from_secs(180),
        }
    }
}

impl WaitOptions {
    /// A twentieth of the time waited so far, between the two bounds: reaches 1 s after 20 s.
    fn interval(&self, waited: Duration) -> Duration {
        (waited / 20).max(self.first_interval).min(self.last_interval.max(self.first_interval))
    }
}

/// What happens while a job is watched.
#[derive(Debug)]
pub enum WatchEvent {
    /// The job as it is now; the first look at it, and then every change.
    Changed(Box<Job>),
    /// The service does not answer; watching goes on.
    Away {
        /// For how long already.
        since: Duration,
        /// What it said or did not say last.
        reason: Error,
    },
    /// It answers again.
    Back {
        /// How long it was away.
        after: Duration,
    },
}

/// Looks at one job until it is settled; made by [`Client::watch`].
#[derive(Debug)]
pub struct JobWatch {
    client: Client,
    job_id: JobId,
    options: WaitOptions,
    started: Instant,
    pause: Duration,
    last: Option<(Job, Option<HeaderValue>)>,
    /// Whether `last` has not been given out yet.
    unseen: bool,
    away_since: Option<Instant>,
}

impl JobWatch {
    /// Waits for the next event. Dropping the future loses nothing. When the job is settled the caller stops asking.
    ///
    /// # Errors
    /// When there is no such job, the key is refused, or the service was away for longer than
    /// [`WaitOptions::patience`].
    pub async fn next(&mut self) -> Result<WatchEvent, Error> {
        loop {
            if let (true, Some((job, _))) = (self.unseen, &self.last) {
                self.unseen = false;
                return Ok(WatchEvent::Changed(Box::new(job.clone())));
            }
            tokio::time::sleep(self.pause).await;
            self.pause = self.options.interval(self.started.elapsed());
            match self.look().await {
                Ok(()) => {
                    if let Some(since) = self.away_since.take() {
                        return Ok(WatchEvent::Back { after: since.elapsed() });
                    }
                }
                Err(error) if error.kind() == ErrorKind::Unavailable => {
                    let since = *self.away_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= self.options.patience {
                        return Err(error);
                    }
                    let asked = error.retry_after().unwrap_or_default().min(self.options.patience);
                    self.pause = self.options.last_interval.max(asked);
                    return Ok(WatchEvent::Away { since: since.elapsed(), reason: error });
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// One look at the job; the answer may be that it has not changed.
    async fn look(&mut self) -> Result<(), Error> {
        let mut call = self.client.job_call(&self.job_id);
        if let Some((_, Some(etag))) = &self.last {
            call = call.header(IF_NONE_MATCH, etag.clone());
        }
        let answer = self.client.call_once(&call).await?;
        if answer.status == StatusCode::NOT_MODIFIED {
            return Ok(());
        }
        let job: Job = answer.json()?;
        self.unseen |= self.last.as_ref().is_none_or(|(before, _)| *before != job);
        self.last = Some((job, answer.headers.get(ETAG).cloned()));
        Ok(())
    }
}

impl Client {
    /// Watches a job. A service that is away is waited for.
    pub fn watch(&self, job_id: &JobId, options: WaitOptions) -> JobWatch {
        JobWatch {
            client: self.clone(),
            job_id: job_id.clone(),
            options,
            started: Instant::now(),
            pause: Duration::ZERO,
            last: None,
            unseen: false,
            away_since: None,
        }
    }

    /// Waits until a job is settled ([`crate::jobs::JobState::is_settled`]) and returns it, however it ended.
    pub async fn wait(&self, job_id: &JobId, options: WaitOptions) -> Result<Job, Error> {
        let mut watch = self.watch(job_id, options);
        loop {
            if let WatchEvent::Changed(job) = watch.next().await?
                && job.state.is_settled()
            {
                return Ok(*job);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_start_quick_and_slow_down_to_one_a_second() {
        let options = WaitOptions::default();
        let at = |seconds: u64| options.interval(Duration::from_secs(seconds)).as_millis();
        assert_eq!([at(0), at(5), at(10), at(20), at(3600)], [250, 250, 500, 1000, 1000]);
    }
}
