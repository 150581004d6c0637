//! The session's promises, told as stories.

use shared_protocol::{
    Ack, BootId, CancelReason, DecodeError, HlsSegment, JobOutcome, OutputKind, PROTOCOL_VERSION, Phase,
    Pong, ProtocolError, QualityScores, Sampler, Source, UploadId, Welcome, WorkerId,
};

use super::*;
use crate::session::SECOND_CHOICE_AFTER;

/// A session with its shell and its scheduler played by hand.
struct Stage {
    session: Session,
    now: TimestampMs,
    log: Vec<Effect>,
}

impl Stage {
    fn new(slots: u32) -> Self {
        Self::with_journal(slots, Vec::new())
    }

    fn with_journal(slots: u32, journal: Vec<WorkerMessage>) -> Self {
        let hello = Hello {
            protocol: PROTOCOL_VERSION,
            worker_id: WorkerId::new("mini-1").unwrap(),
            boot_id: BootId::new("boot-1").unwrap(),
            version: "0.1.0".into(),
            slots,
            samplers: vec![Sampler::Flash],
            engine: "onnx-cpu".into(),
            labels: vec![],
            priority: 0,
        };
        let now = TimestampMs(1_000);
        Self { session: Session::new(hello, 7, journal, now), now, log: Vec::new() }
    }

    /// A stage whose link has been greeted and has said `ready`.
    fn connected(slots: u32) -> Self {
        let mut stage = Self::new(slots);
        stage.connect();
        stage.log.clear();
        stage
    }

    fn give(&mut self, input: Input) -> Vec<Effect> {
        self.session.handle(self.now, input);
        let mut effects = Vec::new();
        while let Some(effect) = self.session.poll_effect() {
            effects.push(effect);
        }
        self.log.extend(effects.iter().cloned());
        effects
    }

    fn receive(&mut self, message: SchedulerMessage) -> Vec<Effect> {
        self.give(Input::Received(Ok(message)))
    }

    /// Lets time run to a deadline or by `ms`, whichever is sooner, and ticks.
    fn wait(&mut self, ms: u64) -> Vec<Effect> {
        let end = self.now + DurationMs(ms);
        let mut effects = Vec::new();
        while self.session.next_deadline() <= end {
            self.now = self.now.max(self.session.next_deadline());
            effects.extend(self.give(Input::Tick));
        }
        self.now = end;
        effects
    }

    fn connect(&mut self) -> Vec<Effect> {
        self.connect_to(&[])
    }

    fn connect_to(&mut self, capabilities: &[&str]) -> Vec<Effect> {
        let connecting = self.wait(20_000.min(self.session.next_deadline().0.saturating_sub(self.now.0)));
        assert!(connecting.contains(&Effect::Connect), "{connecting:?}");
        let greeting = self.give(Input::LinkOpened);
        assert!(matches!(greeting[..], [Effect::Send(WorkerMessage::Hello(_))]), "{greeting:?}");
        self.receive(SchedulerMessage::Welcome(Welcome {
            protocol: PROTOCOL_VERSION,
            environment: "dev".into(),
            capabilities: capabilities.iter().map(|name| (*name).to_owned()).collect(),
            ping_interval_ms: DurationMs(3_000),
        }))
    }

    fn complete(&mut self, job: &str, attempt: u32) -> Vec<Effect> {
        let outcome = JobOutcome {
            files: vec![],
            hls_segments: 0,
            audio_seconds: 1.0,
            channels: 1,
            real_time_factor: 0.03,
            timings: vec![],
        };
        self.end(job, attempt, JobEnd::Completed { segments: vec![], outcome })
    }

    fn end(&mut self, job: &str, attempt: u32, end: JobEnd) -> Vec<Effect> {
        self.give(Input::Ended { job_id: job_id(job), attempt: Attempt(attempt), end })
    }

