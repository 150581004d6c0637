//! The whole pipeline, driven as a user does: `mini-worker restore` on recordings that ffmpeg makes. Needs ffmpeg and the
//! model (`cargo run -p mini-worker -- models fetch`).

mod bad_recordings;
mod results;
mod studio;
