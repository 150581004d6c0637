//! DeepFilterNet3's weights as the network in [`super::super::mlx`] wants them, made of the published graphs.
//!
//! Three things change on the way, and nothing else:
//! - Convolutions are laid out output, time, frequency, input.
//! - Where the published network has a convolution over each channel or group and then one over all channels, with nothing
//!   in between, both become one: fewer and larger steps, which is what a GPU likes.
//! - A recurrent layer's two biases become one where they are only ever added.
//!
//! The file is the same byte for byte on every machine, so its hash is pinned.

use super::parameters::HIDDEN;
use crate::inference::onnx::tensors::{Constants, Tensor, TensorError};
use half::f16;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, serialize};
use std::collections::BTreeMap;

/// Why weights could not be converted.
#[derive(Debug, thiserror::Error)]
pub enum ConversionError {
    /// The graph is another than the published one.
    #[error("{graph} is not the expected model: {source}")]
    Graph {
        /// The file.
        graph: &'static str,
        /// What differs.
        source: TensorError,
    },
    /// A weight has another shape.
    #[error("{graph} is not the expected model: node {node} has a weight of shape {found:?}")]
    Shape {
        /// The file.
        graph: &'static str,
        /// The node.
        node: String,
        /// Its shape.
        found: Vec<usize>,
    },
    /// The result could not be written down.
    #[error("the weights could not be serialised: {0}")]
    Serialise(String),
}

/// The weights by name. Names and shapes are listed in [`convert`].
pub type Weights = BTreeMap<String, Tensor>;

/// One of the published files.
struct Graph {
    name: &'static str,
    constants: Constants,
}

/// Converts the three published files.
///
/// # Errors
/// [`ConversionError`] when they are not the published ones.
pub fn convert(encoder: &[u8], erb_decoder: &[u8], df_decoder: &[u8]) -> Result<Weights, ConversionError> {
    let mut weights = Weights::new();

    let graph = Graph::read("enc.onnx", encoder)?;
    let mut put = |name: &str, tensor: Tensor| weights.insert(format!("encoder.{name}"), tensor);
    put("erb_conv0.weight", channels_last(graph.get("/erb_conv0/1/Conv", 1, &[64, 1, 3, 3])?));
    put("erb_conv0.bias", graph.get("/erb_conv0/1/Conv", 2, &[64])?.clone());
    for (name, over_channel, over_all) in [
        ("erb_conv1", "/erb_conv1/0/Conv", "/erb_conv1/1/Conv"),
        ("erb_conv2", "/erb_conv2/Conv", "/erb_conv2/Conv_1"),
        ("erb_conv3", "/erb_conv3/0/Conv", "/erb_conv3/1/Conv"),
        ("df_conv1", "/df_conv1/Conv", "/df_conv1/Conv_1"),
    ] {
        let first = graph.get(over_channel, 1, &[64, 1, 1, 3])?;
        put(&format!("{name}.weight"), merged(first, graph.get(over_all, 1, &[64, 64, 1, 1])?, 64));
        put(&format!("{name}.bias"), graph.get(over_all, 2, &[64])?.clone());
    }
    let first = graph.get("/df_conv0/1/Conv", 1, &[64, 1, 3, 3])?;
    put("df_conv0.weight", merged(first, graph.get("/df_conv0/2/Conv", 1, &[64, 64, 1, 1])?, 2));
    put("df_conv0.bias", graph.get("/df_conv0/2/Conv", 2, &[64])?.clone());
    put("df_fc_emb.weight", graph.get("/df_fc_emb/0/Einsum", 1, &[32, 96, 16])?.clone());
    put("linear_in.weight", graph.get("/emb_gru/linear_in/0/Einsum", 1, &[16, 32, 16])?.clone());
    put("linear_out.weight", graph.get("/emb_gru/linear_out/0/Einsum", 1, &[16, 16, 32])?.clone());
    graph.recurrent("/emb_gru/GRU", "gru0", &mut put)?;

    let graph = Graph::read("erb_dec.onnx", erb_decoder)?;
    let mut put = |name: &str, tensor: Tensor| weights.insert(format!("erb_decoder.{name}"), tensor);
    put("linear_in.weight", graph.get("/emb_gru/linear_in/Einsum", 1, &[16, 32, 16])?.clone());
    put("linear_out.weight", graph.get("/emb_gru/linear_out/Einsum", 1, &[16, 16, 32])?.clone());
    graph.recurrent("/emb_gru/GRU", "gru0", &mut put)?;
    graph.recurrent("/emb_gru/GRU_1", "gru1", &mut put)?;
    for (name, node) in [
        ("conv3p", "/conv3p/0/Conv"),
        ("conv2p", "/conv2p/Conv"),
        ("conv1p", "/conv1p/Conv"),
        ("conv0p", "/conv0p/Conv"),
    ] {
        let scale = graph.get(node, 1, &[64, 1, 1, 1])?;
        put(&format!("{name}.weight"), Tensor { shape: vec![64], values: scale.values.clone() });
        put(&format!("{name}.bias"), graph.get(node, 2, &[64])?.clone());
    }
    for (name, over_channel, over_all) in [
        ("convt3", "/convt3/Conv", "/convt3/Conv_1"),
        ("convt2", "/convt2/0/ConvTranspose", "/convt2/1/Conv"),
        ("convt1", "/convt1/ConvTranspose", "/convt1/Conv"),
    ] {
        let first = graph.get(over_channel, 1, &[64, 1, 1, 3])?;
        put(&format!("{name}.weight"), merged(first, graph.get(over_all, 1, &[64, 64, 1, 1])?, 64));
        put(&format!("{name}.bias"), graph.get(over_all, 2, &[64])?.clone());
    }
    put("conv0_out.weight", channels_last(graph.get("/conv0_out/0/Conv", 1, &[1, 64, 1, 3])?));
    put("conv0_out.bias", graph.get("/conv0_out/0/Conv", 2, &[1])?.clone());

    let graph = Graph::read("df_dec.onnx", df_decoder)?;
    let mut put = |name: &str, tensor: Tensor| weights.insert(format!("df_decoder.{name}"), tensor);
    put("linear_in.weight", graph.get("/df_gru/linear_in/linear_in.0/Einsum", 1, &[8, 64, 32])?.clone());
    graph.recurrent("/df_gru/gru/GRU", "gru0", &mut put)?;
    graph.recurrent("/df_gru/gru/GRU_1", "gru1", &mut put)?;
    put("skip.weight", graph.get("/df_skip/Einsum", 1, &[16, 32, 16])?.clone());
    let first = graph.get("/df_convp/df_convp.1/Conv", 1, &[10, 32, 5, 1])?;
    let second = graph.get("/df_convp/df_convp.2/Conv", 1, &[10, 10, 1, 1])?;
    put("convp.weight", merged(first, second, 64));
    put("convp.bias", graph.get("/df_convp/df_convp.2/Conv", 2, &[10])?.clone());
    put("out.weight", graph.get("/df_out/df_out.0/Einsum", 1, &[16, 16, 60])?.clone());
    Ok(weights)
}