    fn progress(&mut self, fraction: f64, phase: Phase, segments: &[u32]) -> Vec<Effect> {
        let segment =
            |sequence: &u32| HlsSegment { sequence: *sequence, duration_ms: DurationMs(1_000), size: 20_000 };
        let segments = segments.iter().map(segment).collect();
        let update = ProgressUpdate { phase, fraction, audio_seconds: None, segments };
        self.give(Input::Progressed { job_id: job_id("a"), attempt: Attempt(1), update })
    }
}

fn job_id(job: &str) -> JobId {
    JobId::new(format!("job_{job}")).unwrap()
}

fn assign(job: &str, attempt: u32) -> SchedulerMessage {
    SchedulerMessage::Assign(Assign {
        job_id: job_id(job),
        attempt: Attempt(attempt),
        sampler: Sampler::Flash,
        outputs: vec![OutputKind::Hls],
        source: Source { upload_id: UploadId::new("upl_1").unwrap(), name: "talk.mp3".into(), size: 10 },
        ticket: "t".into(),
        transcript_version: None,
    })
}

fn cancel(job: &str, attempt: u32) -> SchedulerMessage {
    SchedulerMessage::Cancel(Cancel {
        job_id: job_id(job),
        attempt: Attempt(attempt),
        reason: CancelReason::Requested,
    })
}

fn ack(message: &WorkerMessage) -> SchedulerMessage {
    SchedulerMessage::Ack(Ack { message_id: message.message_id().unwrap().clone() })
}

/// The effects in one line each: `accept a1`, `ready 1 []`, `start a1`, `journal complete a1`.
fn told(effects: &[Effect]) -> Vec<String> {
    let key = |job: &JobId, attempt: &Attempt| format!("{}{attempt}", job.as_str().replace("job_", ""));
    let words = |message: &WorkerMessage| match message {
        WorkerMessage::Ready(m) => {
            let ids: Vec<String> = m.job_ids.iter().map(|r| key(&r.job_id, &r.attempt)).collect();
            format!("ready {} [{}]{}", m.slots, ids.join(" "), if m.draining { " draining" } else { "" })
        }
        WorkerMessage::Accept(m) => format!("accept {}", key(&m.job_id, &m.attempt)),
        WorkerMessage::Reject(m) => format!("reject {} {:?}", key(&m.job_id, &m.attempt), m.reason),
        WorkerMessage::Complete(m) => format!("complete {}", key(&m.job_id, &m.attempt)),
        WorkerMessage::Failed(m) => format!("failed {} {:?}", key(&m.job_id, &m.attempt), m.failure.code),
        WorkerMessage::Cancelled(m) => format!("cancelled {}", key(&m.job_id, &m.attempt)),
        WorkerMessage::Progress(m) => {
            let segments: Vec<u32> = m.segments.iter().map(|s| s.sequence).collect();
            format!("progress {:.2} {segments:?}", m.fraction)
        }
        other => other.kind().to_owned(),
    };
    let line = |effect: &Effect| match effect {
        Effect::Send(message) => words(message),
        Effect::Journal(message) => format!("journal {}", words(message)),
        Effect::Start(a) => format!("start {}", key(&a.job_id, &a.attempt)),
        Effect::Stop { job_id, attempt } => format!("stop {}", key(job_id, attempt)),
        Effect::JournalInCase(message) => format!("in case {}", words(message)),
        Effect::Forget(_) => "forget".into(),
        Effect::Connect => "connect".into(),
        Effect::Disconnect => "disconnect".into(),
        Effect::Note(_) => "note".into(),
    };
    effects.iter().map(line).filter(|line| line != "note").collect()
}

#[test]
fn an_offer_is_answered_at_once_and_a_freed_slot_is_offered_after_the_result() {
    let mut stage = Stage::connected(1);
    assert_eq!(told(&stage.receive(assign("a", 1))), ["accept a1", "start a1"]);
    assert_eq!(told(&stage.receive(assign("b", 1))), ["reject b1 NoSlot"]);
    assert_eq!(told(&stage.complete("a", 1)), ["journal complete a1", "complete a1", "ready 1 []"]);
}

