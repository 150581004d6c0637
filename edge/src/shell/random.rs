//! The platform's source of randomness.

use wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::Result;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = crypto, js_name = getRandomValues, catch)]
    fn get_random_values(bytes: &mut [u8]) -> std::result::Result<JsValue, JsValue>;
}

/// 32 bytes that nobody can guess: a secret.
pub fn bytes() -> Result<[u8; 32]> {
    let mut bytes = [0; 32];
    get_random_values(&mut bytes)?;
    Ok(bytes)
}
