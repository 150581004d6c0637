//! Figures for people.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use shared_protocol::TimestampMs;

/// "0.21 s", "12.3 s", "1 min 05 s", "2 h 03 min".
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    let whole = seconds.round() as u64;
    match seconds {
        ..9.995 => format!("{seconds:.2} s"),
        ..59.95 => format!("{seconds:.1} s"),
        ..3599.5 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

/// As [`duration`], from seconds; a figure that is none is shown as a dash.
pub fn seconds(seconds: f64) -> String {
    Duration::try_from_secs_f64(seconds).map_or_else(|_| "-".to_owned(), duration)
}

/// "12.3 MB", in powers of 1,000.
pub fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

/// `1 job`, `2 jobs`: of a noun that takes an s.
pub fn counted(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// How long ago something was, by this machine's clock.
pub fn ago(then: TimestampMs) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    match now.saturating_sub(Duration::from_millis(then.0)).as_secs() {
        0..=4 => "just now".to_owned(),
        seconds @ 5..=89 => format!("{seconds} s ago"),
        seconds @ 90..=5399 => format!("{} min ago", (seconds + 30) / 60),
        seconds @ 5400..=129_599 => format!("{} h ago", (seconds + 1800) / 3600),
        seconds => format!("{} days ago", (seconds + 43_200) / 86_400),
    }
}

/// How long something lasts from now on, roughly.
pub fn until(then: TimestampMs) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    match Duration::from_millis(then.0).saturating_sub(now).as_secs() {
        0 => "expired".to_owned(),
        seconds @ 1..=5399 => format!("valid for {} min", seconds.div_ceil(60)),
        seconds @ 5400..=172_799 => format!("valid for {} h", (seconds + 1800) / 3600),
        seconds => format!("valid for {} days", (seconds + 43_200) / 86_400),
    }
}

/// How long it is until then, by this machine's clock: "12 min".
pub fn from_now(then: TimestampMs) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    match Duration::from_millis(then.0).saturating_sub(now).as_secs() {
        seconds @ 0..=89 => format!("{seconds} s"),
        seconds @ 90..=5399 => format!("{} min", seconds.div_ceil(60)),
        seconds @ 5400..=172_799 => format!("{} h", (seconds + 1800) / 3600),
        seconds => format!("{} days", (seconds + 43_200) / 86_400),
    }
}

/// The moment so many minutes from now, by this machine's clock.
pub fn minutes_from_now(minutes: u64) -> TimestampMs {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    TimestampMs(u64::try_from(now.as_millis()).unwrap_or(u64::MAX).saturating_add(minutes * 60_000))
}

/// Real-time factor with its inverse, which people find easier.
pub fn real_time_factor(factor: f64) -> String {
    match factor > 0.0 {
        true => format!("{factor:.3} ({:.1} times as fast as real time)", 1.0 / factor),
        false => format!("{factor:.3}"),
    }
}

/// A text of somebody else for one line of a terminal: no control characters.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// A text of at most so many characters; the middle gives way, since names differ at both ends.
pub fn shorten(text: &str, most: usize) -> String {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= most {
        return text.to_owned();
    }
    let end = most / 2;
    let start = most.saturating_sub(end + 1);
    characters[..start].iter().chain(&['…']).chain(&characters[characters.len() - end..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_something_is_not_many() {
        assert_eq!([0, 1, 2].map(|number| counted(number, "job")), ["0 jobs", "1 job", "2 jobs"]);
    }

    #[test]
    fn durations_and_sizes_read_well() {
        let texts = [0.2149, 12.34, 59.96, 65.0, 3599.6, 7384.0].map(seconds);
        assert_eq!(texts, ["0.21 s", "12.3 s", "1 min 00 s", "1 min 05 s", "1 h 00 min", "2 h 03 min"]);
        assert_eq!(seconds(f64::NAN), "-");
        assert_eq!([999, 1_500, 12_345_678].map(bytes), ["999 B", "1.5 kB", "12.3 MB"]);
    }

    #[test]
    fn a_file_name_cannot_steer_the_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb"), "a\u{fffd}[2Jb");
    }

    #[test]
    fn a_long_name_keeps_its_ends() {
        assert_eq!(shorten("interview with the mayor, part 2.wav", 15), "intervi…t 2.wav");
        assert_eq!(shorten("talk.wav", 15), "talk.wav");
    }
}
