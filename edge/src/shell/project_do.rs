//! The `Project` Durable Object: one for each project.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use shared_protocol::{DurationMs, GenerationId, JobId, TenantId, TimestampMs};
use worker::{DurableObject, Env, Request, Response, Result, State, console_warn, durable_object};

use super::call_project::TELL_PATH;
use super::project_drive::ProjectDrive;
use super::{call_scheduler, now, respond};
use crate::api::projects::call::{Answer, ProjectCall, Question, TimelineFacts, Told, ToldEvent, Watched};
use crate::api::projects::view::{GenerationList, GenerationView, ProgressView, ProjectView};
use crate::project::{Asked, Audio, CompletedBy, Generation, Head, JobNews, NewGeneration, Project, Refusal};

/// How far a restore is, is asked for at most this often, and only while somebody looks.
const PROGRESS_AGE: DurationMs = DurationMs(1_000);

/// A project's object.
#[durable_object]
pub struct ProjectObject {
    drive: AssertUnwindSafe<Rc<ProjectDrive>>,
    /// How far restores were when somebody looked last. Nothing of it is durable.
    progress: AssertUnwindSafe<RefCell<BTreeMap<JobId, (TimestampMs, ProgressView)>>>,
}

impl DurableObject for ProjectObject {
    fn new(state: State, env: Env) -> Self {
        Self {
            drive: AssertUnwindSafe(ProjectDrive::new(state, env)),
            progress: AssertUnwindSafe(RefCell::default()),
        }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        let path = request.path();
        let body = request.text().await?;
        let answer = if path == TELL_PATH {
            self.told(serde_json::from_str(&body)?).await?
        } else {
            self.answer(serde_json::from_str(&body)?).await?
        };
        respond::json(200, &answer)
    }

    async fn alarm(&self) -> Result<Response> {
        self.drive.alarm().await?;
        Response::empty()
    }
}

impl ProjectObject {
    /// What the scheduler tells of a job.
    async fn told(&self, told: Told) -> Result<Answer> {
        let event: ToldEvent = match serde_json::from_value(told.event) {
            Ok(event) => event,
            Err(error) => {
                // It would be told again and again: of a release that does not fit, or nothing of ours.
                console_warn!("an event that cannot be read is let go of: {error}");
                return Ok(Answer::Done);
            }
        };
        let sequence = told.sequence;
        let turn = self.drive.turn(|brain, now| match (event.follow_up(), &event.data.job) {
            (Some(name), _) => brain.handle_follow_up(now, &event.data.job_id, name, sequence),
            (None, Some(job)) => brain.handle_job(now, &JobNews::of(job), sequence),
            (None, None) => {}
        });
        Ok(turn.await?.map_or_else(Answer::Refused, |()| Answer::Done))
    }

    async fn answer(&self, call: ProjectCall) -> Result<Answer> {
        let ProjectCall { tenant, question } = call;
        if let Question::Create(head) = question {
            return self.create(&tenant, *head).await;
        }
        let is_owner = self.drive.turn(|brain, _| brain.head().tenant == tenant).await?;
        if !is_owner.unwrap_or(false) {
            return Ok(Answer::Refused(Refusal::ProjectNotFound));
        }
        let answer = match question {
            Question::Create(_) => return Ok(Answer::Refused(Refusal::ProjectNotFound)),
            Question::Get => self.turn(|brain, _| Ok(project(brain, false))).await,
            Question::Upload => {
                self.turn(|brain, _| {
                    let upload = Box::new(brain.head().upload.clone());
                    Ok(Answer::Upload { project: Box::new(ProjectView::of(brain)), upload })
                })
                .await
            }
            Question::Arrived => {
                self.turn(|brain, now| {
                    brain.handle_arrived(now);
                    Ok(Answer::Done)
                })
                .await
            }
            Question::PartArrived { number, part } => {
                self.turn(|brain, now| brain.part_arrived(now, number, part).map(|()| Answer::Done)).await
            }
            Question::CompleteUpload => {
                self.turn(|brain, now| {
                    brain.complete_upload(now, CompletedBy::Client).map(|()| project(brain, false))
                })
                .await
            }
            Question::UploadIsSpoilt => {
                self.turn(|brain, now| {
                    brain.upload_is_spoilt(now);
                    Ok(Answer::Done)
                })
                .await
            }
            Question::Transcript { version } => self.transcript(version).await,
            Question::PutTranscript { transcript } => {
                self.turn(|brain, now| {
                    brain.put_transcript(now, transcript).map(|version| Answer::TranscriptTaken { version })
                })
                .await
            }
            Question::Transcribe => {
                self.turn(|brain, now| brain.transcribe(now).map(|()| project(brain, false))).await
            }
            Question::Generate { id, job_id, request, idempotency_key, only_known } => {
                let new = NewGeneration { id, job_id, request: *request, idempotency_key };
                self.turn(|brain, now| {
                    if only_known {
                        return generation(brain, &brain.known(&new)?.clone(), false);
                    }
                    let (id, new) = match brain.generate(now, new)? {
                        Asked::New(id) => (id, true),
                        Asked::Known(id) => (id, false),
                    };
                    generation(brain, &id, new)
                })
                .await
            }
            Question::Generations { limit, before } => {
                self.turn(|brain, _| Ok(Answer::Generations(page(brain, limit, before)))).await
            }
            Question::Generation { id } => {
                let progress = self.refreshed(&tenant).await?;
                self.turn(|brain, _| {
                    let mut answer = generation(brain, &id, false)?;
                    if let Answer::Generation { generation, .. } = &mut answer {
                        generation.progress =
                            progress.into_iter().find(|(of, _)| *of == id).map(|(_, progress)| progress);
                    }
                    Ok(answer)
                })
                .await
            }
            Question::Cancel { id } => {
                self.turn(|brain, now| {
                    brain.cancel(now, &id)?;
                    generation(brain, &id, false)
                })
                .await
            }
            Question::Watch { after } => self.watch(&tenant, after).await,
            Question::Timeline { id } => {
                self.turn(|brain, _| {
                    let generation = brain.generation(&id).ok_or(Refusal::GenerationNotFound)?.clone();
                    Ok(Answer::Timeline(Box::new(TimelineFacts { head: brain.head().clone(), generation })))
                })
                .await
            }
        }?;
        Ok(answer)
    }

