//! The object's tables, as durable as the platform's.

use std::collections::BTreeMap;

use edge::outbox::{Endpoint, EndpointId, Row, RowId};
use edge::scheduler::{
    ConnectionId, FollowUp, Job, KnownKey, Meta, Playlist, Restored, WorkerControl, WorkerSnapshot,
};
use shared_protocol::{JobId, MessageId, TenantId, TimestampMs, WorkerId, limits::STEMS_WINDOW};

/// Rows by kind.
#[derive(Debug, Clone, Default)]
pub struct Store {
    /// Jobs without what is not persisted with them.
    pub jobs: BTreeMap<JobId, Job>,
    /// Playlists.
    pub playlists: BTreeMap<JobId, Playlist>,
    /// The row about the whole.
    pub meta: Meta,
    /// What holds for workers.
    pub controls: BTreeMap<WorkerId, WorkerControl>,
    /// Handled terminal messages.
    pub receipts: BTreeMap<MessageId, TimestampMs>,
    /// What followed on completed jobs.
    pub follow_ups: BTreeMap<JobId, FollowUp>,
    /// Endpoints for webhooks.
    pub endpoints: BTreeMap<EndpointId, Endpoint>,
    /// Webhooks with their bodies: waiting ones and dead letters.
    pub webhooks: BTreeMap<RowId, (Row, String)>,
    /// The place of each webhook's event among all that were ever published. Not a table: only the checks look at it.
    pub ordinals: BTreeMap<RowId, u64>,
    /// The newest job of each idempotency key.
    pub keys: BTreeMap<(TenantId, String), JobId>,
}

impl Store {
    /// Writes a job's row; gives back the one that it replaces.
    pub fn save_job(&mut self, mut job: Job) -> Option<Job> {
        job.progress = None;
        job.playlist = Playlist::default();
        if let (None, Some(key)) = (self.jobs.get(&job.id), &job.idempotency_key) {
            self.keys.insert((job.tenant.clone(), key.clone()), job.id.clone());
        }
        self.jobs.insert(job.id.clone(), job)
    }

    /// What is known under an idempotency key.
    pub fn known_key(&self, tenant: &TenantId, key: &str) -> Option<KnownKey> {
        let id = self.keys.get(&(tenant.clone(), key.to_owned()))?;
        let job = self.jobs.get(id)?;
        Some(KnownKey { job_id: id.clone(), request: job.request.clone(), created_at: job.created_at })
    }

    /// A job as the brain takes it: the row, through the form in which it is stored, with its playlist.
    pub fn load(&self, id: &JobId) -> Option<Job> {
        let row = self.jobs.get(id)?;
        let stored = serde_json::to_string(row).expect("a job has text keys only");
        let mut job: Job = serde_json::from_str(&stored).expect("a row that was just written can be read");
        job.playlist = self.playlists.get(id).cloned().unwrap_or_default();
        Some(job)
    }

    /// What a brain is restored from.
    pub fn restored(&self, now: TimestampMs, sockets: Vec<(ConnectionId, WorkerSnapshot)>) -> Restored {
        let mut meta = self.meta.clone();
        meta.last_sequence = self.jobs.values().map(|job| job.sequence).max().unwrap_or(0);
        let follow_ups = self
            .jobs
            .values()
            .filter_map(|job| {
                let closes_at = job.ended_at? + STEMS_WINDOW;
                let new = FollowUp::new(job.id.clone(), job.tenant.clone(), job.accepted?, closes_at);
                Some(self.follow_ups.get(&job.id).cloned().unwrap_or(new))
            })
            .filter(|follow_up| follow_up.closes_at > now)
            .collect();
        let live = self.jobs.values().filter(|job| !job.state.is_ended());
        Restored {
            meta,
            jobs: live.filter_map(|job| self.load(&job.id)).collect(),
            controls: self.controls.values().cloned().collect(),
            receipts: self.receipts.iter().map(|(id, at)| (id.clone(), *at)).collect(),
            follow_ups,
            connections: sockets,
            strangers: Vec::new(),
        }
    }
}
