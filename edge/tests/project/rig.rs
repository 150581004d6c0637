//! A project, a clock, a store, and others who answer as told.

use std::collections::{BTreeMap, BTreeSet};

use edge::project::errand::Errand;
use edge::project::*;
use shared_protocol::*;

pub struct Rig {
    pub now: TimestampMs,
    pub project: Project,
    config: ProjectConfig,
    head: Option<Head>,
    generations: BTreeMap<GenerationId, Generation>,
    pub transcripts: BTreeMap<u32, Transcript>,
    pub events: Vec<ProjectEvent>,
    untold: BTreeSet<u64>,
    /// Errands that were begun and have no outcome yet.
    pub under_way: Vec<Errand>,
    /// Every errand ever begun.
    pub begun: Vec<Errand>,
}

pub fn id(number: u32) -> GenerationId {
    GenerationId::new(format!("gen_{number}")).unwrap()
}

pub fn transcript(text: &str) -> Transcript {
    let words = vec![Word { word: text.to_owned(), start: 0.0, end: 1.0 }];
    Transcript { text: text.to_owned(), language: None, words }
}

pub fn request(mode: TranscriptMode) -> GenerationRequest {
    GenerationRequest {
        sampler: Sampler::Flash,
        transcript: mode,
        outputs: vec![OutputKind::Hls],
        priority: Priority::Normal,
        webhook: None,
        metadata: BTreeMap::new(),
        expected_seconds: None,
    }
}

pub fn news(number: u32, state: JobNewsState) -> JobNews {
    JobNews {
        job_id: JobId::new(format!("job_{number}")).unwrap(),
        state,
        created_at: TimestampMs(1_000_000),
        started_at: None,
        first_audio_at: None,
        audio_seconds: (state == JobNewsState::Completed).then_some(60.0),
        attempt: Attempt(1),
        timings: Vec::new(),
        failure: None,
    }
}

/// A row as it comes back.
fn stored<T: serde::Serialize + serde::de::DeserializeOwned>(row: &T) -> T {
    serde_json::from_str(&serde_json::to_string(row).unwrap()).unwrap()
}

impl Rig {
    /// A project whose upload is announced.
    pub fn new() -> Self {
        let now = TimestampMs(1_000_000);
        let config = ProjectConfig { transcribes: true, transcription_lease: DurationMs::from_secs(600) };
        let upload =
            announced(now, UploadId::new("upl_1").unwrap(), "talk.mp3".into(), 9, "audio/mpeg".into());
        let head = Head {
            id: ProjectId::new("prj_1").unwrap(),
            tenant: TenantId::new("acme").unwrap(),
            created_at: now,
            metadata: BTreeMap::new(),
            language: None,
            fingerprint: "f".into(),
            registered: false,
            upload,
            transcripts: Vec::new(),
            transcription: Transcription::default(),
            last_event: 0,
        };
        let mut rig = Self {
            now,
            project: Project::new(config.clone(), now, head),
            config,
            head: None,
            generations: BTreeMap::new(),
            transcripts: BTreeMap::new(),
            events: Vec::new(),
            untold: BTreeSet::new(),
            under_way: Vec::new(),
            begun: Vec::new(),
        };
        rig.settle();
        rig.answer(&Errand::Register, ErrandOutcome::Done);
        rig
    }

    /// A project whose recording is there.
    pub fn uploaded() -> Self {
        let mut rig = Self::new();
        rig.act(|project, now| project.complete_upload(now, CompletedBy::Client).unwrap());
        rig
    }

    /// Keeps what is to be kept, begins what is to be begun.
    fn settle(&mut self) {
        for effect in self.project.take_effects() {
            match effect {
                Effect::SaveHead => self.head = Some(stored(self.project.head())),
                Effect::SaveGeneration(id) => {
                    let generation = stored(self.project.generation(&id).unwrap());
                    self.generations.insert(id, generation);
                }
                Effect::SaveTranscript { version, transcript } => {
                    assert!(
                        self.transcripts.insert(version, transcript).is_none(),
                        "a version is written once"
                    );
                }
                Effect::Append(event) => {
                    assert_eq!(event.sequence, self.events.len() as u64 + 1, "events have no gaps");
                    if event.name.webhook().is_some() {
                        self.untold.insert(event.sequence);
                    }
                    self.events.push(event);
                }
                Effect::Told(sequence) => assert!(self.untold.remove(&sequence)),
                Effect::Run(errand) => {
                    self.under_way.push(errand.clone());
                    self.begun.push(errand);
                }
            }
        }
        assert_eq!(self.head.as_ref(), Some(self.project.head()), "the store and the memory differ");
        let stored: BTreeMap<_, _> = self.generations.iter().collect();
        let known: BTreeMap<_, _> = self.project.generations().map(|g| (&g.id, g)).collect();
        assert_eq!(stored, known, "the store and the memory differ");
    }

    pub fn act<R>(&mut self, act: impl FnOnce(&mut Project, TimestampMs) -> R) -> R {
        let result = act(&mut self.project, self.now);
        self.settle();
        result
    }

    pub fn wait(&mut self, time: DurationMs) {
        self.now = self.now + time;
        self.act(|project, now| project.handle_deadline(now));
    }

    /// The object is gone in the middle of everything, and comes back.
    pub fn crash(&mut self) {
        self.under_way.clear();
        let restored = Restored {
            head: self.head.clone().unwrap(),
            generations: self.generations.values().cloned().collect(),
            untold: self.untold.iter().copied().collect(),
        };
        self.project = Project::restore(self.config.clone(), self.now, restored);
        self.settle();
    }

    /// Whoever was asked has answered.
    pub fn answer(&mut self, errand: &Errand, outcome: ErrandOutcome) {
        let position = self.under_way.iter().position(|one| one == errand);
        let position =
            position.unwrap_or_else(|| panic!("{errand:?} is not under way: {:?}", self.under_way));
        let errand = self.under_way.remove(position);
        self.act(|project, now| project.handle_errand(now, &errand, outcome));
    }

    pub fn unanswered(&mut self, errand: &Errand) {
        self.answer(errand, ErrandOutcome::Unanswered { after: None, detail: "cut off".into() });
    }

    pub fn generate(&mut self, number: u32, mode: TranscriptMode) {
        let new = NewGeneration {
            id: id(number),
            job_id: JobId::new(format!("job_{number}")).unwrap(),
            request: request(mode),
            idempotency_key: None,
        };
        self.act(|project, now| project.generate(now, new).unwrap());
    }

    /// The scheduler takes the job.
    pub fn dispatched(&mut self, number: u32) {
        let outcome = ErrandOutcome::Job(news(number, JobNewsState::Live));
        self.answer(&Errand::Dispatch(id(number)), outcome);
    }

    /// The scheduler tells something.
    pub fn job(&mut self, number: u32, state: JobNewsState) {
        self.now = self.now + DurationMs(1);
        self.act(|project, now| project.handle_job(now, &news(number, state), now.0));
    }

    pub fn state(&self, number: u32) -> &'static str {
        self.project.generation(&id(number)).unwrap().state()
    }

    pub fn generation(&self, number: u32) -> &Generation {
        self.project.generation(&id(number)).unwrap()
    }

    pub fn give(&mut self, text: &str) -> u32 {
        self.act(|project, now| project.put_transcript(now, transcript(text)).unwrap())
    }

    pub fn names(&self) -> Vec<&'static str> {
        self.events.iter().map(|event| event.name.name()).collect()
    }

    pub fn times_begun(&self, errand: &Errand) -> usize {
        self.begun.iter().filter(|one| *one == errand).count()
    }
}