    /// A turn whose refusal is an answer too.
    async fn turn(
        &self,
        input: impl FnOnce(&mut Project, TimestampMs) -> std::result::Result<Answer, Refusal>,
    ) -> Result<Answer> {
        let answer = self.drive.turn(input).await?;
        Ok(answer.and_then(|answer| answer).unwrap_or_else(Answer::Refused))
    }

    async fn create(&self, tenant: &TenantId, head: Head) -> Result<Answer> {
        let fingerprint = head.fingerprint.clone();
        let new = self.drive.create(head).await?;
        self.turn(|brain, _| {
            if brain.head().tenant != *tenant {
                return Err(Refusal::ProjectNotFound);
            }
            if brain.head().fingerprint != fingerprint {
                return Err(Refusal::KeyReused { by: format!("project {}", brain.head().id) });
            }
            Ok(project(brain, new))
        })
        .await
    }

    async fn transcript(&self, version: Option<u32>) -> Result<Answer> {
        let latest =
            self.drive.turn(|brain, _| brain.latest_transcript().map(|latest| latest.version)).await?;
        let version = match (version, latest) {
            (Some(version), _) | (None, Ok(Some(version))) => version,
            _ => return Ok(Answer::Refused(Refusal::TranscriptNotFound)),
        };
        Ok(match self.drive.store().transcript(version)? {
            Some(transcript) => Answer::Transcript { version, transcript },
            None => Answer::Refused(Refusal::TranscriptNotFound),
        })
    }

    async fn watch(&self, tenant: &TenantId, after: Option<u64>) -> Result<Answer> {
        let progress = self.refreshed(tenant).await?;
        let latest = self.drive.turn(|brain, _| brain.head().last_event).await?.unwrap_or(0);
        let after = after.unwrap_or(0).min(latest);
        let events = self.drive.store().events_after(after)?;
        let gap = events.first().is_some_and(|first| first.sequence > after + 1);
        let last = events.last().map_or(latest.max(after), |event| event.sequence);
        Ok(Answer::Watched(Box::new(Watched { events, last, gap, progress })))
    }

    /// How far the restores are that run. Asked for at most once a second, and only when somebody wants to know.
    async fn refreshed(&self, tenant: &TenantId) -> Result<Vec<(GenerationId, ProgressView)>> {
        let running = |generation: &Generation| {
            matches!(generation.audio, Audio::Restoring { started_at: Some(_), .. })
                .then(|| (generation.id.clone(), generation.job_id.clone()))
        };
        let running: Vec<(GenerationId, JobId)> = self
            .drive
            .turn(|brain, _| brain.generations().filter_map(running).collect())
            .await?
            .unwrap_or_default();
        self.progress.borrow_mut().retain(|job, _| running.iter().any(|(_, id)| id == job));
        let mut all = Vec::new();
        for (generation, job) in running {
            let known = self.progress.borrow().get(&job).cloned();
            if let Some((_, progress)) = known.filter(|(at, _)| now() - *at < PROGRESS_AGE) {
                all.push((generation, progress));
                continue;
            }
            match call_scheduler::job(self.drive.env(), tenant, &job).await {
                Ok(detail) => {
                    let progress = ProgressView::of(&detail.job);
                    self.progress.borrow_mut().insert(job, (now(), progress.clone()));
                    all.push((generation, progress));
                }
                Err(fault) => console_warn!("how far {job} is, is not known: {fault}"),
            }
        }
        Ok(all)
    }
}

fn project(brain: &Project, new: bool) -> Answer {
    Answer::Project { project: Box::new(ProjectView::of(brain)), new }
}

fn generation(brain: &Project, id: &GenerationId, new: bool) -> std::result::Result<Answer, Refusal> {
    let generation = brain.generation(id).ok_or(Refusal::GenerationNotFound)?;
    Ok(Answer::Generation { generation: Box::new(GenerationView::of(&brain.head().id, generation)), new })
}

fn page(brain: &Project, limit: u32, before: Option<u64>) -> GenerationList {
    let before = before.unwrap_or(u64::MAX);
    let mut all: Vec<&Generation> = brain.generations().filter(|one| one.sequence < before).collect();
    all.sort_by_key(|generation| std::cmp::Reverse(generation.sequence));
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = all.len() > limit;
    all.truncate(limit);
    GenerationList {
        next_cursor: all.last().filter(|_| more).map(|last| last.sequence.to_string()),
        generations: all.iter().map(|one| GenerationView::of(&brain.head().id, one)).collect(),
    }
}