#[test]
fn stems_that_a_worker_does_not_live_to_make_are_told_by_the_next_one_and_made_ones_only_once() {
    let mut stage = Stage::connected(1);
    stage.receive(assign("a", 1));
    let (job, attempt) = (job_id("a"), Attempt(1));
    let in_case = stage.give(Input::StemsFollow { job_id: job.clone(), attempt });
    assert_eq!(told(&in_case), ["in case job.stems"]);
    assert_eq!(told(&stage.complete("a", 1)), ["journal complete a1", "complete a1", "ready 1 []"]);
    let Effect::JournalInCase(WorkerMessage::Stems(promised)) = &in_case[0] else { panic!("{in_case:?}") };
    assert_eq!(promised.failure.as_ref().map(|failure| failure.code), Some(FailureCode::WorkerLost));

    let mut next_run = Stage::with_journal(1, vec![WorkerMessage::Stems(promised.clone())]);
    assert!(!next_run.session.is_settled());

    let made = stage.give(Input::Followed { job_id: job, attempt, stems: Ok(vec![]) });
    let Effect::Journal(WorkerMessage::Stems(stems)) = &made[0] else { panic!("{made:?}") };
    assert_eq!((&stems.message_id, &stems.failure), (&promised.message_id, &None), "in its place");
    assert_eq!(next_run.give(Input::Tick).len(), 1, "it connects, to tell");
}

#[test]
fn scores_are_kept_until_they_are_acknowledged_unless_the_scheduler_does_not_want_them() {
    let mut stage = Stage::connected(1);
    let scores =
        QualityScores { scorer: "mos".to_owned(), original: 2.5, restored: 3.25, attempt: Attempt(1) };
    let scored = Input::Scored { job_id: job_id("a"), scores: scores.clone() };
    assert_eq!(stage.give(scored.clone()), [], "an older scheduler rejects what it does not know");
    assert!(stage.session.is_settled(), "and nothing piles up for it");

    stage.give(Input::LinkClosed);
    stage.connect_to(&["job.quality"]);
    let effects = stage.give(scored);
    let [Effect::Journal(kept), Effect::Send(sent)] = &effects[..] else { panic!("{effects:?}") };
    let WorkerMessage::Quality(quality) = kept else { panic!("{kept:?}") };
    assert_eq!((kept, &quality.scores), (sent, &scores));
    assert_eq!(told(&stage.receive(ack(kept))), ["forget"]);
    assert!(stage.session.is_settled());
}

#[test]
fn a_completion_in_flight_when_the_socket_dropped_is_delivered_once_more_before_ready() {
    let mut stage = Stage::connected(1);
    stage.receive(assign("a", 1));
    let end = stage.complete("a", 1);
    stage.give(Input::LinkClosed);
    assert_eq!(told(&stage.connect()), ["complete a1", "ready 1 []"]);
    let Effect::Journal(message) = &end[0] else { panic!("journaled first: {end:?}") };
    assert_eq!(told(&stage.receive(ack(message))), ["forget"]);
    stage.give(Input::LinkClosed);
    assert_eq!(told(&stage.connect()), ["ready 1 []"], "acknowledged: never again");
}

#[test]
fn a_completion_without_a_link_waits_in_the_journal_and_survives_the_process() {
    let mut stage = Stage::connected(1);
    stage.receive(assign("a", 1));
    stage.give(Input::LinkClosed);
    let end = stage.complete("a", 1);
    assert_eq!(told(&end), ["journal complete a1"]);
    let Effect::Journal(message) = end[0].clone() else { unreachable!() };

    let mut next_run = Stage::with_journal(1, vec![message]);
    assert_eq!(told(&next_run.connect()), ["complete a1", "ready 1 []"]);
}

#[test]
fn a_result_that_is_not_acknowledged_on_a_living_link_is_sent_again() {
    let mut stage = Stage::connected(1);
    stage.receive(assign("a", 1));
    stage.complete("a", 1);
    let mut again = 0;
    for _ in 0..25 {
        again += told(&stage.wait(1_000)).iter().filter(|line| *line == "complete a1").count();
        stage.receive(SchedulerMessage::Pong(Pong { sequence: 1 }));
    }
    assert_eq!(again, 2, "every 10 s");
}

