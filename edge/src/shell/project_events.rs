//! What happens to a project, as a stream of server-sent events or as a list. The stream is served by the stateless Worker,
//! which looks at the project now and then, so that the project's object can sleep in between.

use std::time::Duration;

use futures_util::stream;
use shared_protocol::{DurationMs, ProjectId, TenantId, TimestampMs};
use worker::{Delay, Env, Request, Response, ResponseBuilder};

use super::fault::Fault;
use super::{auth, call_project, now, respond};
use crate::api::projects::call::{Answer, Question, Watched};
use crate::api::projects::request;
use crate::api::projects::stream::{self as frames, Frames};
use crate::api::projects::view::EventList;

/// A stream ends after this and is taken up again by its reader, with `Last-Event-ID`: a reader that has gone is not noticed.
const STREAM_LIFE: DurationMs = DurationMs::from_secs(90);

/// The project is looked at so often while somebody listens.
const LOOK_EVERY: DurationMs = DurationMs(1_000);

/// Answers a listener.
pub async fn events(request: &Request, env: &Env, id: ProjectId) -> Result<Response, Fault> {
    let client = auth::client(request, env).await?;
    let last_event_id = request.headers().get("Last-Event-ID")?;
    let after = request::last_event(last_event_id.as_deref(), request.url()?.query_pairs())?;
    let accept = request.headers().get("Accept")?.unwrap_or_default();
    // The first look is made before the answer begins: what is not there is a plain 404.
    let first = watch(env, &id, &client.tenant, after).await?;
    if !accept.contains("text/event-stream") {
        let list = EventList { last_event: first.last, gap: first.gap, events: first.events };
        return respond::json_with_etag(request, &list);
    }
    let listener = Listener {
        env: env.clone(),
        id,
        tenant: client.tenant,
        frames: Frames::default(),
        next: Some(first),
        after: after.unwrap_or(0),
        ends_at: now() + STREAM_LIFE,
    };
    let frames = stream::unfold(Some(listener), |listener| async move {
        let mut listener = listener?;
        let (text, goes_on) = listener.next().await;
        Some((Ok::<Vec<u8>, worker::Error>(text.into_bytes()), goes_on.then_some(listener)))
    });
    Ok(ResponseBuilder::new()
        .with_header("Content-Type", "text/event-stream; charset=utf-8")?
        .with_header("Cache-Control", "no-store")?
        .with_header("X-Accel-Buffering", "no")?
        .from_stream(frames)?)
}

async fn watch(env: &Env, id: &ProjectId, tenant: &TenantId, after: Option<u64>) -> Result<Watched, Fault> {
    match call_project::ask(env, id, tenant, Question::Watch { after }).await? {
        Answer::Watched(watched) => Ok(*watched),
        other => Err(call_project::unexpected(&other)),
    }
}

/// Somebody who listens.
struct Listener {
    env: Env,
    id: ProjectId,
    tenant: TenantId,
    frames: Frames,
    /// What the first look found.
    next: Option<Watched>,
    after: u64,
    ends_at: TimestampMs,
}

impl Listener {
    /// The next frames, and whether there will be more.
    async fn next(&mut self) -> (String, bool) {
        if let Some(first) = self.next.take() {
            self.after = first.last;
            return (self.frames.begin(now(), &first), true);
        }
        loop {
            if now() >= self.ends_at {
                return (frames::END.to_owned(), false);
            }
            Delay::from(Duration::from_millis(LOOK_EVERY.0)).await;
            let text = match watch(&self.env, &self.id, &self.tenant, Some(self.after)).await {
                Ok(found) => {
                    self.after = found.last;
                    self.frames.render(now(), &found)
                }
                // The reader comes back and asks for what it missed.
                Err(fault) => return (frames::trouble(&fault.to_string()), false),
            };
            if !text.is_empty() {
                return (text, true);
            }
        }
    }
}
