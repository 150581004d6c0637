//! How long restoring takes on this machine: measured at the warm-up and corrected while running.

use shared_protocol::Sampler;
use std::time::Duration;

/// Weight of a new measurement. Ten windows make up for a wrong warm-up to two thirds.
const WEIGHT: f64 = 0.1;

/// Shorter windows say more about fixed costs than about speed, seconds of audio of one channel.
const MIN_AUDIO_SECONDS: f64 = 0.5;

/// Running estimate of the real-time factor.
#[derive(Debug, Clone, Copy)]
pub struct Speed {
    real_time_factor: f64,
}

impl Speed {
    /// Starts from a measurement: seconds of work for seconds of audio of one channel.
    pub fn measured(work: Duration, audio_seconds: f64) -> Self {
        Self { real_time_factor: work.as_secs_f64() / audio_seconds.max(f64::MIN_POSITIVE) }
    }

    /// Seconds of work for each second of audio of one channel.
    pub fn real_time_factor(&self) -> f64 {
        self.real_time_factor
    }

    /// Takes a window into account.
    pub fn observe(&mut self, work: Duration, audio_seconds: f64) {
        if audio_seconds >= MIN_AUDIO_SECONDS {
            let measured = work.as_secs_f64() / audio_seconds;
            self.real_time_factor += WEIGHT * (measured - self.real_time_factor);
        }
    }
}

/// The estimates of both samplers.
#[derive(Debug, Clone, Copy)]
pub struct Speeds {
    /// Of `flash`.
    pub flash: Speed,
    /// Of `pro`.
    pub pro: Speed,
}

impl Speeds {
    /// Seconds of work for each second of audio of one channel.
    pub fn real_time_factor(&self, sampler: Sampler) -> f64 {
        match sampler {
            Sampler::Flash => self.flash.real_time_factor(),
            Sampler::Pro => self.pro.real_time_factor(),
        }
    }

    /// Takes a window into account.
    pub fn observe(&mut self, sampler: Sampler, work: Duration, audio_seconds: f64) {
        match sampler {
            Sampler::Flash => self.flash.observe(work, audio_seconds),
            Sampler::Pro => self.pro.observe(work, audio_seconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_moves_towards_what_is_measured_and_ignores_tiny_windows() {
        let mut speed = Speed::measured(Duration::from_millis(60), 2.0);
        assert!((speed.real_time_factor() - 0.03).abs() < 1e-12);
        speed.observe(Duration::from_millis(260), 2.0);
        assert!((speed.real_time_factor() - 0.04).abs() < 1e-12);
        speed.observe(Duration::from_secs(1), 0.01);
        assert!((speed.real_time_factor() - 0.04).abs() < 1e-12);
    }
}
