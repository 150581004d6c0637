//! What a job made: with the client's key, and with a link.

use super::operation::{Access, Content, Group, Operation, get, post};
use crate::api::ApiError;
use crate::api::playlist::CONTENT_TYPE;
use crate::api::request::CreatePlayback;
use crate::api::view::{FileList, PlayStateView, PlaybackCreated};

/// Media types of segments, as workers store them.
const SEGMENTS: &[&str] = &["video/mp4", "video/iso.segment"];

/// Media types of final files.
const FILES: &[&str] = &["audio/wav", "audio/flac", "audio/mpeg", "application/octet-stream"];

/// Media types of stems and their manifest.
const STEMS: &[&str] = &["audio/flac", "application/json"];

/// Media types of uploads. Whatever calls itself neither audio nor video goes out as plain bytes.
const ORIGINALS: &[&str] = &["audio/*", "video/*", "application/ogg", "application/octet-stream"];

pub(super) fn operations() -> Vec<Operation> {
    [with_key(), with_link()].concat()
}

fn with_key() -> Vec<Operation> {
    let of_job = |id, path| {
        get(id, path, Group::Listening, Access::Client).asks_scheduler().fails([ApiError::JobNotFound])
    };
    vec![
        post("createPlayback", "/v1/jobs/{jobId}/playback", Group::Listening, Access::Client)
            .says(
                "Make a playback link",
                "Whoever has the link can listen until it expires: a day, unless said otherwise.",
            )
            .may_take::<CreatePlayback>()
            .asks_scheduler()
            .gives::<PlaybackCreated>(201, "The link, for players and for people.")
            .fails([ApiError::JobNotFound]),
        of_job("listFiles", "/v1/jobs/{jobId}/files")
            .says(
                "Final files",
                "None until the job is completed; then stems and scores, where they were asked for.",
            )
            .gives::<FileList>(200, "The files."),
        of_job("getFile", "/v1/jobs/{jobId}/files/{name}")
            .says("A final file", "")
            .gives_bytes(FILES)
            .with("Content-Disposition", "Saves it under the recording's name.")
            .fails([ApiError::FileNotFound]),
        of_job("getStem", "/v1/jobs/{jobId}/stems/{name}")
            .says("An object of the stems", "`manifest.json` says what is what.")
            .gives_bytes(STEMS)
            .fails([ApiError::FileNotFound]),
        of_job("getOriginal", "/v1/jobs/{jobId}/original")
            .says("The recording as it was uploaded", "For listening side by side.")
            .gives_bytes(ORIGINALS)
            .fails([ApiError::UploadNotFound]),
        playlist(of_job("getPlaylist", "/v1/jobs/{jobId}/hls/index.m3u8")),
        // No question to the scheduler for each segment.
        get("getSegment", "/v1/jobs/{jobId}/hls/{attempt}/{segment}", Group::Listening, Access::Client)
            .says("A segment, or what goes before all of them", "As the playlist names it.")
            .gives_bytes(SEGMENTS)
            .fails([ApiError::FileNotFound]),
    ]
}

fn with_link() -> Vec<Operation> {
    let alone = |id, path| get(id, path, Group::Playback, Access::Link);
    let of_job = |id, path| alone(id, path).asks_scheduler().fails([ApiError::JobNotFound]);
    vec![
        of_job("getPlaybackState", "/v1/play/{ticket}/state")
            .says("The job as a listener may know it", "URLs in it are relative to it.")
            .gives::<PlayStateView>(200, "The state now."),
        playlist(of_job("getPlaybackPlaylist", "/v1/play/{ticket}/index.m3u8")),
        alone("getPlaybackSegment", "/v1/play/{ticket}/{attempt}/{segment}")
            .says("A segment, or what goes before all of them", "As the playlist names it.")
            .gives_bytes(SEGMENTS)
            .fails([ApiError::FileNotFound]),
        alone("getPlaybackOriginal", "/v1/play/{ticket}/original")
            .says("The recording as it was uploaded", "")
            .gives_bytes(ORIGINALS)
            .fails([ApiError::UploadNotFound]),
        of_job("getPlaybackFile", "/v1/play/{ticket}/files/{name}")
            .says("A final file", "")
            .gives_bytes(FILES)
            .with("Content-Disposition", "Saves it under the recording's name.")
            .fails([ApiError::FileNotFound]),
    ]
}

fn playlist(operation: Operation) -> Operation {
    operation
        .says("The playlist", "HTTP Live Streaming. It grows until the last segment is published.")
        .answers(200, "What can be played so far.", Content::Bytes(&[CONTENT_TYPE]))
        .fails([ApiError::NotPlayableYet, ApiError::NoPlayback])
}
