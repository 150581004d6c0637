//! Rewrites a published graph so that it can be run window by window.
//!
//! As published, the graphs start every run from nothing: each recurrent layer (GRU) from a state of zeros, each
//! convolution over time from zeros before the first frame. Rewritten, each GRU's state is an input and an output of the
//! graph, and the padding is gone: the caller gives the frames before the window along with it. A recording run in windows
//! then gives the same bits as in one run.
//!
//! Field numbers are those of `onnx.proto` (<https://github.com/onnx/onnx/blob/main/onnx/onnx.proto>).

use super::protobuf::{Field, WireError, fields, require, write_bytes, write_number};

/// Why a graph could not be rewritten.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RewriteError {
    /// The file is damaged.
    #[error("the file is not a valid ONNX model: {0}")]
    Malformed(#[from] WireError),
    /// The graph is another than the published one.
    #[error("{0}")]
    Unexpected(String),
}

mod model_proto {
    pub const GRAPH: u32 = 7;
}
mod graph_proto {
    pub const NODE: u32 = 1;
    pub const INPUT: u32 = 11;
    pub const OUTPUT: u32 = 12;
    pub const VALUE_INFO: u32 = 13;
}
mod node_proto {
    pub const INPUT: u32 = 1;
    pub const OUTPUT: u32 = 2;
    pub const OP_TYPE: u32 = 4;
    pub const ATTRIBUTE: u32 = 5;
}
mod value_info_proto {
    pub const NAME: u32 = 1;
    pub const TYPE: u32 = 2;
}
mod type_proto {
    pub const TENSOR: u32 = 1;
    pub const ELEM_TYPE: u32 = 1;
    pub const SHAPE: u32 = 2;
    /// `TensorProto.DataType.FLOAT`
    pub const FLOAT: u64 = 1;
}
mod shape_proto {
    pub const DIM: u32 = 1;
    pub const DIM_VALUE: u32 = 1;
    pub const DIM_PARAM: u32 = 2;
}

/// Places of a GRU's initial and final state among its inputs and outputs
/// (<https://onnx.ai/onnx/operators/onnx__GRU.html>: X, W, R, B, sequence_lens, initial_h; Y, Y_h).
const INITIAL_STATE: usize = 5;
const FINAL_STATE: usize = 1;

/// Rewrites `model`, which has to have `layers` GRUs of width `hidden`: GRU k starts from the new input `h{k}_in`
/// (1, 1, hidden) and leaves its state in the new output `h{k}_out`.
pub fn make_stateful(model: &[u8], layers: usize, hidden: usize) -> Result<Vec<u8>, RewriteError> {
    let mut output = Vec::with_capacity(model.len() + 1024);
    let mut found = None;
    for field in fields(model)? {
        if field.number == model_proto::GRAPH {
            let (graph, count) = rewrite_graph(&field.message()?, hidden)?;
            write_bytes(&mut output, model_proto::GRAPH, &graph);
            found = Some(count);
        } else {
            output.extend_from_slice(field.raw);
        }
    }
    match found {
        Some(count) if count == layers => Ok(output),
        Some(count) => Err(RewriteError::Unexpected(format!("it has {count} GRUs, not {layers}"))),
        None => Err(RewriteError::Unexpected("it has no graph".to_owned())),
    }
}

