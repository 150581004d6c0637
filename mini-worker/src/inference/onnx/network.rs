//! The three graphs of DeepFilterNet3, run window by window.
//!
//! The encoder turns features into an embedding; from it one decoder gets the bands' gains, the other the filters of the
//! lowest frequencies.

use super::assignment::Assignment;
use super::fixed::{FixedGraph, Named, Place};
use super::runtime::{environment, really_runs_on, session};
use super::stateful::{frames_of, make_stateful};
use crate::inference::deepfilternet3::parameters::{
    BANDS, CONV_CHANNELS, FEATURE_CONTEXT, FILTERED_BINS, HIDDEN, PATHWAY_CONTEXT,
};
use crate::inference::deepfilternet3::{COEFFICIENTS, Decision, Features};
use crate::inference::engine::EngineError;
use crate::inference::selection::Provider;
use crate::storage::Bundle;
use ort::session::{Session, SessionOutputs};
use ort::value::TensorRef;
use std::path::Path;

/// Recurrent layers of each graph.
const ENCODER_LAYERS: usize = 1;
const ERB_LAYERS: usize = 2;
const DF_LAYERS: usize = 2;

/// Numbers of the encoder's embedding.
const EMBEDDING: usize = 512;

/// The graphs, ready to run.
pub struct Network {
    graphs: Graphs,
    runs_on: String,
}

/// The encoder, the decoder of gains and the decoder of filters.
enum Graphs {
    /// They take what they are given where it lies: the processor's way.
    Flexible([Session; 3]),
    /// They have fixed places and a fixed number of frames: a captured graph's way.
    Fixed(Box<[FixedGraph; 3]>),
}

/// What the network carries from window to window for one channel.
#[derive(Debug, Clone)]
pub struct NetworkState {
    encoder: Vec<f32>,
    erb: [Vec<f32>; ERB_LAYERS],
    df: [Vec<f32>; DF_LAYERS],
    /// The last frames of levels.
    levels: Vec<f32>,
    /// The last frames of real, then imaginary parts.
    parts: [Vec<f32>; 2],
    /// The last frames of the encoder's first layer, channel by channel.
    pathway: Vec<f32>,
}

impl NetworkState {
    /// At the start of a recording: as published, zeros.
    pub fn new() -> Self {
        let zeros = || vec![0.0; HIDDEN];
        Self {
            encoder: zeros(),
            erb: std::array::from_fn(|_| zeros()),
            df: std::array::from_fn(|_| zeros()),
            levels: vec![0.0; FEATURE_CONTEXT * BANDS],
            parts: std::array::from_fn(|_| vec![0.0; FEATURE_CONTEXT * FILTERED_BINS]),
            pathway: vec![0.0; CONV_CHANNELS * PATHWAY_CONTEXT * FILTERED_BINS],
        }
    }
}

impl Network {
    /// Loads and rewrites the graphs of the bundle, and looks whether they run where they were asked to. With a place, inputs
    /// and outputs are fixed to it, and every run has to have `frames` frames.
    pub fn load(
        bundle: &Bundle,
        provider: Provider,
        threads: usize,
        frames: usize,
        place: Option<Place>,
    ) -> Result<Self, EngineError> {
        let environment = environment(bundle.runtime())?;
        let cache = bundle.compiled();
        let counts: Vec<(String, i64)> = match place {
            None => Vec::new(),
            Some(_) => inputs(frames)
                .into_iter()
                .flatten()
                .map(|(name, shape)| {
                    let axis = if name == "emb" { 1 } else { 2 };
                    (frames_of(name), shape[axis] as i64)
                })
                .collect(),
        };
        let mut assignment = Assignment::default();
        let mut load = |path: &Path, layers: usize| -> Result<Session, EngineError> {
            let what = path.display().to_string();
            let published = std::fs::read(path)
                .map_err(|e| EngineError::Load { what: what.clone(), reason: e.to_string() })?;
            let rewritten = make_stateful(&published, layers, HIDDEN)
                .map_err(|e| EngineError::UnexpectedModel { what: what.clone(), reason: e.to_string() })?;
            let (session, assigned) =
                session(&environment, &what, &rewritten, provider, threads, &cache, &counts)?;
            assignment.add(assigned);
            Ok(session)
        };
        let encoder = load(bundle.encoder(), ENCODER_LAYERS)?;
        let erb_decoder = load(bundle.erb_decoder(), ERB_LAYERS)?;
        let df_decoder = load(bundle.df_decoder(), DF_LAYERS)?;
        let runs_on = really_runs_on(provider, &assignment)?;
        let sessions = [encoder, erb_decoder, df_decoder];
        let graphs = match place {
            None => Graphs::Flexible(sessions),
            Some(place) => Graphs::Fixed(Box::new(
                fix(sessions, place, frames).map_err(|e| EngineError::Run(e.to_string()))?,
            )),
        };
        Ok(Self { graphs, runs_on })
    }

    /// What the graphs really run on, for people.
    pub fn runs_on(&self) -> &str {
        &self.runs_on
    }

