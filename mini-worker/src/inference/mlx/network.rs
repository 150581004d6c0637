//! DeepFilterNet3's network: an encoder, and from its embedding one decoder for the bands' gains and one for the filters of
//! the lowest frequencies. Window by window: what a window needs of those before it is in its [`NetworkState`].
//!
//! H. Schröter et al., "DeepFilterNet: Perceptually Motivated Real-Time Speech Enhancement", 2023 (arXiv:2305.08227).

use super::layers::{Convolution, Doubling, GroupedLinear, Gru, Scale};
use super::weights::Weights;
use crate::inference::deepfilternet3::parameters::{
    BANDS, CONV_CHANNELS, FEATURE_CONTEXT, FILTER_FRAMES, FILTERED_BINS, HIDDEN, PATHWAY_CONTEXT,
};
use crate::inference::deepfilternet3::{COEFFICIENTS, Decision, Features};
use crate::inference::engine::EngineError;
use mlx_rs::error::Result as MlxResult;
use mlx_rs::ops::indexing::IndexOp;
use mlx_rs::transforms::eval;
use mlx_rs::{Array, Dtype, nn, ops};

const CHANNELS: i32 = CONV_CHANNELS as i32;
const STATE: i32 = HIDDEN as i32;

/// Numbers of the embedding.
const EMBEDDING: i32 = 512;

/// Recurrent steps after one another: the encoder's, then two of both decoders side by side.
const RECURRENT: usize = 3;

/// The network with its weights.
pub struct Network {
    erb_conv: [Convolution; 4],
    df_conv: [Convolution; 2],
    df_fc_emb: GroupedLinear,
    linear_in: GroupedLinear,
    gru: Gru,
    linear_out: GroupedLinear,
    /// Of both decoders: that of the bands' gains, and that of the filters.
    decoder_grus: [Gru; 2],
    erb: ErbDecoder,
    df: DfDecoder,
    dtype: Dtype,
}

struct ErbDecoder {
    linear_in: GroupedLinear,
    linear_out: GroupedLinear,
    /// From the encoder's layers 3, 2, 1 and 0.
    pathways: [Scale; 4],
    convt3: Convolution,
    convt2: Doubling,
    convt1: Doubling,
    out: Convolution,
}

struct DfDecoder {
    linear_in: GroupedLinear,
    skip: GroupedLinear,
    pathway: Convolution,
    out: GroupedLinear,
}

/// What the network carries from window to window for one channel.
pub struct NetworkState {
    /// Layer, 1, hidden.
    recurrent: [Array; RECURRENT],
    /// The last frames of levels and of parts.
    levels: Array,
    parts: Array,
    /// The last frames of the encoder's first layer.
    pathway: Array,
}

/// The encoder's answer.
struct Encoded {
    /// Layers 0 to 3.
    layers: [Array; 4],
    first_df_layer: Array,
    embedding: Array,
}

impl Network {
    /// Takes all weights. `bits` are those of the recurrent layers' matrices, when they are to be quantised.
    pub fn take(weights: &mut Weights, dtype: Dtype, bits: Option<i32>) -> Result<Self, EngineError> {
        let w = weights;
        let over_frequency = [CHANNELS, 1, 3, CHANNELS];
        Ok(Self {
            erb_conv: [
                Convolution::take(w, "encoder.erb_conv0", [CHANNELS, 3, 3, 1], 1)?,
                Convolution::take(w, "encoder.erb_conv1", over_frequency, 2)?,
                Convolution::take(w, "encoder.erb_conv2", over_frequency, 2)?,
                Convolution::take(w, "encoder.erb_conv3", over_frequency, 1)?,
            ],
            df_conv: [
                Convolution::take(w, "encoder.df_conv0", [CHANNELS, 3, 3, 2], 1)?,
                Convolution::take(w, "encoder.df_conv1", over_frequency, 2)?,
            ],
            df_fc_emb: GroupedLinear::take(w, "encoder.df_fc_emb", [32, 96, 16])?,
            linear_in: GroupedLinear::take(w, "encoder.linear_in", [16, 32, 16])?,
            gru: Gru::take(w, &["encoder.gru0"], STATE, bits)?,
            linear_out: GroupedLinear::take(w, "encoder.linear_out", [16, 16, 32])?,
            decoder_grus: [
                Gru::take(w, &["erb_decoder.gru0", "df_decoder.gru0"], STATE, bits)?,
                Gru::take(w, &["erb_decoder.gru1", "df_decoder.gru1"], STATE, bits)?,
            ],
            erb: ErbDecoder::take(w)?,
            df: DfDecoder::take(w)?,
            dtype,
        })
    }