fn rewrite_graph(graph: &[Field<'_>], hidden: usize) -> Result<(Vec<u8>, usize), RewriteError> {
    let mut output = Vec::new();
    let mut layers = 0;
    for field in graph {
        match field.number {
            graph_proto::NODE => {
                let node = field.message()?;
                let operator = node.iter().find(|part| part.number == node_proto::OP_TYPE);
                match operator.map(Field::text).transpose()? {
                    Some("GRU") => {
                        write_bytes(&mut output, graph_proto::NODE, &expose_state(&node, layers)?);
                        layers += 1;
                    }
                    Some("Pad") => write_bytes(&mut output, graph_proto::NODE, &pass_through(&node)),
                    _ => output.extend_from_slice(field.raw),
                }
            }
            // The published number of frames is the same symbol everywhere; with frames of context it is not.
            graph_proto::INPUT => {
                write_bytes(&mut output, graph_proto::INPUT, &own_frame_count(&field.message()?)?);
            }
            graph_proto::OUTPUT => {
                let name = require(&field.message()?, value_info_proto::NAME)?.text()?;
                write_bytes(&mut output, graph_proto::OUTPUT, &value_info(name, None));
            }
            graph_proto::VALUE_INFO => {}
            _ => output.extend_from_slice(field.raw),
        }
    }
    for layer in 0..layers {
        let shape = [Dimension::Fixed(1), Dimension::Fixed(1), Dimension::Fixed(hidden as u64)];
        write_bytes(&mut output, graph_proto::INPUT, &value_info(&state_in(layer), Some(&shape)));
        write_bytes(&mut output, graph_proto::OUTPUT, &value_info(&state_out(layer), None));
    }
    Ok((output, layers))
}

/// The symbol of the number of frames of an input.
pub fn frames_of(input: &str) -> String {
    format!("frames_{input}")
}

/// The name of the input with GRU `layer`'s state.
pub fn state_in(layer: usize) -> String {
    format!("h{layer}_in")
}

/// The name of the output with GRU `layer`'s state.
pub fn state_out(layer: usize) -> String {
    format!("h{layer}_out")
}

fn expose_state(node: &[Field<'_>], layer: usize) -> Result<Vec<u8>, RewriteError> {
    let mut output = Vec::new();
    let (mut inputs, mut outputs) = (0, 0);
    for part in node {
        match part.number {
            node_proto::INPUT => {
                if inputs == INITIAL_STATE {
                    write_bytes(&mut output, node_proto::INPUT, state_in(layer).as_bytes());
                } else {
                    output.extend_from_slice(part.raw);
                }
                inputs += 1;
            }
            node_proto::OUTPUT => {
                if outputs == FINAL_STATE {
                    write_bytes(&mut output, node_proto::OUTPUT, state_out(layer).as_bytes());
                } else {
                    output.extend_from_slice(part.raw);
                }
                outputs += 1;
            }
            _ => output.extend_from_slice(part.raw),
        }
    }
    if inputs != INITIAL_STATE + 1 || outputs != FINAL_STATE + 1 {
        let found = format!("GRU {layer} has {inputs} inputs and {outputs} outputs, not 6 and 2");
        return Err(RewriteError::Unexpected(found));
    }
    Ok(output)
}

/// Turns a padding node into `Identity`: its first input becomes its output.
fn pass_through(node: &[Field<'_>]) -> Vec<u8> {
    let mut output = Vec::new();
    let mut has_input = false;
    for part in node {
        match part.number {
            node_proto::INPUT if has_input => {}
            node_proto::INPUT => {
                has_input = true;
                output.extend_from_slice(part.raw);
            }
            node_proto::OP_TYPE => write_bytes(&mut output, node_proto::OP_TYPE, b"Identity"),
            node_proto::ATTRIBUTE => {}
            _ => output.extend_from_slice(part.raw),
        }
    }
    output
}

enum Dimension {
    Fixed(u64),
    Symbol(String),
}

fn own_frame_count(input: &[Field<'_>]) -> Result<Vec<u8>, RewriteError> {
    let name = require(input, value_info_proto::NAME)?.text()?;
    let kind = require(input, value_info_proto::TYPE)?.message()?;
    let tensor = require(&kind, type_proto::TENSOR)?.message()?;
    let shape = require(&tensor, type_proto::SHAPE)?.message()?;
    let dimension = |field: &Field<'_>| -> Result<Dimension, WireError> {
        let parts = field.message()?;
        match parts.iter().find(|part| part.number == shape_proto::DIM_VALUE) {
            Some(value) => Ok(Dimension::Fixed(value.number()?)),
            None => Ok(Dimension::Symbol(frames_of(name))),
        }
    };
    let dimensions: Vec<_> = shape.iter().map(dimension).collect::<Result<_, _>>()?;
    Ok(value_info(name, Some(&dimensions)))
}

/// A `ValueInfoProto` of floats, with or without a shape.
fn value_info(name: &str, dimensions: Option<&[Dimension]>) -> Vec<u8> {
    let mut tensor = Vec::new();
    write_number(&mut tensor, type_proto::ELEM_TYPE, type_proto::FLOAT);
    if let Some(dimensions) = dimensions {
        let mut shape = Vec::new();
        for dimension in dimensions {
            let mut part = Vec::new();
            match dimension {
                Dimension::Fixed(value) => write_number(&mut part, shape_proto::DIM_VALUE, *value),
                Dimension::Symbol(symbol) => {
                    write_bytes(&mut part, shape_proto::DIM_PARAM, symbol.as_bytes())
                }
            }
            write_bytes(&mut shape, shape_proto::DIM, &part);
        }
        write_bytes(&mut tensor, type_proto::SHAPE, &shape);
    }
    let mut kind = Vec::new();
    write_bytes(&mut kind, type_proto::TENSOR, &tensor);
    let mut output = Vec::new();
    write_bytes(&mut output, value_info_proto::NAME, name.as_bytes());
    write_bytes(&mut output, value_info_proto::TYPE, &kind);
    output
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn node(operator: &str, inputs: &[&str], outputs: &[&str]) -> Vec<u8> {
        let mut node = Vec::new();
        for input in inputs {
            write_bytes(&mut node, node_proto::INPUT, input.as_bytes());
        }
        for output in outputs {
            write_bytes(&mut node, node_proto::OUTPUT, output.as_bytes());
        }
        write_bytes(&mut node, node_proto::OP_TYPE, operator.as_bytes());
        write_bytes(&mut node, node_proto::ATTRIBUTE, b"\x0a\x01a");
        node
    }

    fn model() -> Vec<u8> {
        let mut graph = Vec::new();
        write_bytes(&mut graph, graph_proto::NODE, &node("Pad", &["x", "pads"], &["padded"]));
        write_bytes(
            &mut graph,
            graph_proto::NODE,
            &node("GRU", &["padded", "w", "r", "b", "", "zero"], &["y", "last"]),
        );
        write_bytes(&mut graph, graph_proto::NODE, &node("Relu", &["y"], &["z"]));
        let shape = [Dimension::Fixed(1), Dimension::Symbol("S".into()), Dimension::Fixed(32)];
        write_bytes(&mut graph, graph_proto::INPUT, &value_info("x", Some(&shape)));
        write_bytes(&mut graph, graph_proto::OUTPUT, &value_info("z", Some(&shape)));
        write_bytes(&mut graph, graph_proto::VALUE_INFO, &value_info("y", Some(&shape)));
        let mut model = Vec::new();
        write_number(&mut model, 1, 8);
        write_bytes(&mut model, model_proto::GRAPH, &graph);
        model
    }

    fn texts(message: &[Field<'_>], number: u32) -> Vec<String> {
        message.iter().filter(|f| f.number == number).map(|f| f.text().unwrap().to_owned()).collect()
    }

    #[test]
    fn states_become_inputs_and_outputs_padding_goes_and_the_rest_stays() {
        let rewritten = make_stateful(&model(), 1, 256).unwrap();
        let graph = require(&fields(&rewritten).unwrap(), model_proto::GRAPH).unwrap().message().unwrap();
        let parts = |number| graph.iter().filter(move |f| f.number == number).map(|f| f.message().unwrap());
        let nodes: Vec<_> = parts(graph_proto::NODE).collect();

        assert_eq!(texts(&nodes[0], node_proto::OP_TYPE), ["Identity"]);
        assert_eq!(texts(&nodes[0], node_proto::INPUT), ["x"]);
        assert!(texts(&nodes[0], node_proto::ATTRIBUTE).is_empty());
        assert_eq!(texts(&nodes[1], node_proto::INPUT), ["padded", "w", "r", "b", "", "h0_in"]);
        assert_eq!(texts(&nodes[1], node_proto::OUTPUT), ["y", "h0_out"]);
        assert_eq!(texts(&nodes[2], node_proto::OP_TYPE), ["Relu"]);

        let names =
            |number| parts(number).flat_map(|p| texts(&p, value_info_proto::NAME)).collect::<Vec<_>>();
        assert_eq!(names(graph_proto::INPUT), ["x", "h0_in"]);
        assert_eq!(names(graph_proto::OUTPUT), ["z", "h0_out"]);
        assert_eq!(parts(graph_proto::VALUE_INFO).count(), 0);
    }

    #[test]
    fn another_graph_is_refused() {
        let error = |model: &[u8], layers| make_stateful(model, layers, 256).unwrap_err().to_string();
        assert_eq!(error(&model(), 2), "it has 1 GRUs, not 2");
        assert_eq!(error(&[], 1), "it has no graph");
        let mut graph = Vec::new();
        write_bytes(&mut graph, graph_proto::NODE, &node("GRU", &["x"], &["y"]));
        let mut short = Vec::new();
        write_bytes(&mut short, model_proto::GRAPH, &graph);
        assert_eq!(error(&short, 1), "GRU 0 has 1 inputs and 1 outputs, not 6 and 2");
    }

    proptest! {
        #[test]
        fn a_damaged_file_is_an_error_or_a_model_but_never_a_panic(
            cut in 0..300usize,
            flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        ) {
            let mut damaged = model();
            for (place, value) in flips {
                let place = place.index(damaged.len());
                damaged[place] = value;
            }
            damaged.truncate(damaged.len().saturating_sub(cut));
            if let Err(error) = make_stateful(&damaged, 1, 256) {
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}
