//! Whatever is uploaded, the answer is a clear code or a sensible result, and the worker goes on with the next one.

use crate::studio::{Studio, decoded, described};

const TONE: &str = "-f lavfi -i sine=frequency=300:duration=3";

#[test]
fn files_that_cannot_be_restored_are_told_by_their_code_and_the_worker_goes_on() {
    let studio = Studio::new();
    let whole = std::fs::read(studio.make("whole.m4a", &format!("{TONE} -c:a aac"))).unwrap();
    let noise: Vec<u8> = (0..50_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut no_channels = std::fs::read(studio.make("mono.wav", TONE)).unwrap();
    no_channels[22..24].copy_from_slice(&[0, 0]);

    let cases = [
        (studio.write("empty.mp3", b""), "source_empty", "empty"),
        (studio.write("text.wav", b"This is no recording.\n"), "not_media", "known format"),
        (studio.write("noise.mp3", &noise), "not_media", "known format"),
        // The index of an MP4 is at its end here, so one cut off is not readable at all.
        (studio.write("cut.m4a", &whole[..whole.len() / 2]), "not_media", "moov"),
        (
            studio.make("mute.mp4", "-f lavfi -i testsrc=duration=1:size=64x64 -pix_fmt yuv420p"),
            "no_audio",
            "only video",
        ),
        (
            studio.make("picture.mp3", "-f lavfi -i testsrc=size=64x64 -frames:v 1 -f image2 -c:v png"),
            "no_audio",
            "only video",
        ),
        (
            studio.make("many.wav", &format!("{TONE} -af pan=16c|c0=c0|c15=c0 -c:a pcm_s16le")),
            "too_many_channels",
            "16 channels",
        ),
        (studio.write("zero-channels.wav", &no_channels), "undecodable or not_media", ""),
        (studio.make("good.wav", TONE), "ok", ""),
    ];
    let files: Vec<_> = cases.iter().map(|(file, ..)| file.clone()).collect();
    for ((file, code, words), result) in cases.iter().zip(studio.restore(&files, &["--outputs", "wav"])) {
        assert!(code.contains(result.code()), "{}: {result:?}", file.display());
        assert!(result.message().contains(words), "{}: {result:?}", file.display());
        let told = result.message();
        assert!(!told.contains(studio.path("").to_str().unwrap()), "a path of this machine: {told}");
    }
}

#[test]
fn an_uploaded_playlist_or_script_reads_no_other_file_of_the_machine() {
    let studio = Studio::new();
    let secret = studio.make("secret.wav", TONE);
    let segment = studio.make("secret.ts", &format!("{TONE} -c:a aac -f mpegts"));
    let (secret, segment) = (secret.display(), segment.display());
    let hls = format!(
        "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:3\n#EXTINF:3,\n{segment}\n#EXT-X-ENDLIST\n"
    );
    let files = [
        studio.write("list.m3u8", hls.as_bytes()),
        studio.write("list.mp3", hls.as_bytes()),
        studio.write("script.wav", format!("ffconcat version 1.0\nfile '{secret}'\n").as_bytes()),
        studio.write("script.ffconcat", format!("ffconcat version 1.0\nfile {secret}\n").as_bytes()),
        studio.write("session.sdp", b"v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio 5004 RTP/AVP 0\n"),
        studio.write("dash.mpd", format!("<?xml version=\"1.0\"?><MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\"><Period><AdaptationSet><Representation><BaseURL>{secret}</BaseURL></Representation></AdaptationSet></Period></MPD>").as_bytes()),
    ];
    for (file, result) in files.iter().zip(studio.restore(&files, &["--outputs", "wav"])) {
        assert_eq!(result.code(), "not_media", "{}: {result:?}", file.display());
    }
}

#[test]
fn a_truncated_mp3_is_restored_as_far_as_it_goes() {
    let studio = Studio::new();
    let whole =
        std::fs::read(studio.make("whole.mp3", &format!("{TONE} -c:a libmp3lame -b:a 128k"))).unwrap();
    let cut = studio.write("cut.mp3", &whole[..whole.len() * 2 / 3]);
    let results = studio.restore(&[cut], &["--outputs", "wav,hls"]);
    assert_eq!(results[0].code(), "ok", "{results:?}");
    let seconds = results[0].seconds();
    assert!((1.8..2.2).contains(&seconds), "two thirds of three seconds: {seconds}");
}

#[test]
fn odd_but_sound_recordings_are_restored() {
    let studio = Studio::new();
    let eight = "-filter_complex [0]pan=7.1|c0=c0|c1=c0|c2=c0|c3=c0|c4=c0|c5=c0|c6=c0|c7=c0";
    let two_tracks = "-f lavfi -i sine=frequency=300:duration=2 -f lavfi -i anullsrc=cl=stereo:d=2 -map 0:a -map 1:a \
                      -shortest -c:a aac -disposition:a:0 0 -disposition:a:1 default";
    let with_picture = format!("{TONE} -f lavfi -i testsrc=duration=3:size=64x64 -pix_fmt yuv420p -c:a aac");
    let cases = [
        (studio.make("hires.wav", &format!("{TONE} -ar 192000 -ac 2 -c:a pcm_s32le")), 3.0, 2),
        (studio.make("old.wav", &format!("{TONE} -ar 8000 -c:a pcm_u8")), 3.0, 1),
        (studio.make("cd.flac", &format!("{TONE} -ar 44100 -ac 2")), 3.0, 2),
        (studio.make("blink.wav", "-f lavfi -i sine=frequency=300:duration=0.01:sample_rate=48000"), 0.01, 1),
        (studio.make("surround.wav", &format!("{TONE} {eight} -c:a pcm_s16le")), 3.0, 8),
        (studio.make("film.mp4", &with_picture), 3.0, 1),
        (studio.make("tracks.mkv", two_tracks), 2.0, 2),
    ];
    let files: Vec<_> = cases.iter().map(|(file, ..)| file.clone()).collect();
    for ((file, seconds, channels), result) in cases.iter().zip(studio.restore(&files, &[])) {
        assert_eq!(result.code(), "ok", "{}: {result:?}", file.display());
        // AAC has whole frames only, so lengths of what comes from it are some milliseconds more.
        assert!((result.seconds() - seconds).abs() < 0.06, "{}: {} s", file.display(), result.seconds());
        assert_eq!(result.channels(), *channels, "{}", file.display());
        assert_eq!(described(&result.file("restored.wav")), format!("pcm_s24le,48000,{channels}"));
        assert_eq!(described(&result.file("restored.flac")), format!("flac,48000,{channels}"));
        let stereo_at_most = channels.min(&2);
        assert_eq!(described(&result.file("restored.mp3")), format!("mp3,48000,{stereo_at_most}"));
        assert_eq!(described(&result.file("hls/index.m3u8")), format!("aac,48000,{stereo_at_most}"));
    }
}

#[test]
fn silence_stays_silence() {
    let studio = Studio::new();
    let silence = studio.make("silence.wav", "-f lavfi -i anullsrc=r=44100:cl=stereo:d=2");
    let results = studio.restore(&[silence], &["--outputs", "wav,hls"]);
    assert_eq!(results[0].code(), "ok", "{results:?}");
    let samples = decoded(&results[0].file("restored.wav"));
    assert_eq!(samples.len(), 2 * 96_000);
    assert!(samples.iter().all(|sample| sample.abs() <= 1), "not a click in it");
}