#[test]
fn work_goes_on_while_the_link_is_away_and_is_listed_when_it_is_back() {
    let mut stage = Stage::connected(2);
    stage.receive(assign("a", 1));
    stage.progress(0.2, Phase::Restoring, &[0, 1]);
    assert!(told(&stage.give(Input::LinkClosed)).is_empty(), "nothing is stopped");
    stage.progress(0.3, Phase::Restoring, &[2]);
    assert_eq!(
        told(&stage.connect()),
        ["ready 1 [a1]", "progress 0.30 [0, 1, 2]"],
        "segments announced on the old connection may be lost: all of them again"
    );
}

#[test]
fn an_offer_lost_with_the_old_connection_does_not_run() {
    let mut stage = Stage::connected(1);
    stage.give(Input::LinkClosed);
    assert!(told(&stage.receive(assign("a", 1))).is_empty());
    assert_eq!(told(&stage.connect()), ["ready 1 []"]);
    assert_eq!(told(&stage.receive(assign("a", 2))), ["accept a2", "start a2"]);
}

#[test]
fn a_repeated_offer_of_what_runs_or_just_ended_is_accepted_again_and_not_run_twice() {
    let mut stage = Stage::connected(1);
    stage.receive(assign("a", 1));
    assert_eq!(told(&stage.receive(assign("a", 1))), ["accept a1"]);
    stage.complete("a", 1);
    let again = told(&stage.receive(assign("a", 1)));
    assert_eq!(again[..2], ["accept a1", "complete a1"]);
    assert!(!told(&stage.log).iter().skip(2).any(|line| line == "start a1"));
}

#[test]
fn a_newer_attempt_stops_the_older_one_and_gets_its_slot_next_time() {
    let mut stage = Stage::connected(1);
    stage.receive(assign("a", 1));
    assert_eq!(told(&stage.receive(assign("a", 2))), ["stop a1", "reject a2 NoSlot"]);
    assert_eq!(
        told(&stage.end("a", 1, JobEnd::Stopped)),
        ["journal cancelled a1", "cancelled a1", "ready 1 []"]
    );
    assert_eq!(told(&stage.receive(assign("a", 2))), ["accept a2", "start a2"]);

    let mut roomy = Stage::connected(2);
    roomy.receive(assign("a", 1));
    assert_eq!(told(&roomy.receive(assign("a", 2))), ["stop a1", "accept a2", "start a2"]);
    assert_eq!(told(&roomy.receive(assign("a", 1))), ["accept a1"], "it still runs until it has stopped");
}

#[test]
fn a_cancel_racing_a_completion_ends_in_exactly_one_of_the_two() {
    let mut stage = Stage::connected(1);
    stage.receive(assign("a", 1));
    assert_eq!(told(&stage.receive(cancel("a", 1))), ["stop a1"]);
    assert!(told(&stage.receive(cancel("a", 1))).is_empty(), "once is enough");
    assert_eq!(told(&stage.complete("a", 1)), ["journal complete a1", "complete a1", "ready 1 []"]);
    assert!(told(&stage.receive(cancel("a", 1))).is_empty(), "the completion was quicker and is on its way");

    let mut stopped = Stage::connected(1);
    stopped.receive(assign("a", 1));
    stopped.receive(cancel("a", 1));
    let failure = JobFailure::new(FailureCode::EncodeFailed, "killed on the way");
    let end = told(&stopped.end("a", 1, JobEnd::Failed(failure)));
    assert_eq!(end, ["journal cancelled a1", "cancelled a1", "ready 1 []"]);
    assert!(stopped.complete("a", 1).is_empty(), "an attempt ends once");
}

