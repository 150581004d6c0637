//! How fast the worker's connection is, measured on the transfers that it makes anyway. Pure; times are seconds on any clock
//! that never steps back.

use shared_protocol::LinkReport;

/// A transfer of at least so many bytes tells something about the rate.
const TELLING_BYTES: u64 = 256 * 1024;

/// An upload of at most so many bytes takes as long as one without any: 32 KiB at 5 MB/s are 7 ms.
const SMALL_BYTES: u64 = 32 * 1024;

/// Weight of a new figure. The last five or so count.
const WEIGHT: f64 = 0.2;

/// Shorter times are not told apart from each other.
const SHORTEST_SECONDS: f64 = 0.001;

/// Smoothed figures of the connection.
#[derive(Debug, Clone, Default)]
pub struct LinkMeter {
    upload: Direction,
    download: Direction,
    request_seconds: Option<f64>,
}

/// When a transfer began.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    at: f64,
    shared: f64,
    telling: bool,
}

/// Transfers of one direction share what there is, so the rate of all together is a transfer's own rate times the
/// transfers that ran meanwhile, on average.
#[derive(Debug, Clone, Default)]
struct Direction {
    running: u32,
    /// Time integral of `running`.
    shared: f64,
    at: f64,
    bytes_per_second: Option<f64>,
}

impl Direction {
    fn advance(&mut self, now: f64) {
        self.shared += f64::from(self.running) * (now - self.at).max(0.0);
        self.at = self.at.max(now);
    }

    fn begin(&mut self, now: f64, telling: bool) -> Mark {
        self.advance(now);
        self.running += u32::from(telling);
        Mark { at: now, shared: self.shared, telling }
    }

    /// `lost_seconds` of it moved nothing.
    fn end(&mut self, now: f64, mark: Mark, bytes: Option<u64>, lost_seconds: f64) {
        self.advance(now);
        if !mark.telling {
            return;
        }
        self.running = self.running.saturating_sub(1);
        let Some(bytes) = bytes.filter(|bytes| *bytes >= TELLING_BYTES) else { return };
        let seconds = (now - mark.at).max(SHORTEST_SECONDS);
        let together = ((self.shared - mark.shared) / seconds).max(1.0);
        let moving = (seconds - lost_seconds).max(seconds / 4.0);
        smooth(&mut self.bytes_per_second, bytes as f64 * together / moving);
    }
}

fn smooth(figure: &mut Option<f64>, new: f64) {
    *figure = Some(figure.map_or(new, |old| old + WEIGHT * (new - old)));
}

impl LinkMeter {
    /// An upload of so many bytes begins.
    pub fn begin_upload(&mut self, now: f64, bytes: u64) -> Mark {
        self.upload.begin(now, bytes >= TELLING_BYTES)
    }

    /// It ended; `bytes` only when all of them were stored.
    pub fn end_upload(&mut self, now: f64, mark: Mark, bytes: Option<u64>) {
        let lost = self.request_seconds.unwrap_or(0.0);
        self.upload.end(now, mark, bytes, lost);
        if bytes.is_some_and(|bytes| bytes <= SMALL_BYTES) {
            smooth(&mut self.request_seconds, now - mark.at);
        }
    }

    /// The first bytes of a download of so many are there.
    pub fn begin_download(&mut self, now: f64, bytes: u64) -> Mark {
        self.download.begin(now, bytes >= TELLING_BYTES)
    }

    /// It ended; `bytes` only when all of them came.
    pub fn end_download(&mut self, now: f64, mark: Mark, bytes: Option<u64>) {
        self.download.end(now, mark, bytes, 0.0);
    }

    /// What was measured; what was not is what the protocol takes for usual. None when nothing was.
    pub fn report(&self) -> Option<LinkReport> {
        let (upload, download) = (self.upload.bytes_per_second, self.download.bytes_per_second);
        if upload.is_none() && download.is_none() && self.request_seconds.is_none() {
            return None;
        }
        let usual = LinkReport::default();
        let report = LinkReport {
            download_bytes_per_second: download.unwrap_or(usual.download_bytes_per_second),
            upload_bytes_per_second: upload.unwrap_or(usual.upload_bytes_per_second),
            request_seconds: self.request_seconds.unwrap_or(usual.request_seconds),
        };
        Some(report.sane())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An uplink of this rate with this overhead for each request: begins `together` uploads at once, again and again.
    fn measured(bytes_per_second: f64, overhead: f64, together: u32) -> LinkReport {
        let mut meter = LinkMeter::default();
        let (large, small) = (2_000_000_u64, 2_000_u64);
        let mut now = 0.0;
        for _ in 0..20 {
            let first = meter.begin_upload(now, small);
            now += overhead;
            meter.end_upload(now, first, Some(small));
            let marks: Vec<Mark> = (0..together).map(|_| meter.begin_upload(now, large)).collect();
            now += overhead + large as f64 * f64::from(together) / bytes_per_second;
            for mark in marks {
                meter.end_upload(now, mark, Some(large));
            }
        }
        meter.report().unwrap()
    }

    #[test]
    fn the_uplink_is_measured_as_it_is_however_many_uploads_share_it() {
        for (rate, overhead) in [(5.0e6, 0.4), (50.0e6, 0.05), (0.5e6, 0.3)] {
            for together in [1, 2, 8] {
                let report = measured(rate, overhead, together);
                let error = (report.upload_bytes_per_second / rate - 1.0).abs();
                assert!(error < 0.05, "{rate} {overhead} {together}: {report:?}");
                assert!((report.request_seconds - overhead).abs() < 0.01, "{report:?}");
            }
        }
    }

    #[test]
    fn nothing_is_reported_before_something_was_measured_and_failures_measure_nothing() {
        let mut meter = LinkMeter::default();
        let mark = meter.begin_upload(0.0, 5_000_000);
        meter.end_upload(60.0, mark, None);
        assert_eq!(meter.report(), None);
        let mark = meter.begin_download(100.0, 20_000_000);
        meter.end_download(101.0, mark, Some(20_000_000));
        let report = meter.report().unwrap();
        assert_eq!(report.download_bytes_per_second, 20.0e6);
        assert_eq!(report.upload_bytes_per_second, LinkReport::default().upload_bytes_per_second);
    }

    #[test]
    fn one_odd_transfer_does_not_turn_the_figure_over() {
        let mut meter = LinkMeter::default();
        for start in 0..10 {
            let mark = meter.begin_download(f64::from(start), 1_000_000);
            meter.end_download(f64::from(start) + 0.5, mark, Some(1_000_000));
        }
        let mark = meter.begin_download(100.0, 1_000_000);
        meter.end_download(150.0, mark, Some(1_000_000));
        let rate = meter.report().unwrap().download_bytes_per_second;
        assert!((1.5e6..2.0e6).contains(&rate), "{rate}");
    }
}
