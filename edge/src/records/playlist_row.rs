//! A playlist's row. It is apart from the job's, because it changes at another rate: with every segment.

use super::RowError;
use crate::scheduler::Playlist;

/// Writes a playlist. An hour of audio in segments of 2 s has 1,800 lengths of about 5 characters: 9 KB, far below the
/// 2 MB of a row.
pub fn encode(playlist: &Playlist) -> String {
    serde_json::to_string(playlist).expect("a playlist has text keys only and no fallible serializers")
}

/// Reads a playlist.
///
/// # Errors
/// [`RowError`].
pub fn decode(body: &str) -> Result<Playlist, RowError> {
    serde_json::from_str(body).map_err(|error| RowError::new("row of a playlist", error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared_protocol::{Attempt, DurationMs, HlsSegment};

    #[test]
    fn a_playlist_of_two_attempts_comes_back_as_it_was() {
        let segment = |sequence| HlsSegment { sequence, duration_ms: DurationMs(2_005), size: 1 };
        let mut playlist = Playlist::default();
        playlist.extend(Attempt(1), &[segment(0), segment(1)]);
        playlist.extend(Attempt(2), &[segment(2)]);
        playlist.end();
        assert_eq!(decode(&encode(&playlist)), Ok(playlist));
        assert!(decode("[]").is_err());
    }
}