#[test]
fn a_cancel_of_what_does_not_run_here_is_answered_all_the_same() {
    let mut stage = Stage::connected(1);
    assert_eq!(told(&stage.receive(cancel("a", 1))), ["journal cancelled a1", "cancelled a1"]);
}

#[test]
fn a_silent_link_is_given_up_and_made_again() {
    let mut stage = Stage::connected(1);
    let effects = told(&stage.wait(10_000));
    assert_eq!(effects.iter().filter(|line| *line == "ping").count(), 3);
    assert!(effects.contains(&"disconnect".to_owned()), "{effects:?}");
    assert!(told(&stage.wait(10_000)).contains(&"connect".to_owned()));
    assert!(told(&stage.wait(60_000)).contains(&"connect".to_owned()), "a connection that never opens too");
}

#[test]
fn a_report_that_the_scheduler_lost_is_made_again_within_half_a_minute() {
    let mut stage = Stage::connected(2);
    stage.receive(assign("a", 1));
    let mut reports = 0;
    for _ in 0..60 {
        reports += told(&stage.wait(1_000)).iter().filter(|line| *line == "ready 1 [a1]").count();
        stage.receive(SchedulerMessage::Pong(Pong { sequence: 1 }));
    }
    assert_eq!(reports, 2, "a minute in which nothing changed");
}

#[test]
fn a_scheduler_that_lost_what_it_kept_of_the_link_gets_a_new_one() {
    let mut stage = Stage::connected(1);
    let forgot = ProtocolError {
        code: "hello_expected".into(),
        message: "the first message on a connection is hello".into(),
        regarding: Some("ping".into()),
    };
    assert_eq!(told(&stage.receive(SchedulerMessage::Error(forgot))), ["disconnect"]);
    assert!(told(&stage.wait(10_000)).contains(&"connect".to_owned()));
}

#[test]
fn reconnecting_goes_on_for_ever() {
    let mut stage = Stage::new(1);
    let mut attempts = 0;
    for _ in 0..3_600 {
        attempts += told(&stage.wait(1_000)).iter().filter(|line| *line == "connect").count();
        stage.give(Input::LinkClosed);
    }
    assert!((400..1_800).contains(&attempts), "an hour without a scheduler: {attempts}");
}

#[test]
fn what_cannot_be_read_is_noted_and_the_link_lives_on() {
    let mut stage = Stage::connected(1);
    let unknown = DecodeError::UnknownType { kind: "job.dance".into() };
    assert_eq!(stage.give(Input::Received(Err(unknown.clone()))), [Effect::Note(Note::Unreadable(unknown))]);
    assert_eq!(told(&stage.receive(assign("a", 1))), ["accept a1", "start a1"]);
}

#[test]
fn a_draining_worker_finishes_what_it_has_and_keeps_pinging() {
    let mut stage = Stage::connected(2);
    stage.receive(assign("a", 1));
    assert_eq!(told(&stage.give(Input::Drain)), ["ready 0 [a1] draining"]);
    assert_eq!(told(&stage.receive(assign("b", 1))), ["reject b1 Draining"]);
    assert!(told(&stage.wait(9_000)).contains(&"ping".to_owned()));
    let end = stage.complete("a", 1);
    assert_eq!(told(&end)[..2], ["journal complete a1", "complete a1"]);
    assert!(stage.session.running().len() == 0 && !stage.session.is_settled());
    let Effect::Journal(message) = &end[0] else { unreachable!() };
    stage.receive(ack(message));
    assert!(stage.session.is_settled());
}

#[test]
fn a_second_signal_hands_jobs_back_as_retryable_failures() {
    let mut stage = Stage::connected(2);
    stage.receive(assign("a", 1));
    stage.receive(assign("b", 1));
    stage.receive(cancel("b", 1));
    assert_eq!(told(&stage.give(Input::HandBack)), ["stop a1", "ready 0 [a1 b1] draining"]);
    let a = told(&stage.end("a", 1, JobEnd::Stopped));
    assert_eq!(a, ["journal failed a1 WorkerStopping", "failed a1 WorkerStopping"]);
    let b = told(&stage.end("b", 1, JobEnd::Stopped));
    assert_eq!(b, ["journal cancelled b1", "cancelled b1"], "a cancel asked for stays one");
}

