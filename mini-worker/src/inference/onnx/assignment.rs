//! On what ONNX Runtime really runs the parts of a graph, as it tells itself.

use ort::AsPointer;
use ort::session::Session;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char};
use std::{ptr, slice};

/// The session option that makes ONNX Runtime keep the answer.
pub const RECORD: (&str, &str) = ("session.record_ep_graph_assignment_info", "1");

/// Operators by the provider that runs them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assignment {
    operators: BTreeMap<String, Vec<String>>,
}

impl Assignment {
    /// Reads it from a session that was built with [`RECORD`].
    pub fn of(session: &Session) -> ort::Result<Self> {
        let mut operators: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let api = ort::api();
        let (mut subgraphs, mut count) = (ptr::null(), 0);
        // SAFETY: the session is alive, and the pointers are to places of the types that the call writes. What it gives
        // belongs to the session, which outlives this function's use of it.
        let subgraphs = unsafe {
            status((api.Session_GetEpGraphAssignmentInfo)(
                session.ptr(),
                &raw mut subgraphs,
                &raw mut count,
            ))?;
            items(subgraphs, count)
        };
        for &subgraph in subgraphs {
            let (mut name, mut nodes, mut count) = (ptr::null(), ptr::null(), 0);
            // SAFETY: as above; `subgraph` is one of the session's own.
            let (provider, nodes) = unsafe {
                status((api.EpAssignedSubgraph_GetEpName)(subgraph, &raw mut name))?;
                status((api.EpAssignedSubgraph_GetNodes)(subgraph, &raw mut nodes, &raw mut count))?;
                (text(name), items(nodes, count))
            };
            let of_provider = operators.entry(provider).or_default();
            for &node in nodes {
                let mut operator = ptr::null();
                // SAFETY: as above; `node` is one of the session's own.
                let operator = unsafe {
                    status((api.EpAssignedNode_GetOperatorType)(node, &raw mut operator))?;
                    text(operator)
                };
                of_provider.push(operator);
            }
        }
        Ok(Self { operators })
    }

    /// How many operators run on the provider of this name.
    pub fn on(&self, provider: &str) -> usize {
        self.operators.get(provider).map_or(0, Vec::len)
    }

    /// How many there are.
    pub fn all(&self) -> usize {
        self.operators.values().map(Vec::len).sum()
    }

    /// Operators of these kinds that run elsewhere than on the provider of this name.
    pub fn elsewhere(&self, provider: &str, kinds: &[&str]) -> Vec<&str> {
        let others = self.operators.iter().filter(|(name, _)| name.as_str() != provider);
        let operators = others.flat_map(|(_, operators)| operators.iter().map(String::as_str));
        operators.filter(|operator| kinds.contains(operator)).collect()
    }

    /// Adds the operators of another graph.
    pub fn add(&mut self, other: Self) {
        for (provider, mut operators) in other.operators {
            self.operators.entry(provider).or_default().append(&mut operators);
        }
    }
}

/// # Safety
/// `status` comes from a call of ONNX Runtime and was not looked at before.
unsafe fn status(status: ort::sys::OrtStatusPtr) -> ort::Result<()> {
    // SAFETY: the caller's promise is what this function asks for.
    unsafe { ort::Error::result_from_status(status) }
}

/// # Safety
/// `first` is null, or the first of `count` items that live at least as long as `'a`.
unsafe fn items<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if first.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(first, count) }
}

/// # Safety
/// `text` is null, or a text that ends with a zero.
unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_that_stayed_behind_are_named() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let mut assignment = Assignment::default();
        assignment.add(Assignment { operators: [("gpu".to_owned(), list(&["Conv", "Relu"]))].into() });
        assignment.add(Assignment { operators: [("cpu".to_owned(), list(&["GRU", "Shape"]))].into() });
        assignment.add(Assignment { operators: [("gpu".to_owned(), list(&["Conv"]))].into() });
        assert_eq!((assignment.on("gpu"), assignment.on("none"), assignment.all()), (3, 0, 5));
        assert_eq!(assignment.elsewhere("gpu", &["Conv", "GRU"]), ["GRU"]);
        assert!(assignment.elsewhere("gpu", &["Conv"]).is_empty());
    }
}