impl Graph {
    fn read(name: &'static str, model: &[u8]) -> Result<Self, ConversionError> {
        let constants =
            Constants::read(model).map_err(|source| ConversionError::Graph { graph: name, source })?;
        Ok(Self { name, constants })
    }

    fn get(&self, node: &str, input: usize, shape: &[usize]) -> Result<&Tensor, ConversionError> {
        let tensor = self.constants.of(node, input);
        let tensor = tensor.map_err(|source| ConversionError::Graph { graph: self.name, source })?;
        if tensor.shape == shape {
            return Ok(tensor);
        }
        Err(ConversionError::Shape { graph: self.name, node: node.to_owned(), found: tensor.shape.clone() })
    }

    /// A recurrent layer: gates in the order z, r, n as in the file. The update z and the reset r add both biases; the new
    /// value n needs its recurrent one apart, because the reset scales it (`linear_before_reset` = 1, see
    /// <https://onnx.ai/onnx/operators/onnx__GRU.html>).
    fn recurrent(
        &self,
        node: &str,
        name: &str,
        put: &mut impl FnMut(&str, Tensor) -> Option<Tensor>,
    ) -> Result<(), ConversionError> {
        for (input, part) in [(1, "input"), (2, "recurrent")] {
            let gates = self.get(node, input, &[1, 3 * HIDDEN, HIDDEN])?;
            let tensor = Tensor { shape: vec![3 * HIDDEN, HIDDEN], values: gates.values.clone() };
            put(&format!("{name}.{part}"), tensor);
        }
        let biases = &self.get(node, 3, &[1, 6 * HIDDEN])?.values;
        let (of_input, of_state) = biases.split_at(3 * HIDDEN);
        let mut both = of_input.to_vec();
        for (bias, other) in both.iter_mut().zip(&of_state[..2 * HIDDEN]) {
            *bias += other;
        }
        put(&format!("{name}.bias"), Tensor { shape: vec![3 * HIDDEN], values: both });
        let values = of_state[2 * HIDDEN..].to_vec();
        put(&format!("{name}.new_bias"), Tensor { shape: vec![HIDDEN], values });
        Ok(())
    }
}

/// From output, input, time, frequency to output, time, frequency, input.
fn channels_last(tensor: &Tensor) -> Tensor {
    let [outputs, inputs, time, frequency] = dimensions(tensor);
    let mut values = Vec::with_capacity(tensor.values.len());
    for output in 0..outputs {
        for place in 0..time * frequency {
            for input in 0..inputs {
                values.push(tensor.values[(output * inputs + input) * time * frequency + place]);
            }
        }
    }
    Tensor { shape: vec![outputs, time, frequency, inputs], values }
}

