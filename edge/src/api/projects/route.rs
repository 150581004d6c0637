//! The paths below `/v1/projects`.

use shared_protocol::limits::MAX_PARTS;
use shared_protocol::{GenerationId, ProjectId};

use super::super::route::Method;

/// What a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectRoute {
    /// Make one.
    Create,
    /// A tenant's projects.
    List,
    /// One project.
    Get(ProjectId),
    /// What happened to it, as a stream or as a list.
    Events(ProjectId),
    /// How to put its recording, and what of it is there.
    Upload(ProjectId),
    /// Put a part of its recording. With the upload's ticket.
    PutPart(ProjectId, u16),
    /// Its recording is there.
    CompleteUpload(ProjectId),
    /// Its transcript.
    Transcript(ProjectId),
    /// Give its transcript.
    PutTranscript(ProjectId),
    /// Have it transcribed.
    Transcribe(ProjectId),
    /// Ask for a generation.
    Generate(ProjectId),
    /// Its generations.
    Generations(ProjectId),
    /// One generation.
    Generation(ProjectId, GenerationId),
    /// Cancel a generation.
    Cancel(ProjectId, GenerationId),
    /// The final files of a generation.
    Files(ProjectId, GenerationId),
    /// Make a playback link of a generation.
    Playback(ProjectId, GenerationId),
    /// Where the time of a generation went.
    Timeline(ProjectId, GenerationId),
}

/// Finds what a request is for; `segments` are those after `projects`.
pub fn lookup(method: Method, segments: &[&str]) -> Option<ProjectRoute> {
    use Method::{Get, Post, Put};
    use ProjectRoute as Route;
    let [id, rest @ ..] = segments else {
        return match method {
            Post => Some(Route::Create),
            Get => Some(Route::List),
            _ => None,
        };
    };
    let id = ProjectId::new(*id).ok()?;
    let generation = |text: &str| GenerationId::new(text).ok();
    Some(match (method, rest) {
        (Get, []) => Route::Get(id),
        (Get, ["events"]) => Route::Events(id),
        (Get, ["upload"]) => Route::Upload(id),
        (Put, ["upload", "parts", number]) => Route::PutPart(id, part(number)?),
        (Post, ["upload", "complete"]) => Route::CompleteUpload(id),
        (Get, ["transcript"]) => Route::Transcript(id),
        (Put, ["transcript"]) => Route::PutTranscript(id),
        (Post, ["transcription"]) => Route::Transcribe(id),
        (Post, ["generations"]) => Route::Generate(id),
        (Get, ["generations"]) => Route::Generations(id),
        (Get, ["generations", one]) => Route::Generation(id, generation(one)?),
        (Post, ["generations", one, "cancel"]) => Route::Cancel(id, generation(one)?),
        (Get, ["generations", one, "files"]) => Route::Files(id, generation(one)?),
        (Post, ["generations", one, "playback"]) => Route::Playback(id, generation(one)?),
        (Get, ["generations", one, "timeline"]) => Route::Timeline(id, generation(one)?),
        _ => return None,
    })
}

/// From 1, in its one spelling.
fn part(text: &str) -> Option<u16> {
    let number: u16 = text.parse().ok()?;
    ((1..=MAX_PARTS).contains(&number) && number.to_string() == text).then_some(number)
}
