//! The playlist only ever grows, and lists only what can be read.

use conformance::harness::{Api, Edge, Keys, ScriptedWorker};
use shared_protocol::{DurationMs, HlsSegment, WorkerMessage};

/// The lines that are no tags: the segments.
fn listed(playlist: &str) -> Vec<&str> {
    playlist.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect()
}

/// Reads the playlist and everything that it lists.
fn read_all(api: &Api, id: &str) -> String {
    let answer = api.playlist(id).expect(200);
    assert_eq!(answer.header("Content-Type"), "application/vnd.apple.mpegurl");
    let text = answer.text();
    let init = text.lines().find_map(|line| line.strip_prefix("#EXT-X-MAP:URI=\"")).expect("an init segment");
    let init = init.trim_end_matches('"');
    for uri in listed(&text).into_iter().chain([init]) {
        assert!(!uri.starts_with('/') && !uri.contains("://"), "relative, so that links work: {uri}");
        let segment = api.get(&format!("/v1/jobs/{id}/hls/{uri}")).expect(200);
        assert!(!segment.body.is_empty());
        assert!(segment.header("Cache-Control").contains("immutable"), "{uri}: {:?}", segment.headers);
    }
    text
}

#[test]
fn before_the_first_segment_there_is_nothing_to_play_and_nothing_to_cache() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let id = api.queue_job();
    let answer = api.playlist(&id);
    answer.expect_problem(404, "not_playable_yet");
    assert_eq!(answer.header("Cache-Control"), "no-store");
    let missing = api.get(&format!("/v1/jobs/{id}/hls/1/seg-00000.m4s"));
    assert_eq!((missing.status, missing.header("Cache-Control")), (404, "no-store"));
}

#[test]
fn the_playlist_grows_with_stored_segments_and_ends_with_the_last() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let id = api.queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    let mut segments = Vec::new();
    let mut earlier = String::new();
    for sequence in 0..4 {
        segments.push(worker.put_segment(&assign, sequence));
        // Stored is not listed: only the announcement lists it.
        if sequence == 0 {
            api.playlist(&id).expect_problem(404, "not_playable_yet");
        } else {
            assert_eq!(api.playlist(&id).expect(200).text(), earlier);
        }
        worker.progress(&assign, 0.2, &segments[sequence as usize..]);
        worker.expect_link_alive();
        let now = read_all(&api, &id);
        assert!(now.starts_with(&earlier), "rewritten: {earlier} became {now}");
        assert!(now.contains("#EXT-X-PLAYLIST-TYPE:EVENT") && !now.contains("#EXT-X-ENDLIST"), "{now}");
        assert_eq!(listed(&now).len(), sequence as usize + 1);
        earlier = now;
    }
    let complete = ScriptedWorker::completion(&assign, &segments, &[]);
    worker.send(&WorkerMessage::Complete(complete.clone()));
    worker.expect_ack(&complete.message_id);
    let last = read_all(&api, &id);
    assert!(last.starts_with(&earlier), "rewritten: {earlier} became {last}");
    assert_eq!(last.trim_end().lines().last(), Some("#EXT-X-ENDLIST"));
}

#[test]
fn a_progress_message_that_was_lost_takes_no_segment_away() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let id = api.queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    let segments: Vec<HlsSegment> = (0..3).map(|sequence| worker.put_segment(&assign, sequence)).collect();
    worker.progress(&assign, 0.3, &segments[..1]);
    worker.progress(&assign, 0.3, &segments[..1]);
    // The second segment's announcement is lost: the third one must not be listed with a gap before it.
    worker.progress(&assign, 0.6, &segments[2..]);
    worker.expect_link_alive();
    assert_eq!(listed(&api.playlist(&id).expect(200).text()).len(), 1);
    let complete = ScriptedWorker::completion(&assign, &segments, &[]);
    worker.send(&WorkerMessage::Complete(complete.clone()));
    worker.expect_ack(&complete.message_id);
    assert_eq!(listed(&read_all(&api, &id)).len(), 3);
}

#[test]
fn what_was_playable_stays_playable_when_the_worker_is_lost() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let id = api.queue_job();
    let mut first = ScriptedWorker::ready(&edge, "mini-1", 1);
    let early = first.take_job();
    let segment = first.put_segment(&early, 0);
    first.progress(&early, 0.3, &[segment]);
    first.expect_link_alive();
    let before = read_all(&api, &id);
    // Restarted without the job.
    let mut second = ScriptedWorker::ready(&edge, "mini-1", 1);
    let late = second.take_job();
    assert_eq!(api.playlist(&id).expect(200).text(), before);
    let segments: Vec<HlsSegment> = (0..3).map(|sequence| second.put_segment(&late, sequence)).collect();
    for count in 1..=3 {
        second.progress(&late, 0.3, &segments[..count]);
    }
    let complete = ScriptedWorker::completion(&late, &segments, &[]);
    second.send(&WorkerMessage::Complete(complete.clone()));
    second.expect_ack(&complete.message_id);
    let text = api.playlist(&id).expect(200).text();
    assert!(text.starts_with(&before), "a player that was in the middle of it goes on: {text}");
    assert_eq!(listed(&text).len(), 3, "no part twice, none missing: {text}");
}

#[test]
fn more_segments_than_one_message_may_announce_are_not_lost() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let id = api.queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    let many: Vec<HlsSegment> =
        (0..900).map(|sequence| HlsSegment { sequence, duration_ms: DurationMs(4000), size: 1 }).collect();
    let complete = ScriptedWorker::completion(&assign, &many, &[]);
    worker.send(&WorkerMessage::Complete(complete.clone()));
    worker.expect_ack(&complete.message_id);
    let text = api.playlist(&id).expect(200).text();
    assert_eq!(listed(&text).len(), 900);
    assert_eq!(api.job(&id)["publishedSeconds"], 3600.0);
}