    /// Runs the graphs on `frames` frames.
    pub fn run(
        &mut self,
        frames: usize,
        features: &Features,
        state: &mut NetworkState,
    ) -> Result<Decision, EngineError> {
        self.try_run(frames, features, state).map_err(|e| EngineError::Run(e.to_string()))
    }

    fn try_run(
        &mut self,
        frames: usize,
        features: &Features,
        state: &mut NetworkState,
    ) -> ort::Result<Decision> {
        let [encoder, erb_decoder, df_decoder] = match &mut self.graphs {
            Graphs::Fixed(graphs) => return run_fixed(graphs, frames, features, state),
            Graphs::Flexible(sessions) => sessions,
        };
        let seen = frames + FEATURE_CONTEXT;
        let levels = after_context(&mut state.levels, &features.levels);
        let mut parts = after_context(&mut state.parts[0], &features.real);
        parts.extend(after_context(&mut state.parts[1], &features.imaginary));

        let mut encoded = encoder.run(ort::inputs![
            "feat_erb" => TensorRef::from_array_view(([1, 1, seen, BANDS], levels.as_slice()))?,
            "feat_spec" => TensorRef::from_array_view(([1, 2, seen, FILTERED_BINS], parts.as_slice()))?,
            "h0_in" => hidden(&state.encoder)?,
        ])?;
        state.encoder = floats(&encoded, "h0_out", HIDDEN)?;
        let [embedding, e0, e1, e2, e3] = ["emb", "e0", "e1", "e2", "e3"].map(|name| encoded.remove(name));
        let (Some(embedding), Some(e0), Some(e1), Some(e2), Some(e3)) = (embedding, e0, e1, e2, e3) else {
            return Err(ort::Error::new("the encoder lacks an output"));
        };
        let first_layer = floats(&encoded, "c0", CONV_CHANNELS * frames * FILTERED_BINS)?;
        drop(encoded);

        let decoded = erb_decoder.run(ort::inputs![
            "emb" => &embedding, "e3" => &e3, "e2" => &e2, "e1" => &e1, "e0" => &e0,
            "h0_in" => hidden(&state.erb[0])?, "h1_in" => hidden(&state.erb[1])?,
        ])?;
        let gains = floats(&decoded, "m", frames * BANDS)?;
        state.erb = [floats(&decoded, "h0_out", HIDDEN)?, floats(&decoded, "h1_out", HIDDEN)?];
        drop(decoded);

        let pathway = after_pathway_context(&mut state.pathway, &first_layer, frames);
        let shape = [1, CONV_CHANNELS, frames + PATHWAY_CONTEXT, FILTERED_BINS];
        let decoded = df_decoder.run(ort::inputs![
            "emb" => &embedding, "c0" => TensorRef::from_array_view((shape, pathway.as_slice()))?,
            "h0_in" => hidden(&state.df[0])?, "h1_in" => hidden(&state.df[1])?,
        ])?;
        let coefficients = floats(&decoded, "coefs", frames * COEFFICIENTS)?;
        state.df = [floats(&decoded, "h0_out", HIDDEN)?, floats(&decoded, "h1_out", HIDDEN)?];
        Ok(Decision { gains, coefficients })
    }
}

/// Inputs of the three graphs that depend on the number of frames.
fn inputs(frames: usize) -> [Vec<Named>; 3] {
    let seen = frames + FEATURE_CONTEXT;
    let embedding = ("emb", vec![1, frames, EMBEDDING]);
    [
        vec![("feat_erb", vec![1, 1, seen, BANDS]), ("feat_spec", vec![1, 2, seen, FILTERED_BINS])],
        [vec![embedding.clone()], layers(frames)].concat(),
        vec![embedding, ("c0", vec![1, CONV_CHANNELS, frames + PATHWAY_CONTEXT, FILTERED_BINS])],
    ]
}

/// The encoder's layers, which the decoder of gains sees.
fn layers(frames: usize) -> Vec<Named> {
    let layer = |name, bands| (name, vec![1, CONV_CHANNELS, frames, bands]);
    vec![layer("e0", BANDS), layer("e1", BANDS / 2), layer("e2", BANDS / 4), layer("e3", BANDS / 4)]
}

fn fix(sessions: [Session; 3], place: Place, frames: usize) -> ort::Result<[FixedGraph; 3]> {
    let state = |name| (name, vec![1, 1, HIDDEN]);
    let [of_encoder, of_erb, of_df] = inputs(frames);
    let [encoder, erb_decoder, df_decoder] = sessions;
    let of_encoder = [of_encoder, vec![state("h0_in")]].concat();
    let of_erb = [of_erb, vec![state("h0_in"), state("h1_in")]].concat();
    let of_df = [of_df, vec![state("h0_in"), state("h1_in")]].concat();
    let from_encoder = vec![
        ("emb", vec![1, frames, EMBEDDING]),
        ("c0", vec![1, CONV_CHANNELS, frames, FILTERED_BINS]),
        state("h0_out"),
    ];
    let from_encoder = [from_encoder, layers(frames)].concat();
    let from_erb = [("m", vec![1, 1, frames, BANDS]), state("h0_out"), state("h1_out")];
    let coefficients = ("coefs", vec![1, frames, FILTERED_BINS, COEFFICIENTS / FILTERED_BINS]);
    let from_df = [coefficients, state("h0_out"), state("h1_out")];
    Ok([
        FixedGraph::new(encoder, place, &of_encoder, &from_encoder)?,
        FixedGraph::new(erb_decoder, place, &of_erb, &from_erb)?,
        FixedGraph::new(df_decoder, place, &of_df, &from_df)?,
    ])
}