    /// The state at the start of a recording: zeros, as published.
    pub fn start(&self) -> NetworkState {
        let zeros = |shape: &[i32]| {
            let zeros = vec![0.0f32; shape.iter().product::<i32>().unsigned_abs() as usize];
            Array::from_slice(&zeros, shape)
        };
        let (bands, bins) = (BANDS as i32, FILTERED_BINS as i32);
        NetworkState {
            recurrent: [1, 2, 2].map(|layers| zeros(&[layers, 1, STATE])),
            levels: zeros(&[1, FEATURE_CONTEXT as i32, bands, 1]),
            parts: zeros(&[1, FEATURE_CONTEXT as i32, bins, 2]),
            pathway: zeros(&[1, PATHWAY_CONTEXT as i32, bins, CHANNELS]),
        }
    }

    /// Runs the network on `frames` frames of several channels at once.
    pub fn run(
        &self,
        frames: usize,
        features: &[Features],
        states: &mut [&mut NetworkState],
    ) -> Result<Vec<Decision>, EngineError> {
        self.try_run(frames, features, states).map_err(|e| EngineError::Run(e.to_string()))
    }

    fn try_run(
        &self,
        frames: usize,
        features: &[Features],
        states: &mut [&mut NetworkState],
    ) -> MlxResult<Vec<Decision>> {
        let levels = after_context(&self.levels(frames, features)?, states, |state| &mut state.levels)?;
        let parts = after_context(&self.parts(frames, features)?, states, |state| &mut state.parts)?;
        let of_layer = |layer: usize| -> MlxResult<Array> {
            let of_each: Vec<&Array> = states.iter().map(|state| &state.recurrent[layer]).collect();
            ops::concatenate(&of_each, 1)?.as_dtype(self.dtype)
        };
        let [encoder, first, second] = [0, 1, 2].map(of_layer);
        let mut recurrent: [Array; RECURRENT] = [encoder?, first?, second?];

        let encoded = self.encode(&levels, &parts, &mut recurrent[0])?;
        let pathway = after_context(&encoded.first_df_layer, states, |state| &mut state.pathway)?;
        let [_, first, second] = &mut recurrent;
        let embedding = &encoded.embedding;
        let inputs = [self.erb.before_recurrence(embedding)?, self.df.before_recurrence(embedding)?];
        let x = self.decoder_grus[0].forward(&ops::stack(&inputs, 0)?, first)?;
        let x = self.decoder_grus[1].forward(&x, second)?;
        let gains = self.erb.decode(&x.index(0), &encoded.layers)?.as_dtype(Dtype::Float32)?;
        let coefficients = self.df.decode(&x.index(1), embedding, &pathway)?.as_dtype(Dtype::Float32)?;

        for (index, state) in states.iter_mut().enumerate() {
            let index = index as i32;
            for (own, all) in state.recurrent.iter_mut().zip(&recurrent) {
                // A copy: a view would keep the state of all channels in memory.
                *own = all.index((.., index..index + 1, ..)).contiguous()?;
            }
        }
        let kept = states
            .iter()
            .flat_map(|state| state.recurrent.iter().chain([&state.levels, &state.parts, &state.pathway]));
        eval(kept.chain([&gains, &coefficients]))?;
        decisions(frames, &gains, &coefficients, states.len())
    }

    fn levels(&self, frames: usize, features: &[Features]) -> MlxResult<Array> {
        let values: Vec<f32> = features.iter().flat_map(|f| f.levels.iter().copied()).collect();
        Array::from_slice(&values, &[features.len() as i32, frames as i32, BANDS as i32, 1])
            .as_dtype(self.dtype)
    }

    fn parts(&self, frames: usize, features: &[Features]) -> MlxResult<Array> {
        let values: Vec<f32> = features
            .iter()
            .flat_map(|f| f.real.iter().zip(&f.imaginary).flat_map(|(&re, &im)| [re, im]))
            .collect();
        let shape = [features.len() as i32, frames as i32, FILTERED_BINS as i32, 2];
        Array::from_slice(&values, &shape).as_dtype(self.dtype)
    }

    fn encode(&self, levels: &Array, parts: &Array, state: &mut Array) -> MlxResult<Encoded> {
        let e0 = self.erb_conv[0].rectified(levels)?;
        let e1 = self.erb_conv[1].rectified(&e0)?;
        let e2 = self.erb_conv[2].rectified(&e1)?;
        let e3 = self.erb_conv[3].rectified(&e2)?;
        let first_df_layer = self.df_conv[0].rectified(parts)?;
        let second = self.df_conv[1].rectified(&first_df_layer)?;

        let flat = |x: &Array| x.reshape(&[x.dim(0), x.dim(1), -1]);
        let fine = nn::relu(self.df_fc_emb.forward(&flat(&second)?)?)?;
        let x = nn::relu(self.linear_in.forward(&ops::add(&flat(&e3)?, &fine)?)?)?;
        let x = self.gru.forward(&ops::expand_dims(&x, 0)?, state)?.index(0);
        let embedding = nn::relu(self.linear_out.forward(&x)?)?;
        Ok(Encoded { layers: [e0, e1, e2, e3], first_df_layer, embedding })
    }
}