#[test]
fn a_job_that_this_worker_cannot_do_costs_no_busy_loop() {
    let mut stage = Stage::connected(1);
    let SchedulerMessage::Assign(mut pro) = assign("a", 1) else { unreachable!() };
    pro.sampler = Sampler::Pro;
    assert_eq!(told(&stage.receive(SchedulerMessage::Assign(pro))), ["reject a1 Unsupported"]);
    assert!(told(&stage.wait(900)).is_empty());
    assert_eq!(told(&stage.wait(100)), ["ready 1 []"]);
}

#[test]
fn progress_is_thinned_but_phases_the_first_segment_and_the_last_word_are_not_lost() {
    let mut stage = Stage::connected(1);
    stage.receive(assign("a", 1));
    assert_eq!(told(&stage.progress(0.01, Phase::Downloading, &[])), ["progress 0.01 []"]);
    assert!(stage.progress(0.02, Phase::Downloading, &[]).is_empty());
    assert_eq!(told(&stage.progress(0.05, Phase::Restoring, &[])), ["progress 0.05 []"], "phase");
    assert_eq!(told(&stage.progress(0.06, Phase::Restoring, &[0])), ["progress 0.06 [0]"], "first segment");
    for step in 0..20 {
        stage.progress(0.1 + f64::from(step) / 100.0, Phase::Restoring, &[step + 1]);
    }
    assert_eq!(told(&stage.wait(1_000)), ["progress 0.29 []"], "latest wins");
    let later = told(&stage.wait(1_000));
    let all: Vec<u32> = (1..=20).collect();
    assert_eq!(later, [format!("progress 0.29 {all:?}")], "segments add up, nothing repeats");
}

#[test]
fn slots_taken_by_another_environment_are_not_offered() {
    let mut stage = Stage::connected(1);
    assert_eq!(told(&stage.give(Input::SlotsElsewhere(1))), ["ready 0 []"]);
    assert_eq!(told(&stage.receive(assign("a", 1))), ["reject a1 NoSlot"]);
    assert_eq!(told(&stage.give(Input::SlotsElsewhere(0))), ["ready 1 []"]);
}

#[test]
fn a_freed_slot_is_productions_at_once_and_devs_half_a_second_later_if_it_is_still_free() {
    let mut dev = Stage::new(2);
    dev.session = dev.session.holding_freed_slots_back(SECOND_CHOICE_AFTER);
    assert_eq!(told(&dev.connect()), ["ready 2 []"], "what was never taken is offered at once");
    dev.receive(assign("a", 1));
    dev.receive(assign("b", 1));
    assert_eq!(told(&dev.complete("a", 1)), ["journal complete a1", "complete a1"], "its own slot too");
    assert_eq!(told(&dev.receive(assign("c", 1))), ["reject c1 NoSlot"], "not even when it is asked");
    assert!(told(&dev.wait(499)).is_empty());
    assert_eq!(told(&dev.wait(1)), ["ready 1 [b1]"]);

    // Production takes it, and its next freed slot is not the one that dev waits for already.
    assert_eq!(told(&dev.give(Input::SlotsElsewhere(1))), ["ready 0 [b1]"]);
    dev.complete("b", 1);
    dev.wait(300);
    assert!(told(&dev.give(Input::SlotsElsewhere(0))).is_empty());
    assert_eq!(told(&dev.wait(200)), ["ready 1 []"], "the one freed first");
    assert!(told(&dev.give(Input::SlotsElsewhere(1))).is_empty(), "production took the other one in time");
    dev.receive(SchedulerMessage::Pong(Pong { sequence: 1 }));
    assert!(told(&dev.wait(400)).is_empty());
}

