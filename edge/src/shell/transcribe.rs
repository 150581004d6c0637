//! The request that has a recording transcribed. The recording goes from storage into it through the platform's own streams,
//! so that none of its bytes is in Wasm memory.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt;
use js_sys::{Object, Promise, Reflect, Uint8Array};
use uuid::Uuid;
use wasm_bindgen::prelude::*;
use worker::wasm_bindgen_futures::JsFuture;
use worker::{
    AbortController, AbortSignal, Env, Fetch, Headers, Method, Request, RequestInit, RequestRedirect,
    Response, ResponseBody, Result,
};

use super::MEDIA_BUCKET;
use super::timeout::or_timeout;
use crate::api::download::safe_content_type;
use crate::outbox::parse_retry_after;
use crate::transcription::{
    MAX_ANSWER_BYTES, MAX_REFUSAL_BYTES, TRANSCRIPTION_KEY, TranscriptionAnswer, TranscriptionFailure,
    TranscriptionForm, TranscriptionOutcome, TranscriptionReply, TranscriptionSettings,
};

/// How the edge names itself to the endpoint.
const USER_AGENT: &str = concat!("minifleet/", env!("CARGO_PKG_VERSION"));

#[wasm_bindgen]
extern "C" {
    /// The platform's own: what goes in at one end comes out at the other, and its reader knows how much that will be.
    type FixedLengthStream;
    #[wasm_bindgen(constructor)]
    fn new(length: f64) -> FixedLengthStream;
    #[wasm_bindgen(method, getter)]
    fn readable(this: &FixedLengthStream) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn writable(this: &FixedLengthStream) -> Writable;

    #[derive(Clone)]
    type Writable;
    #[wasm_bindgen(method, js_name = getWriter, catch)]
    fn get_writer(this: &Writable) -> Result<Writer, JsValue>;

    type Writer;
    #[wasm_bindgen(method)]
    fn write(this: &Writer, chunk: &Uint8Array) -> Promise;
    #[wasm_bindgen(method)]
    fn close(this: &Writer) -> Promise;
    #[wasm_bindgen(method, js_name = releaseLock)]
    fn release_lock(this: &Writer);

    type Stored;
    #[wasm_bindgen(method, js_name = pipeTo, catch)]
    fn pipe_to(this: &Stored, into: &Writable, options: &Object) -> Result<Promise, JsValue>;
}

/// The endpoint of this environment.
pub fn settings(env: &Env) -> std::result::Result<TranscriptionSettings, TranscriptionFailure> {
    TranscriptionSettings::read(|name| {
        let found = if name == TRANSCRIPTION_KEY {
            env.secret(name).map(|secret| secret.to_string())
        } else {
            env.var(name).map(|variable| variable.to_string())
        };
        found.ok()
    })
}

/// Has a recording transcribed that is stored under `upload_key`. `name` and `content_type` are what its owner calls it.
///
/// It takes up to [`TranscriptionSettings::timeout`]. When it is dropped before, the request is cut off.
pub async fn transcribe(
    env: &Env,
    settings: &TranscriptionSettings,
    upload_key: &str,
    name: &str,
    content_type: &str,
) -> TranscriptionOutcome {
    let cut_off = CutOff::default();
    let asked = async {
        match exchange(env, settings, upload_key, name, content_type, &cut_off.signal).await {
            Ok(reply) => reply,
            Err(error) => TranscriptionReply::NotConnected { detail: error.to_string() },
        }
    };
    let reply = or_timeout(asked, Duration::from_millis(settings.timeout.0)).await;
    TranscriptionOutcome::of(settings, reply.unwrap_or(TranscriptionReply::TimedOut))
}

/// Cuts a request off when it is dropped: what is left of one that took too long, or of an answer's body, which nobody reads.
struct CutOff {
    controller: Option<AbortController>,
    signal: AbortSignal,
}

impl Default for CutOff {
    fn default() -> Self {
        let controller = AbortController::default();
        Self { signal: controller.signal(), controller: Some(controller) }
    }
}

impl Drop for CutOff {
    fn drop(&mut self) {
        if let Some(controller) = self.controller.take() {
            controller.abort();
        }
    }
}