impl ErbDecoder {
    fn take(w: &mut Weights) -> Result<Self, EngineError> {
        let over_frequency = [CHANNELS, 1, 3, CHANNELS];
        Ok(Self {
            linear_in: GroupedLinear::take(w, "erb_decoder.linear_in", [16, 32, 16])?,
            linear_out: GroupedLinear::take(w, "erb_decoder.linear_out", [16, 16, 32])?,
            pathways: [
                Scale::take(w, "erb_decoder.conv3p", CHANNELS)?,
                Scale::take(w, "erb_decoder.conv2p", CHANNELS)?,
                Scale::take(w, "erb_decoder.conv1p", CHANNELS)?,
                Scale::take(w, "erb_decoder.conv0p", CHANNELS)?,
            ],
            convt3: Convolution::take(w, "erb_decoder.convt3", over_frequency, 1)?,
            convt2: Doubling::take(w, "erb_decoder.convt2", CHANNELS)?,
            convt1: Doubling::take(w, "erb_decoder.convt1", CHANNELS)?,
            out: Convolution::take(w, "erb_decoder.conv0_out", [1, 1, 3, CHANNELS], 1)?,
        })
    }

    fn before_recurrence(&self, embedding: &Array) -> MlxResult<Array> {
        nn::relu(self.linear_in.forward(embedding)?)
    }

    fn decode(&self, x: &Array, [e0, e1, e2, e3]: &[Array; 4]) -> MlxResult<Array> {
        let x = nn::relu(self.linear_out.forward(x)?)?;
        let mut x = x.reshape(&[x.dim(0), x.dim(1), EMBEDDING / CHANNELS, CHANNELS])?;
        x = self.convt3.rectified(&ops::add(&self.pathways[0].rectified(e3)?, &x)?)?;
        x = self.convt2.rectified(&ops::add(&self.pathways[1].rectified(e2)?, &x)?)?;
        x = self.convt1.rectified(&ops::add(&self.pathways[2].rectified(e1)?, &x)?)?;
        ops::sigmoid(&self.out.linear(&ops::add(&self.pathways[3].rectified(e0)?, &x)?)?)
    }
}

impl DfDecoder {
    fn take(w: &mut Weights) -> Result<Self, EngineError> {
        let taps = PATHWAY_CONTEXT as i32 + 1;
        let numbers = 2 * FILTER_FRAMES as i32;
        Ok(Self {
            linear_in: GroupedLinear::take(w, "df_decoder.linear_in", [8, 64, 32])?,
            skip: GroupedLinear::take(w, "df_decoder.skip", [16, 32, 16])?,
            pathway: Convolution::take(w, "df_decoder.convp", [numbers, taps, 1, CHANNELS], 1)?,
            out: GroupedLinear::take(w, "df_decoder.out", [16, 16, 60])?,
        })
    }

    fn before_recurrence(&self, embedding: &Array) -> MlxResult<Array> {
        nn::relu(self.linear_in.forward(embedding)?)
    }

    fn decode(&self, x: &Array, embedding: &Array, pathway: &Array) -> MlxResult<Array> {
        let x = ops::add(x, &self.skip.forward(embedding)?)?;
        let x = ops::tanh(&self.out.forward(&x)?)?;
        let x = x.reshape(&[x.dim(0), x.dim(1), FILTERED_BINS as i32, 2 * FILTER_FRAMES as i32])?;
        ops::add(&x, &self.pathway.rectified(pathway)?)
    }
}

/// The frames before the window and the window behind them; the end of it becomes the next context of each state.
fn after_context(
    window: &Array,
    states: &mut [&mut NetworkState],
    context: impl for<'a> Fn(&'a mut NetworkState) -> &'a mut Array,
) -> MlxResult<Array> {
    let before: Vec<Array> = states.iter_mut().map(|state| context(state).clone()).collect();
    let frames = before.first().map_or(0, |first| first.dim(1));
    let joined = ops::concatenate(&[&ops::concatenate(&before, 0)?.as_dtype(window.dtype())?, window], 1)?;
    for (index, state) in states.iter_mut().enumerate() {
        let index = index as i32;
        // A copy of its own: a view would keep the whole window in memory.
        let last = joined.index((index..index + 1, joined.dim(1) - frames.., .., ..));
        *context(state) = last.contiguous()?;
    }
    Ok(joined)
}

fn decisions(
    frames: usize,
    gains: &Array,
    coefficients: &Array,
    channels: usize,
) -> MlxResult<Vec<Decision>> {
    let gains = gains.contiguous()?;
    let coefficients = coefficients.contiguous()?;
    eval([&gains, &coefficients])?;
    let (gains, coefficients) = (gains.as_slice::<f32>(), coefficients.as_slice::<f32>());
    let each = gains.chunks_exact(frames * BANDS).zip(coefficients.chunks_exact(frames * COEFFICIENTS));
    let decisions: Vec<_> = each
        .map(|(gains, coefficients)| Decision { gains: gains.to_vec(), coefficients: coefficients.to_vec() })
        .collect();
    debug_assert_eq!(decisions.len(), channels);
    Ok(decisions)
}
