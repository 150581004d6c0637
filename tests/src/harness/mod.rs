//! What the tests of the whole system stand on: the built edge under real `workerd`, callers of its API, and a worker whose
//! every step the test decides.
//!
//! Nothing in here is shared between two tests but the built edge: each boots its own, with its own state.
//! Whatever goes wrong in a helper ends the test with a message that says what was expected.

mod api;
mod browser;
mod command;
mod installation;
mod keys;
pub mod media;
mod programs;
mod raw_http;
mod scripted_worker;
mod session_worker;
mod transcriber;
pub mod uplink;
mod waiting;
mod wall_clock;
mod webhook_receiver;
mod worker_process;
mod workerd;
mod workerd_config;

pub use api::{Answer, Api, Upload};
pub use browser::{Browser, PlayerState};
pub use command::{CommandResult, RunningCommand, start_minifleet, start_restore};
pub use installation::{Installation, repository};
pub use keys::{Key, Keys};
pub use programs::{home, processor_time, program};
pub use raw_http::raw_request;
pub use scripted_worker::{Closed, ScriptedWorker};
pub use session_worker::{FleetEvent, FleetLog, JobPlan, SessionWorker, WorkerEvent};
pub use transcriber::{
    ReceivedFile, ReceivedTranscription, ScriptedTranscriber, Transcriber, TranscriberAnswer,
};
pub use uplink::{Uplink, UplinkConditions};
pub use waiting::{PATIENCE, until};
pub use webhook_receiver::{ReceivedWebhook, WebhookAnswer, WebhookReceiver};
pub use worker_process::{Holdings, WorkerProcess, WorkerSetup};
pub use workerd::{Edge, EdgeOptions};
pub use workerd_config::WorkerdConfig;
