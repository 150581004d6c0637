//! Projects, transcripts and generations: what products ask for, and what they get.

pub mod call;
mod generation_view;
pub mod request;
pub mod route;
pub mod stream;
pub mod timeline;
pub mod view;