#[test]
fn a_scheduler_that_greets_and_drops_is_not_hammered() {
    let mut stage = Stage::new(1);
    let start = stage.now;
    for _ in 0..30 {
        stage.connect();
        stage.give(Input::LinkClosed);
    }
    let mean = (stage.now - start).0 / 30;
    assert!(mean > 2_500, "mean pause {mean} ms");
}

#[test]
fn equal_inputs_give_equal_effects() {
    let run = || {
        let mut stage = Stage::connected(2);
        stage.receive(assign("a", 1));
        stage.progress(0.1, Phase::Restoring, &[0]);
        stage.wait(40_000);
        stage.give(Input::LinkClosed);
        stage.connect();
        stage.complete("a", 1);
        stage.log
    };
    assert_eq!(run(), run());
}

#[test]
fn a_connection_that_became_another_one_is_told_with_the_next_ping_and_a_little_noise_is_not() {
    let mut stage = Stage::connected(2);
    let measured = |upload: f64| Input::Measured {
        speeds: vec![],
        link: Some(LinkReport { upload_bytes_per_second: upload, ..LinkReport::default() }),
    };
    let told = |effects: Vec<Effect>| -> Vec<Option<LinkReport>> {
        let link = |effect| match effect {
            Effect::Send(WorkerMessage::Ready(ready)) => Some(ready.link),
            _ => None,
        };
        effects.into_iter().filter_map(link).collect()
    };
    stage.give(measured(5.0e6));
    assert_eq!(told(stage.wait(3_000)).len(), 1, "the first figures are news");
    stage.receive(SchedulerMessage::Pong(Pong { sequence: 1 }));
    stage.give(measured(5.5e6));
    assert_eq!(told(stage.wait(3_000)), []);
    stage.receive(SchedulerMessage::Pong(Pong { sequence: 2 }));
    stage.give(measured(2.0e6));
    let told = told(stage.wait(3_000));
    assert_eq!(told[0].map(|link| link.upload_bytes_per_second), Some(2.0e6));
}

#[test]
fn an_accepted_job_counts_in_the_backlog_from_its_acceptance_and_by_its_true_length_once_that_is_known() {
    let mut stage = Stage::connected(2);
    let speeds = vec![SamplerSpeed { sampler: Sampler::Flash, audio_seconds_per_second: 50.0 }];
    stage.give(Input::Measured { speeds, link: None });
    stage.give(Input::Backlog(3.0));
    let SchedulerMessage::Assign(mut ten_minutes) = assign("a", 1) else { unreachable!() };
    ten_minutes.source.size = 600 * 16_000;
    stage.receive(SchedulerMessage::Assign(ten_minutes));
    let pinged = |stage: &mut Stage| {
        stage.receive(SchedulerMessage::Pong(Pong { sequence: 0 }));
        let effects = stage.wait(3_000);
        effects.iter().find_map(|effect| match effect {
            Effect::Send(WorkerMessage::Ping(ping)) => Some(ping.backlog_seconds),
            _ => None,
        })
    };
    assert_eq!(pinged(&mut stage), Some(3.0 + 600.0 / 50.0), "a guess, by its size");
    assert_eq!(stage.session.inference_ahead(), 12.0, "which other environments are told");

    // Somebody has looked into it: from now on the model counts it.
    let update = |phase, audio_seconds| Input::Progressed {
        job_id: job_id("a"),
        attempt: Attempt(1),
        update: ProgressUpdate { phase, fraction: 0.05, audio_seconds, segments: vec![] },
    };
    stage.give(update(Phase::Downloading, None));
    assert_eq!(stage.session.inference_ahead(), 12.0);
    stage.give(update(Phase::PreparingAudio, Some(1_200.0)));
    stage.give(Input::Backlog(3.0 + 24.0));
    assert_eq!(pinged(&mut stage), Some(27.0), "and not twice");

    // One whose length nobody knows is counted by the model, window by window.
    stage.receive(assign("b", 1));
    assert!(stage.session.inference_ahead() > 0.0);
    stage.end("b", 1, JobEnd::Stopped);
    assert_eq!(stage.session.inference_ahead(), 0.0);
}