async fn exchange(
    env: &Env,
    settings: &TranscriptionSettings,
    upload_key: &str,
    name: &str,
    content_type: &str,
    signal: &AbortSignal,
) -> Result<TranscriptionReply> {
    let unreadable = |detail: String| TranscriptionReply::SourceUnreadable { detail };
    let bucket = env.bucket(MEDIA_BUCKET)?;
    // The size first: a body that is begun and not read to its end holds a connection to storage.
    let size = match bucket.head(upload_key).await {
        Ok(None) => return Ok(TranscriptionReply::SourceMissing),
        Ok(Some(object)) if object.size() > settings.max_bytes => {
            return Ok(TranscriptionReply::SourceTooLarge { bytes: object.size() });
        }
        Ok(Some(object)) => object.size(),
        Err(error) => return Ok(unreadable(error.to_string())),
    };
    let object = match bucket.get(upload_key).execute().await {
        Ok(Some(object)) => object,
        Ok(None) => return Ok(TranscriptionReply::SourceMissing),
        Err(error) => return Ok(unreadable(error.to_string())),
    };
    let Some(ResponseBody::Stream(stored)) = object.body().map(|body| body.response_body()).transpose()?
    else {
        return Ok(unreadable("the object has no body".to_owned()));
    };

    let boundary = format!("minifleet-{}", Uuid::now_v7().simple());
    let form = TranscriptionForm::new(settings, name, safe_content_type(Some(content_type)), &boundary);
    let body = FixedLengthStream::new(form.length(size) as f64);
    let request = request(settings, &form, body.readable())?;
    let mut filled = pin!(fill(body.writable(), JsValue::from(stored).unchecked_into(), form, signal));
    let mut answered = pin!(answer(request, signal));
    // The one goes on while the other is waited for. A body that could not be filled breaks its request, which says so.
    let mut is_filled = false;
    poll_fn(|context| {
        is_filled = is_filled || filled.as_mut().poll(context).is_ready();
        answered.as_mut().poll(context)
    })
    .await
    .map(TranscriptionReply::Answered)
}

fn request(settings: &TranscriptionSettings, form: &TranscriptionForm, body: JsValue) -> Result<Request> {
    let headers = Headers::new();
    headers.set("Content-Type", &form.content_type)?;
    headers.set("Accept", "application/json")?;
    headers.set("User-Agent", USER_AGENT)?;
    if let Some(key) = &settings.key {
        headers.set("Authorization", &format!("Bearer {key}"))?;
    }
    let mut init = RequestInit::new();
    init.with_method(Method::Post).with_headers(headers).with_body(Some(body));
    // A redirect would carry key and recording to an address that nobody set.
    init.with_redirect(RequestRedirect::Manual);
    Request::new_with_init(settings.url.as_str(), &init)
}

/// Puts the form's beginning, the recording and the form's end into the body.
async fn fill(
    body: Writable,
    stored: Stored,
    form: TranscriptionForm,
    signal: &AbortSignal,
) -> std::result::Result<(), JsValue> {
    let writer = body.get_writer()?;
    JsFuture::from(writer.write(&Uint8Array::from(form.prefix.as_slice()))).await?;
    writer.release_lock();
    let options = Object::new();
    Reflect::set(&options, &"preventClose".into(), &true.into())?;
    Reflect::set(&options, &"signal".into(), signal.as_ref())?;
    JsFuture::from(stored.pipe_to(&body, &options)?).await?;
    let writer = body.get_writer()?;
    JsFuture::from(writer.write(&Uint8Array::from(form.suffix.as_slice()))).await?;
    JsFuture::from(writer.close()).await.map(drop)
}

async fn answer(request: Request, signal: &AbortSignal) -> Result<TranscriptionAnswer> {
    let mut response = Fetch::Request(request).send_with_signal(signal).await?;
    let status = response.status_code();
    let bound = if (200..=299).contains(&status) { MAX_ANSWER_BYTES } else { MAX_REFUSAL_BYTES };
    let (body, truncated) = beginning(&mut response, bound).await?;
    let headers = response.headers();
    Ok(TranscriptionAnswer {
        status,
        content_type: headers.get("Content-Type")?,
        retry_after: headers.get("Retry-After")?.as_deref().and_then(parse_retry_after),
        body,
        truncated,
    })
}

/// The first bytes of an answer, and whether there were more.
async fn beginning(response: &mut Response, bound: usize) -> Result<(Vec<u8>, bool)> {
    let mut body = Vec::new();
    if !matches!(response.body(), ResponseBody::Stream(_)) {
        return Ok((body, false));
    }
    let mut stream = response.stream()?;
    while let Some(chunk) = stream.next().await {
        body.extend(chunk?);
        if body.len() > bound {
            body.truncate(bound);
            return Ok((body, true));
        }
    }
    Ok((body, false))
}
