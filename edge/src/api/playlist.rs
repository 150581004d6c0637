//! The HLS playlist of a job (RFC 8216), rendered from what is listed. It is never an object in storage.

use std::fmt::Write;

use super::object_key::segment_name;
use crate::scheduler::Playlist;

/// Media type of a playlist.
pub const CONTENT_TYPE: &str = "application/vnd.apple.mpegurl";

/// The text of a playlist, or none while nothing is listed. URIs are relative to the playlist's own.
///
/// - `EVENT`: it only grows, and a player may seek in all of it, from the start.
/// - `EXT-X-START` keeps players from jumping to the live edge of a growing list.
/// - Each attempt has its own init segment; where the attempt changes, a discontinuity says so, because encoders of two
///   attempts need not agree on anything but the length of a segment.
pub fn render(playlist: &Playlist) -> Option<String> {
    if playlist.is_empty() {
        return None;
    }
    // RFC 8216 compares rounded lengths. Segments are cut alike, so a later one never needs more.
    let longest_ms = playlist.runs.iter().flat_map(|run| &run.durations_ms).map(|d| d.0).max().unwrap_or(0);
    let mut text = format!(
        "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-PLAYLIST-TYPE:EVENT\n#EXT-X-INDEPENDENT-SEGMENTS\n\
         #EXT-X-TARGETDURATION:{}\n#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-START:TIME-OFFSET=0\n",
        ((longest_ms + 500) / 1000).max(1)
    );
    for (index, run) in playlist.runs.iter().enumerate() {
        if index > 0 {
            text.push_str("#EXT-X-DISCONTINUITY\n");
        }
        line(&mut text, format_args!("#EXT-X-MAP:URI=\"{}/init.mp4\"", run.attempt));
        for (sequence, duration) in (run.first..).zip(&run.durations_ms) {
            line(&mut text, format_args!("#EXTINF:{:.3},", duration.as_secs_f64()));
            line(&mut text, format_args!("{}/{}", run.attempt, segment_name(sequence)));
        }
    }
    if playlist.ended {
        text.push_str("#EXT-X-ENDLIST\n");
    }
    Some(text)
}

fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    writeln!(text, "{content}").expect("writing to a String cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared_protocol::{Attempt, DurationMs, HlsSegment};

    fn segments(durations_ms: &[u64], first: u32) -> Vec<HlsSegment> {
        let segment =
            |(sequence, ms): (u32, &u64)| HlsSegment { sequence, duration_ms: DurationMs(*ms), size: 1 };
        (first..).zip(durations_ms).map(segment).collect()
    }

    #[test]
    fn a_list_grows_and_ends_and_says_where_the_attempt_changed() {
        let mut playlist = Playlist::default();
        assert_eq!(render(&playlist), None);
        playlist.extend(Attempt(1), &segments(&[2_005, 2_000], 0));
        let growing = render(&playlist).unwrap();
        assert_eq!(
            growing,
            "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-PLAYLIST-TYPE:EVENT\n#EXT-X-INDEPENDENT-SEGMENTS\n\
             #EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-START:TIME-OFFSET=0\n\
             #EXT-X-MAP:URI=\"1/init.mp4\"\n#EXTINF:2.005,\n1/seg-00000.m4s\n#EXTINF:2.000,\n1/seg-00001.m4s\n"
        );
        playlist.extend(Attempt(3), &segments(&[480], 2));
        playlist.end();
        assert_eq!(
            render(&playlist).unwrap(),
            format!(
                "{growing}#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"3/init.mp4\"\n\
                 #EXTINF:0.480,\n3/seg-00002.m4s\n#EXT-X-ENDLIST\n"
            )
        );
    }
}