/// A convolution over groups of `inputs` channels and one of size 1 over its outputs, in one. In double precision, so that
/// only the last step rounds.
fn merged(groups: &Tensor, over_all: &Tensor, inputs: usize) -> Tensor {
    let [middle, group_inputs, time, frequency] = dimensions(groups);
    let outputs = over_all.shape[0];
    let group_outputs = middle * group_inputs / inputs;
    let places = time * frequency;
    let mut values = vec![0.0f64; outputs * places * inputs];
    for output in 0..outputs {
        for channel in 0..middle {
            let share = f64::from(over_all.values[output * middle + channel]);
            let first_input = channel / group_outputs * group_inputs;
            for input in 0..group_inputs {
                for place in 0..places {
                    let weight = f64::from(groups.values[(channel * group_inputs + input) * places + place]);
                    values[(output * places + place) * inputs + first_input + input] += share * weight;
                }
            }
        }
    }
    let values = values.into_iter().map(|value| value as f32).collect();
    Tensor { shape: vec![outputs, time, frequency, inputs], values }
}

fn dimensions(tensor: &Tensor) -> [usize; 4] {
    std::array::from_fn(|i| tensor.shape.get(i).copied().unwrap_or(1))
}

/// The weights as a safetensors file, in 32 or in 16 bits.
///
/// # Errors
/// [`ConversionError::Serialise`]
pub fn to_safetensors(weights: &Weights, halves: bool) -> Result<Vec<u8>, ConversionError> {
    let dtype = if halves { Dtype::F16 } else { Dtype::F32 };
    let bytes: Vec<(&String, &Vec<usize>, Vec<u8>)> = weights
        .iter()
        .map(|(name, tensor)| {
            let values = tensor.values.iter();
            let bytes = if halves {
                values.flat_map(|&value| f16::from_f32(value).to_le_bytes()).collect()
            } else {
                values.flat_map(|value| value.to_le_bytes()).collect()
            };
            (name, &tensor.shape, bytes)
        })
        .collect();
    let views: Result<Vec<_>, _> = bytes
        .iter()
        .map(|(name, shape, bytes)| {
            TensorView::new(dtype, (*shape).clone(), bytes).map(|view| (name.as_str(), view))
        })
        .collect();
    let views = views.map_err(|e| ConversionError::Serialise(e.to_string()))?;
    serialize(views, None).map_err(|e| ConversionError::Serialise(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(shape: &[usize]) -> Tensor {
        let count = shape.iter().product::<usize>();
        let values = (0..count).map(|i| ((i * 37 + 11) % 29) as f32 / 7.0 - 2.0).collect();
        Tensor { shape: shape.to_vec(), values }
    }

    #[test]
    fn two_convolutions_in_one_give_what_both_gave() {
        // 4 inputs in 2 groups, 6 channels in between, 3 outputs, one place in time and two in frequency.
        let (groups, over_all) = (tensor(&[6, 2, 1, 2]), tensor(&[3, 6, 1, 1]));
        let input = [[0.5f32, -1.0], [2.0, 0.25], [-0.75, 1.5], [1.0, 3.0]];
        let in_between: Vec<f32> = (0..6)
            .map(|c| {
                let pairs = (0..2).flat_map(|i| (0..2).map(move |f| (i, f)));
                pairs.map(|(i, f)| groups.values[(c * 2 + i) * 2 + f] * input[c / 3 * 2 + i][f]).sum()
            })
            .collect();
        let one = merged(&groups, &over_all, 4);
        assert_eq!(one.shape, [3, 1, 2, 4]);
        for output in 0..3 {
            let expected: f32 = (0..6).map(|c| over_all.values[output * 6 + c] * in_between[c]).sum();
            let pairs = (0..4).flat_map(|i| (0..2).map(move |f| (i, f)));
            let found: f32 = pairs.map(|(i, f)| one.values[(output * 2 + f) * 4 + i] * input[i][f]).sum();
            assert!((found - expected).abs() < 1e-4, "{found} {expected}");
        }
    }

    #[test]
    fn channels_go_last() {
        let found =
            channels_last(&Tensor { shape: vec![1, 2, 1, 3], values: vec![0.0, 1.0, 2.0, 10.0, 11.0, 12.0] });
        assert_eq!((found.shape, found.values), (vec![1, 1, 3, 2], vec![0.0, 10.0, 1.0, 11.0, 2.0, 12.0]));
    }

    #[test]
    fn the_file_does_not_depend_on_the_order_of_making_and_holds_halves_when_asked() {
        let weights = Weights::from([("b".to_owned(), tensor(&[2, 3])), ("a".to_owned(), tensor(&[5]))]);
        let file = to_safetensors(&weights, false).unwrap();
        assert_eq!(file, to_safetensors(&weights, false).unwrap());
        let read = safetensors::SafeTensors::deserialize(&file).unwrap();
        assert_eq!(read.tensor("a").unwrap().shape(), [5]);
        let halves = to_safetensors(&weights, true).unwrap();
        let read = safetensors::SafeTensors::deserialize(&halves).unwrap();
        let first = read.tensor("b").unwrap();
        assert_eq!((first.dtype(), first.data().len()), (Dtype::F16, 12));
    }

    #[test]
    fn another_graph_is_refused_by_name() {
        let error = convert(&[], &[], &[]).unwrap_err().to_string();
        assert!(error.starts_with("enc.onnx is not the expected model"), "{error}");
    }
}