fn run_fixed(
    [encoder, erb_decoder, df_decoder]: &mut [FixedGraph; 3],
    frames: usize,
    features: &Features,
    state: &mut NetworkState,
) -> ort::Result<Decision> {
    let levels = after_context(&mut state.levels, &features.levels);
    let mut parts = after_context(&mut state.parts[0], &features.real);
    parts.extend(after_context(&mut state.parts[1], &features.imaginary));
    let mut encoded =
        encoder.run(&[("feat_erb", &levels), ("feat_spec", &parts), ("h0_in", &state.encoder)])?;
    let [embedding, first_layer, e0, e1, e2, e3] =
        ["emb", "c0", "e0", "e1", "e2", "e3"].map(|name| encoded.remove(name).unwrap_or_default());
    state.encoder = encoded.remove("h0_out").unwrap_or_default();

    let mut decoded = erb_decoder.run(&[
        ("emb", &embedding),
        ("e0", &e0),
        ("e1", &e1),
        ("e2", &e2),
        ("e3", &e3),
        ("h0_in", &state.erb[0]),
        ("h1_in", &state.erb[1]),
    ])?;
    let gains = decoded.remove("m").unwrap_or_default();
    state.erb = ["h0_out", "h1_out"].map(|name| decoded.remove(name).unwrap_or_default());

    let pathway = after_pathway_context(&mut state.pathway, &first_layer, frames);
    let mut decoded = df_decoder.run(&[
        ("emb", &embedding),
        ("c0", &pathway),
        ("h0_in", &state.df[0]),
        ("h1_in", &state.df[1]),
    ])?;
    let coefficients = decoded.remove("coefs").unwrap_or_default();
    state.df = ["h0_out", "h1_out"].map(|name| decoded.remove(name).unwrap_or_default());
    Ok(Decision { gains, coefficients })
}

fn hidden(state: &[f32]) -> ort::Result<TensorRef<'_, f32>> {
    TensorRef::from_array_view(([1usize, 1, HIDDEN], state))
}

/// A copy of an output, which has to have `length` numbers.
fn floats(outputs: &SessionOutputs<'_>, name: &str, length: usize) -> ort::Result<Vec<f32>> {
    let value = outputs.get(name).ok_or_else(|| ort::Error::new(format!("there is no output {name}")))?;
    let (_, data) = value.try_extract_tensor::<f32>()?;
    if data.len() != length {
        return Err(ort::Error::new(format!("output {name} has {} numbers, not {length}", data.len())));
    }
    Ok(data.to_vec())
}

/// The context and the window behind it; the end of it becomes the next context.
fn after_context(context: &mut Vec<f32>, window: &[f32]) -> Vec<f32> {
    let mut joined = context.clone();
    joined.extend_from_slice(window);
    context.clone_from(&joined[window.len()..].to_vec());
    joined
}

/// The same for every channel of the encoder's first layer.
fn after_pathway_context(context: &mut [f32], window: &[f32], frames: usize) -> Vec<f32> {
    let (before, now) = (PATHWAY_CONTEXT * FILTERED_BINS, frames * FILTERED_BINS);
    let mut joined = vec![0.0; CONV_CHANNELS * (before + now)];
    let channels = joined.chunks_exact_mut(before + now);
    for ((joined, context), window) in
        channels.zip(context.chunks_exact_mut(before)).zip(window.chunks_exact(now))
    {
        joined[..before].copy_from_slice(context);
        joined[before..].copy_from_slice(window);
        context.copy_from_slice(&joined[now..]);
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_slides_along_even_when_the_window_is_shorter_than_it() {
        let mut context = vec![1.0, 2.0, 3.0, 4.0];
        assert_eq!(after_context(&mut context, &[5.0, 6.0]), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(context, [3.0, 4.0, 5.0, 6.0]);

        let mut context = vec![0.0; CONV_CHANNELS * PATHWAY_CONTEXT * FILTERED_BINS];
        let numbers: Vec<f32> = (0..CONV_CHANNELS * FILTERED_BINS).map(|i| i as f32).collect();
        let joined = after_pathway_context(&mut context, &numbers, 1);
        let per_channel = PATHWAY_CONTEXT * FILTERED_BINS;
        assert_eq!(joined[per_channel], 0.0);
        assert_eq!(joined[(per_channel + FILTERED_BINS) + per_channel], FILTERED_BINS as f32);
        assert_eq!(context[per_channel - 1], (FILTERED_BINS - 1) as f32, "the newest frame is last");
        assert_eq!(context[2 * per_channel - 1], (2 * FILTERED_BINS - 1) as f32);
    }
}
