//! Waiting out an outage of the service.

use std::time::Instant;

use minifleet_client::watch::WaitOptions;
use minifleet_client::{Error, ErrorKind};

use super::progress::{Event, Track};

/// Does something that the recording is worth waiting for: once its upload has arrived, a service that is away or busy
/// is asked again as long as a job is waited for.
pub async fn patiently<T>(
    options: &WaitOptions,
    track: &mut Track,
    mut work: impl AsyncFnMut(&mut Track) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut away: Option<Instant> = None;
    loop {
        let error = match work(track).await {
            Ok(done) => {
                if let Some(since) = away {
                    track.report(&Event::Back { after: since.elapsed() });
                }
                return Ok(done);
            }
            Err(error) if error.kind() != ErrorKind::Unavailable => return Err(error),
            Err(error) => error,
        };
        let since = *away.get_or_insert_with(Instant::now);
        if since.elapsed() >= options.patience {
            return Err(error);
        }
        track.report(&Event::Away { since: since.elapsed(), reason: &error.to_string() });
        let asked = error.retry_after().unwrap_or_default().min(options.patience);
        tokio::time::sleep(asked.max(options.last_interval)).await;
    }
}
