//! libdeepfilter through its C interface (`libDF/src/capi.rs` in <https://github.com/Rikorose/DeepFilterNet>).

use libloading::{Library, Symbol};
use mini_worker::storage::{Home, bundle};
use std::ffi::{CString, c_char, c_void};

/// Attenuation limit that means "none", dB.
const NO_LIMIT_DB: f32 = 100.0;

const FRAME: usize = 480;

type Create = unsafe extern "C" fn(*const c_char, f32, *const c_char) -> *mut c_void;
type ProcessFrame = unsafe extern "C" fn(*mut c_void, *mut f32, *mut f32) -> f32;
type Free = unsafe extern "C" fn(*mut c_void);

/// The authors' own runtime.
pub struct Reference {
    library: Library,
    model: CString,
}

impl Reference {
    /// Loads the library of the home folder, or fails saying how to get it.
    pub fn load() -> Self {
        let home = Home::locate().unwrap_or_else(|error| panic!("{error}"));
        let (library, model) = bundle::reference(&home).unwrap_or_else(|error| panic!("{error}"));
        let model = CString::new(model.to_str().expect("a path in UTF-8")).unwrap();
        // SAFETY: the file's hash was verified just now; its initialisers are those of a Rust library.
        let library = unsafe { Library::new(&library) }.unwrap();
        Self { library, model }
    }

    /// A whole recording, frame by frame, without the model's delay.
    pub fn restore(&self, signal: &[f32], delay: usize) -> Vec<f32> {
        // SAFETY: the types are those of the C interface.
        let (create, process, free): (Symbol<'_, Create>, Symbol<'_, ProcessFrame>, Symbol<'_, Free>) = unsafe {
            (
                self.library.get(b"df_create").unwrap(),
                self.library.get(b"df_process_frame").unwrap(),
                self.library.get(b"df_free").unwrap(),
            )
        };
        let frames = (signal.len() + delay).div_ceil(FRAME);
        let mut input = signal.to_vec();
        input.resize(frames * FRAME, 0.0);
        let mut output = vec![0.0; input.len()];
        // SAFETY: the path is a C string that outlives the call; a null log level means none.
        let state = unsafe { create(self.model.as_ptr(), NO_LIMIT_DB, std::ptr::null()) };
        assert!(!state.is_null());
        for (input, output) in input.chunks_exact_mut(FRAME).zip(output.chunks_exact_mut(FRAME)) {
            // SAFETY: `state` is alive, and both buffers hold a frame.
            unsafe { process(state, input.as_mut_ptr(), output.as_mut_ptr()) };
        }
        // SAFETY: `state` came from `df_create` and is not used again.
        unsafe { free(state) };
        output.drain(..delay);
        output.truncate(signal.len());
        output
    }
}
