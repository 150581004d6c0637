// mlx-c's functions that mlx-rs 0.33.0 calls, for mlx-sys 0.7.0. Made by `scripts/mlx/make-bindings`, never by hand.
// Committed, so that building MLX on Linux and checking it for macOS need neither bindgen nor libclang.

#[derive(PartialEq, Copy, Clone, Hash, Debug, Default)]
#[repr(C)]
pub struct __BindgenComplex<T> {
    pub re: T,
    pub im: T,
}
#[derive(PartialEq, Copy, Clone, Hash, Debug, Default)]
#[repr(transparent)]
pub struct __BindgenFloat16(pub u16);
pub type float16_t = __BindgenFloat16;
pub type bfloat16_t = ::std::os::raw::c_ushort;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mlx_string_ {
    pub ctx: *mut ::std::os::raw::c_void,
}
pub type mlx_string = mlx_string_;
pub type mlx_complex64_t = __BindgenComplex<f32>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mlx_array_ {
    pub ctx: *mut ::std::os::raw::c_void,
}
pub type mlx_array = mlx_array_;
pub const mlx_dtype__MLX_BOOL: mlx_dtype_ = 0;
pub const mlx_dtype__MLX_UINT8: mlx_dtype_ = 1;
pub const mlx_dtype__MLX_UINT16: mlx_dtype_ = 2;
pub const mlx_dtype__MLX_UINT32: mlx_dtype_ = 3;
pub const mlx_dtype__MLX_UINT64: mlx_dtype_ = 4;
pub const mlx_dtype__MLX_INT8: mlx_dtype_ = 5;
pub const mlx_dtype__MLX_INT16: mlx_dtype_ = 6;
pub const mlx_dtype__MLX_INT32: mlx_dtype_ = 7;
pub const mlx_dtype__MLX_INT64: mlx_dtype_ = 8;
pub const mlx_dtype__MLX_FLOAT16: mlx_dtype_ = 9;
pub const mlx_dtype__MLX_FLOAT32: mlx_dtype_ = 10;
pub const mlx_dtype__MLX_FLOAT64: mlx_dtype_ = 11;
pub const mlx_dtype__MLX_BFLOAT16: mlx_dtype_ = 12;
pub const mlx_dtype__MLX_COMPLEX64: mlx_dtype_ = 13;
pub type mlx_dtype_ = ::std::os::raw::c_uint;
pub use self::mlx_dtype_ as mlx_dtype;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mlx_map_string_to_array_ {
    pub ctx: *mut ::std::os::raw::c_void,
}
pub type mlx_map_string_to_array = mlx_map_string_to_array_;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mlx_map_string_to_array_iterator_ {
    pub ctx: *mut ::std::os::raw::c_void,
    pub map_ctx: *mut ::std::os::raw::c_void,
}
pub type mlx_map_string_to_array_iterator = mlx_map_string_to_array_iterator_;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mlx_map_string_to_string_ {
    pub ctx: *mut ::std::os::raw::c_void,
}
pub type mlx_map_string_to_string = mlx_map_string_to_string_;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mlx_map_string_to_string_iterator_ {
    pub ctx: *mut ::std::os::raw::c_void,
    pub map_ctx: *mut ::std::os::raw::c_void,
}
pub type mlx_map_string_to_string_iterator = mlx_map_string_to_string_iterator_;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mlx_optional_int_ {
    pub value: ::std::os::raw::c_int,
    pub has_value: bool,
}
pub type mlx_optional_int = mlx_optional_int_;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mlx_optional_float_ {
    pub value: f32,
    pub has_value: bool,
}
pub type mlx_optional_float = mlx_optional_float_;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mlx_optional_dtype_ {
    pub value: mlx_dtype,
    pub has_value: bool,
}
pub type mlx_optional_dtype = mlx_optional_dtype_;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mlx_device_ {
    pub ctx: *mut ::std::os::raw::c_void,
}
pub type mlx_device = mlx_device_;
pub type mlx_vector_string = mlx_vector_string_;
pub const mlx_device_type__MLX_CPU: mlx_device_type_ = 0;
pub const mlx_device_type__MLX_GPU: mlx_device_type_ = 1;
pub type mlx_device_type_ = ::std::os::raw::c_uint;
pub use self::mlx_device_type_ as mlx_device_type;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mlx_stream_ {
    pub ctx: *mut ::std::os::raw::c_void,
}
pub type mlx_stream = mlx_stream_;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mlx_vector_array_ {
    pub ctx: *mut ::std::os::raw::c_void,
}
pub type mlx_vector_array = mlx_vector_array_;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mlx_vector_string_ {
    pub ctx: *mut ::std::os::raw::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mlx_closure_ {
    pub ctx: *mut ::std::os::raw::c_void,
}
pub type mlx_closure = mlx_closure_;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mlx_closure_value_and_grad_ {
    pub ctx: *mut ::std::os::raw::c_void,
}
pub type mlx_closure_value_and_grad = mlx_closure_value_and_grad_;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mlx_io_gguf_ {
    pub ctx: *mut ::std::os::raw::c_void,
}
pub type mlx_io_gguf = mlx_io_gguf_;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mlx_compile_cache_ {
    pub ctx: *mut ::std::os::raw::c_void,
}
pub type mlx_compile_cache = mlx_compile_cache_;
pub type mlx_error_handler_func = ::std::option::Option<
    unsafe extern "C" fn(msg: *const ::std::os::raw::c_char, data: *mut ::std::os::raw::c_void),
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mlx_fast_metal_kernel_config_ {
    pub ctx: *mut ::std::os::raw::c_void,
}
pub type mlx_fast_metal_kernel_config = mlx_fast_metal_kernel_config_;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mlx_fast_metal_kernel_ {
    pub ctx: *mut ::std::os::raw::c_void,
}
pub type mlx_fast_metal_kernel = mlx_fast_metal_kernel_;
pub const mlx_fft_norm__MLX_FFT_NORM_BACKWARD: mlx_fft_norm_ = 0;
pub const mlx_fft_norm__MLX_FFT_NORM_ORTHO: mlx_fft_norm_ = 1;
pub const mlx_fft_norm__MLX_FFT_NORM_FORWARD: mlx_fft_norm_ = 2;
pub type mlx_fft_norm_ = ::std::os::raw::c_uint;
pub use self::mlx_fft_norm_ as mlx_fft_norm;
extern "C" {
    pub fn mlx_string_new() -> mlx_string;
    pub fn mlx_string_data(str_: mlx_string) -> *const ::std::os::raw::c_char;
    pub fn mlx_string_free(str_: mlx_string) -> ::std::os::raw::c_int;
    pub fn mlx_array_tostring(str_: *mut mlx_string, arr: mlx_array) -> ::std::os::raw::c_int;
    pub fn mlx_array_new() -> mlx_array;
    pub fn mlx_array_free(arr: mlx_array) -> ::std::os::raw::c_int;
    pub fn mlx_array_new_bool(val: bool) -> mlx_array;
    pub fn mlx_array_new_int(val: ::std::os::raw::c_int) -> mlx_array;
    pub fn mlx_array_new_float32(val: f32) -> mlx_array;
    pub fn mlx_array_new_float64(val: f64) -> mlx_array;
    pub fn mlx_array_new_complex(real_val: f32, imag_val: f32) -> mlx_array;
    pub fn mlx_array_new_data(
        data: *const ::std::os::raw::c_void,
        shape: *const ::std::os::raw::c_int,
        dim: ::std::os::raw::c_int,
        dtype: mlx_dtype,
    ) -> mlx_array;
    pub fn mlx_array_set(arr: *mut mlx_array, src: mlx_array) -> ::std::os::raw::c_int;
    pub fn mlx_array_itemsize(arr: mlx_array) -> usize;
    pub fn mlx_array_size(arr: mlx_array) -> usize;
    pub fn mlx_array_nbytes(arr: mlx_array) -> usize;
    pub fn mlx_array_ndim(arr: mlx_array) -> usize;
    pub fn mlx_array_shape(arr: mlx_array) -> *const ::std::os::raw::c_int;
    pub fn mlx_array_strides(arr: mlx_array) -> *const usize;
    pub fn mlx_array_dim(arr: mlx_array, dim: ::std::os::raw::c_int) -> ::std::os::raw::c_int;
    pub fn mlx_array_dtype(arr: mlx_array) -> mlx_dtype;
    pub fn mlx_array_eval(arr: mlx_array) -> ::std::os::raw::c_int;
    pub fn mlx_array_item_bool(res: *mut bool, arr: mlx_array) -> ::std::os::raw::c_int;
    pub fn mlx_array_item_uint8(res: *mut u8, arr: mlx_array) -> ::std::os::raw::c_int;
    pub fn mlx_array_item_uint16(res: *mut u16, arr: mlx_array) -> ::std::os::raw::c_int;
    pub fn mlx_array_item_uint32(res: *mut u32, arr: mlx_array) -> ::std::os::raw::c_int;
    pub fn mlx_array_item_uint64(res: *mut u64, arr: mlx_array) -> ::std::os::raw::c_int;
    pub fn mlx_array_item_int8(res: *mut i8, arr: mlx_array) -> ::std::os::raw::c_int;
    pub fn mlx_array_item_int16(res: *mut i16, arr: mlx_array) -> ::std::os::raw::c_int;
    pub fn mlx_array_item_int32(res: *mut i32, arr: mlx_array) -> ::std::os::raw::c_int;
    pub fn mlx_array_item_int64(res: *mut i64, arr: mlx_array) -> ::std::os::raw::c_int;
    pub fn mlx_array_item_float32(res: *mut f32, arr: mlx_array) -> ::std::os::raw::c_int;
    pub fn mlx_array_item_float64(res: *mut f64, arr: mlx_array) -> ::std::os::raw::c_int;
    pub fn mlx_array_item_complex64(
        res: *mut mlx_complex64_t,
        arr: mlx_array,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_array_item_float16(res: *mut float16_t, arr: mlx_array) -> ::std::os::raw::c_int;
    pub fn mlx_array_item_bfloat16(res: *mut bfloat16_t, arr: mlx_array) -> ::std::os::raw::c_int;
    pub fn mlx_array_data_bool(arr: mlx_array) -> *const bool;
    pub fn mlx_array_data_uint8(arr: mlx_array) -> *const u8;
    pub fn mlx_array_data_uint16(arr: mlx_array) -> *const u16;
    pub fn mlx_array_data_uint32(arr: mlx_array) -> *const u32;
    pub fn mlx_array_data_uint64(arr: mlx_array) -> *const u64;
    pub fn mlx_array_data_int8(arr: mlx_array) -> *const i8;
    pub fn mlx_array_data_int16(arr: mlx_array) -> *const i16;
    pub fn mlx_array_data_int32(arr: mlx_array) -> *const i32;
    pub fn mlx_array_data_int64(arr: mlx_array) -> *const i64;
    pub fn mlx_array_data_float32(arr: mlx_array) -> *const f32;
    pub fn mlx_array_data_float64(arr: mlx_array) -> *const f64;
    pub fn mlx_array_data_complex64(arr: mlx_array) -> *const mlx_complex64_t;
    pub fn mlx_array_data_float16(arr: mlx_array) -> *const float16_t;
    pub fn mlx_array_data_bfloat16(arr: mlx_array) -> *const bfloat16_t;
    pub fn _mlx_array_is_row_contiguous(res: *mut bool, arr: mlx_array) -> ::std::os::raw::c_int;
    pub fn _mlx_array_is_col_contiguous(res: *mut bool, arr: mlx_array) -> ::std::os::raw::c_int;
    pub fn mlx_map_string_to_array_new() -> mlx_map_string_to_array;
    pub fn mlx_map_string_to_array_free(map: mlx_map_string_to_array) -> ::std::os::raw::c_int;
    pub fn mlx_map_string_to_array_insert(
        map: mlx_map_string_to_array,
        key: *const ::std::os::raw::c_char,
        value: mlx_array,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_map_string_to_array_iterator_new(
        map: mlx_map_string_to_array,
    ) -> mlx_map_string_to_array_iterator;
    pub fn mlx_map_string_to_array_iterator_free(
        it: mlx_map_string_to_array_iterator,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_map_string_to_array_iterator_next(
        key: *mut *const ::std::os::raw::c_char,
        value: *mut mlx_array,
        it: mlx_map_string_to_array_iterator,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_map_string_to_string_new() -> mlx_map_string_to_string;
    pub fn mlx_map_string_to_string_free(map: mlx_map_string_to_string) -> ::std::os::raw::c_int;
    pub fn mlx_map_string_to_string_insert(
        map: mlx_map_string_to_string,
        key: *const ::std::os::raw::c_char,
        value: *const ::std::os::raw::c_char,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_map_string_to_string_iterator_new(
        map: mlx_map_string_to_string,
    ) -> mlx_map_string_to_string_iterator;
    pub fn mlx_map_string_to_string_iterator_free(
        it: mlx_map_string_to_string_iterator,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_map_string_to_string_iterator_next(
        key: *mut *const ::std::os::raw::c_char,
        value: *mut *const ::std::os::raw::c_char,
        it: mlx_map_string_to_string_iterator,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_device_new() -> mlx_device;
    pub fn mlx_device_new_type(type_: mlx_device_type, index: ::std::os::raw::c_int) -> mlx_device;
    pub fn mlx_device_free(dev: mlx_device) -> ::std::os::raw::c_int;
    pub fn mlx_device_tostring(str_: *mut mlx_string, dev: mlx_device) -> ::std::os::raw::c_int;
    pub fn mlx_device_equal(lhs: mlx_device, rhs: mlx_device) -> bool;
    pub fn mlx_device_get_index(
        index: *mut ::std::os::raw::c_int,
        dev: mlx_device,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_device_get_type(
        type_: *mut mlx_device_type,
        dev: mlx_device,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_get_default_device(dev: *mut mlx_device) -> ::std::os::raw::c_int;
    pub fn mlx_set_default_device(dev: mlx_device) -> ::std::os::raw::c_int;
    pub fn mlx_stream_new() -> mlx_stream;
    pub fn mlx_stream_new_device(dev: mlx_device) -> mlx_stream;
    pub fn mlx_stream_set(stream: *mut mlx_stream, src: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_stream_free(stream: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_stream_tostring(str_: *mut mlx_string, stream: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_stream_equal(lhs: mlx_stream, rhs: mlx_stream) -> bool;
    pub fn mlx_stream_get_index(
        index: *mut ::std::os::raw::c_int,
        stream: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_get_default_stream(
        stream: *mut mlx_stream,
        dev: mlx_device,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_default_cpu_stream_new() -> mlx_stream;
    pub fn mlx_default_gpu_stream_new() -> mlx_stream;
    pub fn mlx_vector_array_new() -> mlx_vector_array;
    pub fn mlx_vector_array_free(vec: mlx_vector_array) -> ::std::os::raw::c_int;
    pub fn mlx_vector_array_append_data(
        vec: mlx_vector_array,
        data: *const mlx_array,
        size: usize,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_vector_array_append_value(
        vec: mlx_vector_array,
        val: mlx_array,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_vector_array_size(vec: mlx_vector_array) -> usize;
    pub fn mlx_vector_array_get(
        res: *mut mlx_array,
        vec: mlx_vector_array,
        idx: usize,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_vector_string_new() -> mlx_vector_string;
    pub fn mlx_vector_string_free(vec: mlx_vector_string) -> ::std::os::raw::c_int;
    pub fn mlx_vector_string_new_data(
        data: *mut *const ::std::os::raw::c_char,
        size: usize,
    ) -> mlx_vector_string;
    pub fn mlx_vector_string_size(vec: mlx_vector_string) -> usize;
    pub fn mlx_vector_string_get(
        res: *mut *mut ::std::os::raw::c_char,
        vec: mlx_vector_string,
        idx: usize,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_closure_new() -> mlx_closure;
    pub fn mlx_closure_free(cls: mlx_closure) -> ::std::os::raw::c_int;
    pub fn mlx_closure_new_func_payload(
        fun: ::std::option::Option<
            unsafe extern "C" fn(
                arg1: *mut mlx_vector_array,
                arg2: mlx_vector_array,
                arg3: *mut ::std::os::raw::c_void,
            ) -> ::std::os::raw::c_int,
        >,
        payload: *mut ::std::os::raw::c_void,
        dtor: ::std::option::Option<unsafe extern "C" fn(arg1: *mut ::std::os::raw::c_void)>,
    ) -> mlx_closure;
    pub fn mlx_closure_apply(
        res: *mut mlx_vector_array,
        cls: mlx_closure,
        input: mlx_vector_array,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_closure_value_and_grad_new() -> mlx_closure_value_and_grad;
    pub fn mlx_closure_value_and_grad_free(
        cls: mlx_closure_value_and_grad,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_closure_value_and_grad_apply(
        res_0: *mut mlx_vector_array,
        res_1: *mut mlx_vector_array,
        cls: mlx_closure_value_and_grad,
        input: mlx_vector_array,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_io_gguf_new() -> mlx_io_gguf;
    pub fn mlx_io_gguf_free(io: mlx_io_gguf) -> ::std::os::raw::c_int;
    pub fn mlx_io_gguf_get_keys(
        keys: *mut mlx_vector_string,
        io: mlx_io_gguf,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_io_gguf_get_array(
        arr: *mut mlx_array,
        io: mlx_io_gguf,
        key: *const ::std::os::raw::c_char,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_io_gguf_get_metadata_array(
        arr: *mut mlx_array,
        io: mlx_io_gguf,
        key: *const ::std::os::raw::c_char,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_io_gguf_get_metadata_string(
        str_: *mut mlx_string,
        io: mlx_io_gguf,
        key: *const ::std::os::raw::c_char,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_io_gguf_get_metadata_vector_string(
        vstr: *mut mlx_vector_string,
        io: mlx_io_gguf,
        key: *const ::std::os::raw::c_char,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_io_gguf_has_metadata_array(
        flag: *mut bool,
        io: mlx_io_gguf,
        key: *const ::std::os::raw::c_char,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_io_gguf_has_metadata_string(
        flag: *mut bool,
        io: mlx_io_gguf,
        key: *const ::std::os::raw::c_char,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_io_gguf_has_metadata_vector_string(
        flag: *mut bool,
        io: mlx_io_gguf,
        key: *const ::std::os::raw::c_char,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_io_gguf_set_array(
        io: mlx_io_gguf,
        key: *const ::std::os::raw::c_char,
        arr: mlx_array,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_io_gguf_set_metadata_array(
        io: mlx_io_gguf,
        key: *const ::std::os::raw::c_char,
        marr: mlx_array,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_io_gguf_set_metadata_string(
        io: mlx_io_gguf,
        key: *const ::std::os::raw::c_char,
        mstr: *const ::std::os::raw::c_char,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_io_gguf_set_metadata_vector_string(
        io: mlx_io_gguf,
        key: *const ::std::os::raw::c_char,
        mvstr: mlx_vector_string,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_compile_cache_new() -> mlx_compile_cache;
    pub fn mlx_compile_cache_free(cache: mlx_compile_cache) -> ::std::os::raw::c_int;
    pub fn mlx_detail_compile(
        res: *mut mlx_closure,
        fun: mlx_closure,
        fun_id: usize,
        shapeless: bool,
        constants: *const u64,
        constants_num: usize,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_detail_compile_cache(res: *mut mlx_compile_cache) -> ::std::os::raw::c_int;
    pub fn mlx_detail_compile_clear_cache(cache: mlx_compile_cache) -> ::std::os::raw::c_int;
    pub fn mlx_detail_compile_erase(
        cache: mlx_compile_cache,
        fun_id: usize,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_disable_compile() -> ::std::os::raw::c_int;
    pub fn mlx_enable_compile() -> ::std::os::raw::c_int;
    pub fn mlx_set_error_handler(
        handler: mlx_error_handler_func,
        data: *mut ::std::os::raw::c_void,
        dtor: ::std::option::Option<unsafe extern "C" fn(arg1: *mut ::std::os::raw::c_void)>,
    );
    pub fn mlx_fast_layer_norm(
        res: *mut mlx_array,
        x: mlx_array,
        weight: mlx_array,
        bias: mlx_array,
        eps: f32,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fast_metal_kernel_config_new() -> mlx_fast_metal_kernel_config;
    pub fn mlx_fast_metal_kernel_config_free(cls: mlx_fast_metal_kernel_config);
    pub fn mlx_fast_metal_kernel_config_add_output_arg(
        cls: mlx_fast_metal_kernel_config,
        shape: *const ::std::os::raw::c_int,
        size: usize,
        dtype: mlx_dtype,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fast_metal_kernel_config_set_grid(
        cls: mlx_fast_metal_kernel_config,
        grid1: ::std::os::raw::c_int,
        grid2: ::std::os::raw::c_int,
        grid3: ::std::os::raw::c_int,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fast_metal_kernel_config_set_thread_group(
        cls: mlx_fast_metal_kernel_config,
        thread1: ::std::os::raw::c_int,
        thread2: ::std::os::raw::c_int,
        thread3: ::std::os::raw::c_int,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fast_metal_kernel_config_set_init_value(
        cls: mlx_fast_metal_kernel_config,
        value: f32,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fast_metal_kernel_config_set_verbose(
        cls: mlx_fast_metal_kernel_config,
        verbose: bool,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fast_metal_kernel_config_add_template_arg_dtype(
        cls: mlx_fast_metal_kernel_config,
        name: *const ::std::os::raw::c_char,
        dtype: mlx_dtype,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fast_metal_kernel_config_add_template_arg_int(
        cls: mlx_fast_metal_kernel_config,
        name: *const ::std::os::raw::c_char,
        value: ::std::os::raw::c_int,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fast_metal_kernel_config_add_template_arg_bool(
        cls: mlx_fast_metal_kernel_config,
        name: *const ::std::os::raw::c_char,
        value: bool,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fast_metal_kernel_new(
        name: *const ::std::os::raw::c_char,
        input_names: mlx_vector_string,
        output_names: mlx_vector_string,
        source: *const ::std::os::raw::c_char,
        header: *const ::std::os::raw::c_char,
        ensure_row_contiguous: bool,
        atomic_outputs: bool,
    ) -> mlx_fast_metal_kernel;
    pub fn mlx_fast_metal_kernel_free(cls: mlx_fast_metal_kernel);
    pub fn mlx_fast_metal_kernel_apply(
        outputs: *mut mlx_vector_array,
        cls: mlx_fast_metal_kernel,
        inputs: mlx_vector_array,
        config: mlx_fast_metal_kernel_config,
        stream: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fast_rms_norm(
        res: *mut mlx_array,
        x: mlx_array,
        weight: mlx_array,
        eps: f32,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fast_rope(
        res: *mut mlx_array,
        x: mlx_array,
        dims: ::std::os::raw::c_int,
        traditional: bool,
        base: mlx_optional_float,
        scale: f32,
        offset: ::std::os::raw::c_int,
        freqs: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fast_rope_dynamic(
        res: *mut mlx_array,
        x: mlx_array,
        dims: ::std::os::raw::c_int,
        traditional: bool,
        base: mlx_optional_float,
        scale: f32,
        offset: mlx_array,
        freqs: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fast_scaled_dot_product_attention(
        res: *mut mlx_array,
        queries: mlx_array,
        keys: mlx_array,
        values: mlx_array,
        scale: f32,
        mask_mode: *const ::std::os::raw::c_char,
        mask_arr: mlx_array,
        sinks: mlx_array,
        force_fused: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fft_fft(
        res: *mut mlx_array,
        a: mlx_array,
        n: ::std::os::raw::c_int,
        axis: ::std::os::raw::c_int,
        norm: mlx_fft_norm,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fft_fft2(
        res: *mut mlx_array,
        a: mlx_array,
        n: *const ::std::os::raw::c_int,
        n_num: usize,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        norm: mlx_fft_norm,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fft_fftfreq(
        res: *mut mlx_array,
        n: ::std::os::raw::c_int,
        d: f64,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fft_fftn(
        res: *mut mlx_array,
        a: mlx_array,
        n: *const ::std::os::raw::c_int,
        n_num: usize,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        norm: mlx_fft_norm,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fft_fftshift(
        res: *mut mlx_array,
        a: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fft_ifft(
        res: *mut mlx_array,
        a: mlx_array,
        n: ::std::os::raw::c_int,
        axis: ::std::os::raw::c_int,
        norm: mlx_fft_norm,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fft_ifft2(
        res: *mut mlx_array,
        a: mlx_array,
        n: *const ::std::os::raw::c_int,
        n_num: usize,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        norm: mlx_fft_norm,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fft_ifftn(
        res: *mut mlx_array,
        a: mlx_array,
        n: *const ::std::os::raw::c_int,
        n_num: usize,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        norm: mlx_fft_norm,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fft_ifftshift(
        res: *mut mlx_array,
        a: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fft_irfft(
        res: *mut mlx_array,
        a: mlx_array,
        n: ::std::os::raw::c_int,
        axis: ::std::os::raw::c_int,
        norm: mlx_fft_norm,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fft_irfft2(
        res: *mut mlx_array,
        a: mlx_array,
        n: *const ::std::os::raw::c_int,
        n_num: usize,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        norm: mlx_fft_norm,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fft_irfftn(
        res: *mut mlx_array,
        a: mlx_array,
        n: *const ::std::os::raw::c_int,
        n_num: usize,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        norm: mlx_fft_norm,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fft_rfft(
        res: *mut mlx_array,
        a: mlx_array,
        n: ::std::os::raw::c_int,
        axis: ::std::os::raw::c_int,
        norm: mlx_fft_norm,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fft_rfft2(
        res: *mut mlx_array,
        a: mlx_array,
        n: *const ::std::os::raw::c_int,
        n_num: usize,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        norm: mlx_fft_norm,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fft_rfftfreq(
        res: *mut mlx_array,
        n: ::std::os::raw::c_int,
        d: f64,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_fft_rfftn(
        res: *mut mlx_array,
        a: mlx_array,
        n: *const ::std::os::raw::c_int,
        n_num: usize,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        norm: mlx_fft_norm,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_load(
        res: *mut mlx_array,
        file: *const ::std::os::raw::c_char,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_load_gguf(
        gguf: *mut mlx_io_gguf,
        file: *const ::std::os::raw::c_char,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_load_safetensors(
        res_0: *mut mlx_map_string_to_array,
        res_1: *mut mlx_map_string_to_string,
        file: *const ::std::os::raw::c_char,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_save(file: *const ::std::os::raw::c_char, a: mlx_array) -> ::std::os::raw::c_int;
    pub fn mlx_save_gguf(
        file: *const ::std::os::raw::c_char,
        gguf: mlx_io_gguf,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_save_safetensors(
        file: *const ::std::os::raw::c_char,
        param: mlx_map_string_to_array,
        metadata: mlx_map_string_to_string,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_linalg_cholesky(
        res: *mut mlx_array,
        a: mlx_array,
        upper: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_linalg_cholesky_inv(
        res: *mut mlx_array,
        a: mlx_array,
        upper: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_linalg_cross(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_linalg_det(
        res: *mut mlx_array,
        a: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_linalg_eig(
        res_0: *mut mlx_array,
        res_1: *mut mlx_array,
        a: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_linalg_eigh(
        res_0: *mut mlx_array,
        res_1: *mut mlx_array,
        a: mlx_array,
        UPLO: *const ::std::os::raw::c_char,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_linalg_eigvals(
        res: *mut mlx_array,
        a: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_linalg_eigvalsh(
        res: *mut mlx_array,
        a: mlx_array,
        UPLO: *const ::std::os::raw::c_char,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_linalg_inv(
        res: *mut mlx_array,
        a: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_linalg_lu(
        res: *mut mlx_vector_array,
        a: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_linalg_lu_factor(
        res_0: *mut mlx_array,
        res_1: *mut mlx_array,
        a: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_linalg_norm(
        res: *mut mlx_array,
        a: mlx_array,
        ord: f64,
        axis: *const ::std::os::raw::c_int,
        axis_num: usize,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_linalg_norm_matrix(
        res: *mut mlx_array,
        a: mlx_array,
        ord: *const ::std::os::raw::c_char,
        axis: *const ::std::os::raw::c_int,
        axis_num: usize,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_linalg_norm_l2(
        res: *mut mlx_array,
        a: mlx_array,
        axis: *const ::std::os::raw::c_int,
        axis_num: usize,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_linalg_pinv(
        res: *mut mlx_array,
        a: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_linalg_qr(
        res_0: *mut mlx_array,
        res_1: *mut mlx_array,
        a: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_linalg_slogdet(
        res_0: *mut mlx_array,
        res_1: *mut mlx_array,
        a: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_linalg_solve(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_linalg_solve_triangular(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        upper: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_linalg_svd(
        res: *mut mlx_vector_array,
        a: mlx_array,
        compute_uv: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_linalg_tri_inv(
        res: *mut mlx_array,
        a: mlx_array,
        upper: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_clear_cache() -> ::std::os::raw::c_int;
    pub fn mlx_get_active_memory(res: *mut usize) -> ::std::os::raw::c_int;
    pub fn mlx_get_cache_memory(res: *mut usize) -> ::std::os::raw::c_int;
    pub fn mlx_get_memory_limit(res: *mut usize) -> ::std::os::raw::c_int;
    pub fn mlx_get_peak_memory(res: *mut usize) -> ::std::os::raw::c_int;
    pub fn mlx_reset_peak_memory() -> ::std::os::raw::c_int;
    pub fn mlx_set_cache_limit(res: *mut usize, limit: usize) -> ::std::os::raw::c_int;
    pub fn mlx_set_memory_limit(res: *mut usize, limit: usize) -> ::std::os::raw::c_int;
    pub fn mlx_set_wired_limit(res: *mut usize, limit: usize) -> ::std::os::raw::c_int;
    pub fn mlx_metal_get_metallib_path(res: *mut mlx_string) -> ::std::os::raw::c_int;
    pub fn mlx_metal_set_metallib_path(
        path: *const ::std::os::raw::c_char,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_abs(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_add(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_addmm(
        res: *mut mlx_array,
        c: mlx_array,
        a: mlx_array,
        b: mlx_array,
        alpha: f32,
        beta: f32,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_all_axes(
        res: *mut mlx_array,
        a: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_all_axis(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_all(
        res: *mut mlx_array,
        a: mlx_array,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_allclose(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        rtol: f64,
        atol: f64,
        equal_nan: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_any_axes(
        res: *mut mlx_array,
        a: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_any_axis(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_any(
        res: *mut mlx_array,
        a: mlx_array,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_arange(
        res: *mut mlx_array,
        start: f64,
        stop: f64,
        step: f64,
        dtype: mlx_dtype,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_arccos(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_arccosh(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_arcsin(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_arcsinh(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_arctan(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_arctan2(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_arctanh(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_argmax_axis(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_argmax(
        res: *mut mlx_array,
        a: mlx_array,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_argmin_axis(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_argmin(
        res: *mut mlx_array,
        a: mlx_array,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_argpartition_axis(
        res: *mut mlx_array,
        a: mlx_array,
        kth: ::std::os::raw::c_int,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_argpartition(
        res: *mut mlx_array,
        a: mlx_array,
        kth: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_argsort_axis(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_argsort(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_array_equal(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        equal_nan: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_as_strided(
        res: *mut mlx_array,
        a: mlx_array,
        shape: *const ::std::os::raw::c_int,
        shape_num: usize,
        strides: *const i64,
        strides_num: usize,
        offset: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_astype(
        res: *mut mlx_array,
        a: mlx_array,
        dtype: mlx_dtype,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_atleast_1d(
        res: *mut mlx_array,
        a: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_atleast_2d(
        res: *mut mlx_array,
        a: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_atleast_3d(
        res: *mut mlx_array,
        a: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_bartlett(
        res: *mut mlx_array,
        M: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_blackman(
        res: *mut mlx_array,
        M: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_block_masked_mm(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        block_size: ::std::os::raw::c_int,
        mask_out: mlx_array,
        mask_lhs: mlx_array,
        mask_rhs: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_broadcast_arrays(
        res: *mut mlx_vector_array,
        inputs: mlx_vector_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_broadcast_to(
        res: *mut mlx_array,
        a: mlx_array,
        shape: *const ::std::os::raw::c_int,
        shape_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_ceil(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_clip(
        res: *mut mlx_array,
        a: mlx_array,
        a_min: mlx_array,
        a_max: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_concatenate_axis(
        res: *mut mlx_array,
        arrays: mlx_vector_array,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_concatenate(
        res: *mut mlx_array,
        arrays: mlx_vector_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_contiguous(
        res: *mut mlx_array,
        a: mlx_array,
        allow_col_major: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_conv1d(
        res: *mut mlx_array,
        input: mlx_array,
        weight: mlx_array,
        stride: ::std::os::raw::c_int,
        padding: ::std::os::raw::c_int,
        dilation: ::std::os::raw::c_int,
        groups: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_conv2d(
        res: *mut mlx_array,
        input: mlx_array,
        weight: mlx_array,
        stride_0: ::std::os::raw::c_int,
        stride_1: ::std::os::raw::c_int,
        padding_0: ::std::os::raw::c_int,
        padding_1: ::std::os::raw::c_int,
        dilation_0: ::std::os::raw::c_int,
        dilation_1: ::std::os::raw::c_int,
        groups: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_conv3d(
        res: *mut mlx_array,
        input: mlx_array,
        weight: mlx_array,
        stride_0: ::std::os::raw::c_int,
        stride_1: ::std::os::raw::c_int,
        stride_2: ::std::os::raw::c_int,
        padding_0: ::std::os::raw::c_int,
        padding_1: ::std::os::raw::c_int,
        padding_2: ::std::os::raw::c_int,
        dilation_0: ::std::os::raw::c_int,
        dilation_1: ::std::os::raw::c_int,
        dilation_2: ::std::os::raw::c_int,
        groups: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_conv_general(
        res: *mut mlx_array,
        input: mlx_array,
        weight: mlx_array,
        stride: *const ::std::os::raw::c_int,
        stride_num: usize,
        padding_lo: *const ::std::os::raw::c_int,
        padding_lo_num: usize,
        padding_hi: *const ::std::os::raw::c_int,
        padding_hi_num: usize,
        kernel_dilation: *const ::std::os::raw::c_int,
        kernel_dilation_num: usize,
        input_dilation: *const ::std::os::raw::c_int,
        input_dilation_num: usize,
        groups: ::std::os::raw::c_int,
        flip: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_conv_transpose1d(
        res: *mut mlx_array,
        input: mlx_array,
        weight: mlx_array,
        stride: ::std::os::raw::c_int,
        padding: ::std::os::raw::c_int,
        dilation: ::std::os::raw::c_int,
        output_padding: ::std::os::raw::c_int,
        groups: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_conv_transpose2d(
        res: *mut mlx_array,
        input: mlx_array,
        weight: mlx_array,
        stride_0: ::std::os::raw::c_int,
        stride_1: ::std::os::raw::c_int,
        padding_0: ::std::os::raw::c_int,
        padding_1: ::std::os::raw::c_int,
        dilation_0: ::std::os::raw::c_int,
        dilation_1: ::std::os::raw::c_int,
        output_padding_0: ::std::os::raw::c_int,
        output_padding_1: ::std::os::raw::c_int,
        groups: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_conv_transpose3d(
        res: *mut mlx_array,
        input: mlx_array,
        weight: mlx_array,
        stride_0: ::std::os::raw::c_int,
        stride_1: ::std::os::raw::c_int,
        stride_2: ::std::os::raw::c_int,
        padding_0: ::std::os::raw::c_int,
        padding_1: ::std::os::raw::c_int,
        padding_2: ::std::os::raw::c_int,
        dilation_0: ::std::os::raw::c_int,
        dilation_1: ::std::os::raw::c_int,
        dilation_2: ::std::os::raw::c_int,
        output_padding_0: ::std::os::raw::c_int,
        output_padding_1: ::std::os::raw::c_int,
        output_padding_2: ::std::os::raw::c_int,
        groups: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_cos(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_cosh(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_count_nonzero_axis(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_count_nonzero_axes(
        res: *mut mlx_array,
        a: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_count_nonzero(
        res: *mut mlx_array,
        a: mlx_array,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_cummax_axis(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        reverse: bool,
        inclusive: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_cummax(
        res: *mut mlx_array,
        a: mlx_array,
        reverse: bool,
        inclusive: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_cummin_axis(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        reverse: bool,
        inclusive: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_cummin(
        res: *mut mlx_array,
        a: mlx_array,
        reverse: bool,
        inclusive: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_cumprod_axis(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        reverse: bool,
        inclusive: bool,
        dtype: mlx_optional_dtype,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_cumprod(
        res: *mut mlx_array,
        a: mlx_array,
        reverse: bool,
        inclusive: bool,
        dtype: mlx_optional_dtype,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_cumsum_axis(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        reverse: bool,
        inclusive: bool,
        dtype: mlx_optional_dtype,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_cumsum(
        res: *mut mlx_array,
        a: mlx_array,
        reverse: bool,
        inclusive: bool,
        dtype: mlx_optional_dtype,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_degrees(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_dequantize(
        res: *mut mlx_array,
        w: mlx_array,
        scales: mlx_array,
        biases: mlx_array,
        group_size: mlx_optional_int,
        bits: mlx_optional_int,
        mode: *const ::std::os::raw::c_char,
        global_scale: mlx_array,
        dtype: mlx_optional_dtype,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_diag(
        res: *mut mlx_array,
        a: mlx_array,
        k: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_diagonal(
        res: *mut mlx_array,
        a: mlx_array,
        offset: ::std::os::raw::c_int,
        axis1: ::std::os::raw::c_int,
        axis2: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_diff(
        res: *mut mlx_array,
        a: mlx_array,
        n: ::std::os::raw::c_int,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_divide(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_divmod(
        res: *mut mlx_vector_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_einsum(
        res: *mut mlx_array,
        subscripts: *const ::std::os::raw::c_char,
        operands: mlx_vector_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_equal(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_erf(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_erfinv(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_exp(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_expand_dims_axes(
        res: *mut mlx_array,
        a: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_expand_dims(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_expm1(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_eye(
        res: *mut mlx_array,
        n: ::std::os::raw::c_int,
        m: ::std::os::raw::c_int,
        k: ::std::os::raw::c_int,
        dtype: mlx_dtype,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_flatten(
        res: *mut mlx_array,
        a: mlx_array,
        start_axis: ::std::os::raw::c_int,
        end_axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_flip_axes(
        res: *mut mlx_array,
        a: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_flip_axis(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_flip(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_floor(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_floor_divide(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_from_fp8(
        res: *mut mlx_array,
        x: mlx_array,
        dtype: mlx_dtype,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_full(
        res: *mut mlx_array,
        shape: *const ::std::os::raw::c_int,
        shape_num: usize,
        vals: mlx_array,
        dtype: mlx_dtype,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_full_like(
        res: *mut mlx_array,
        a: mlx_array,
        vals: mlx_array,
        dtype: mlx_dtype,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_gather(
        res: *mut mlx_array,
        a: mlx_array,
        indices: mlx_vector_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        slice_sizes: *const ::std::os::raw::c_int,
        slice_sizes_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_gather_single(
        res: *mut mlx_array,
        a: mlx_array,
        indices: mlx_array,
        axis: ::std::os::raw::c_int,
        slice_sizes: *const ::std::os::raw::c_int,
        slice_sizes_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_gather_mm(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        lhs_indices: mlx_array,
        rhs_indices: mlx_array,
        sorted_indices: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_gather_qmm(
        res: *mut mlx_array,
        x: mlx_array,
        w: mlx_array,
        scales: mlx_array,
        biases: mlx_array,
        lhs_indices: mlx_array,
        rhs_indices: mlx_array,
        transpose: bool,
        group_size: mlx_optional_int,
        bits: mlx_optional_int,
        mode: *const ::std::os::raw::c_char,
        sorted_indices: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_greater(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_greater_equal(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_hadamard_transform(
        res: *mut mlx_array,
        a: mlx_array,
        scale: mlx_optional_float,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_hamming(
        res: *mut mlx_array,
        M: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_hanning(
        res: *mut mlx_array,
        M: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_identity(
        res: *mut mlx_array,
        n: ::std::os::raw::c_int,
        dtype: mlx_dtype,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_imag(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_inner(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_isclose(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        rtol: f64,
        atol: f64,
        equal_nan: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_isfinite(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_isinf(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_isnan(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_isneginf(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_isposinf(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_kron(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_less(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_less_equal(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_linspace_endpoint(
        res: *mut mlx_array,
        start: f64,
        stop: f64,
        num: ::std::os::raw::c_int,
        endpoint: bool,
        dtype: mlx_dtype,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_log(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_log10(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_log1p(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_log2(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_logaddexp(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_logcumsumexp_axis(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        reverse: bool,
        inclusive: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_logcumsumexp(
        res: *mut mlx_array,
        a: mlx_array,
        reverse: bool,
        inclusive: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_logical_and(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_logical_not(
        res: *mut mlx_array,
        a: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_logical_or(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_logical_xor(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_logsumexp_axes(
        res: *mut mlx_array,
        a: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_logsumexp_axis(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_logsumexp(
        res: *mut mlx_array,
        a: mlx_array,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_masked_scatter(
        res: *mut mlx_array,
        a: mlx_array,
        mask: mlx_array,
        src: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_matmul(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_max_axes(
        res: *mut mlx_array,
        a: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_max_axis(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_max(
        res: *mut mlx_array,
        a: mlx_array,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_maximum(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_mean_axes(
        res: *mut mlx_array,
        a: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_mean_axis(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_mean(
        res: *mut mlx_array,
        a: mlx_array,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_median_axes(
        res: *mut mlx_array,
        a: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_median_axis(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_median(
        res: *mut mlx_array,
        a: mlx_array,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_min_axes(
        res: *mut mlx_array,
        a: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_min_axis(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_min(
        res: *mut mlx_array,
        a: mlx_array,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_minimum(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_moveaxis(
        res: *mut mlx_array,
        a: mlx_array,
        source: ::std::os::raw::c_int,
        destination: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_multiply(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_nan_to_num(
        res: *mut mlx_array,
        a: mlx_array,
        nan: f32,
        posinf: mlx_optional_float,
        neginf: mlx_optional_float,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_negative(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_not_equal(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_ones(
        res: *mut mlx_array,
        shape: *const ::std::os::raw::c_int,
        shape_num: usize,
        dtype: mlx_dtype,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_outer(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_pad(
        res: *mut mlx_array,
        a: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        low_pad_size: *const ::std::os::raw::c_int,
        low_pad_size_num: usize,
        high_pad_size: *const ::std::os::raw::c_int,
        high_pad_size_num: usize,
        pad_value: mlx_array,
        mode: *const ::std::os::raw::c_char,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_partition_axis(
        res: *mut mlx_array,
        a: mlx_array,
        kth: ::std::os::raw::c_int,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_partition(
        res: *mut mlx_array,
        a: mlx_array,
        kth: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_power(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_prod_axes(
        res: *mut mlx_array,
        a: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_prod_axis(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_prod(
        res: *mut mlx_array,
        a: mlx_array,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_put_along_axis(
        res: *mut mlx_array,
        a: mlx_array,
        indices: mlx_array,
        values: mlx_array,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_qqmm(
        res: *mut mlx_array,
        x: mlx_array,
        w: mlx_array,
        w_scales: mlx_array,
        group_size: mlx_optional_int,
        bits: mlx_optional_int,
        mode: *const ::std::os::raw::c_char,
        global_scale_x: mlx_array,
        global_scale_w: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_quantize(
        res: *mut mlx_vector_array,
        w: mlx_array,
        group_size: mlx_optional_int,
        bits: mlx_optional_int,
        mode: *const ::std::os::raw::c_char,
        global_scale: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_quantized_matmul(
        res: *mut mlx_array,
        x: mlx_array,
        w: mlx_array,
        scales: mlx_array,
        biases: mlx_array,
        transpose: bool,
        group_size: mlx_optional_int,
        bits: mlx_optional_int,
        mode: *const ::std::os::raw::c_char,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_radians(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_real(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_reciprocal(
        res: *mut mlx_array,
        a: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_remainder(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_repeat_axis(
        res: *mut mlx_array,
        arr: mlx_array,
        repeats: ::std::os::raw::c_int,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_repeat(
        res: *mut mlx_array,
        arr: mlx_array,
        repeats: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_reshape(
        res: *mut mlx_array,
        a: mlx_array,
        shape: *const ::std::os::raw::c_int,
        shape_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_round(
        res: *mut mlx_array,
        a: mlx_array,
        decimals: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_rsqrt(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_scatter(
        res: *mut mlx_array,
        a: mlx_array,
        indices: mlx_vector_array,
        updates: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_scatter_single(
        res: *mut mlx_array,
        a: mlx_array,
        indices: mlx_array,
        updates: mlx_array,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_scatter_add(
        res: *mut mlx_array,
        a: mlx_array,
        indices: mlx_vector_array,
        updates: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_scatter_add_single(
        res: *mut mlx_array,
        a: mlx_array,
        indices: mlx_array,
        updates: mlx_array,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_scatter_max(
        res: *mut mlx_array,
        a: mlx_array,
        indices: mlx_vector_array,
        updates: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_scatter_max_single(
        res: *mut mlx_array,
        a: mlx_array,
        indices: mlx_array,
        updates: mlx_array,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_scatter_min(
        res: *mut mlx_array,
        a: mlx_array,
        indices: mlx_vector_array,
        updates: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_scatter_min_single(
        res: *mut mlx_array,
        a: mlx_array,
        indices: mlx_array,
        updates: mlx_array,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_scatter_prod(
        res: *mut mlx_array,
        a: mlx_array,
        indices: mlx_vector_array,
        updates: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_scatter_prod_single(
        res: *mut mlx_array,
        a: mlx_array,
        indices: mlx_array,
        updates: mlx_array,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_searchsorted(
        res: *mut mlx_array,
        sorted_sequence: mlx_array,
        values: mlx_array,
        side: *const ::std::os::raw::c_char,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_segmented_mm(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        segments: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_sigmoid(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_sign(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_sin(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_sinh(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_slice(
        res: *mut mlx_array,
        a: mlx_array,
        start: *const ::std::os::raw::c_int,
        start_num: usize,
        stop: *const ::std::os::raw::c_int,
        stop_num: usize,
        strides: *const ::std::os::raw::c_int,
        strides_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_slice_update(
        res: *mut mlx_array,
        src: mlx_array,
        update: mlx_array,
        start: *const ::std::os::raw::c_int,
        start_num: usize,
        stop: *const ::std::os::raw::c_int,
        stop_num: usize,
        strides: *const ::std::os::raw::c_int,
        strides_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_slice_update_add(
        res: *mut mlx_array,
        src: mlx_array,
        update: mlx_array,
        start: *const ::std::os::raw::c_int,
        start_num: usize,
        stop: *const ::std::os::raw::c_int,
        stop_num: usize,
        strides: *const ::std::os::raw::c_int,
        strides_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_slice_update_max(
        res: *mut mlx_array,
        src: mlx_array,
        update: mlx_array,
        start: *const ::std::os::raw::c_int,
        start_num: usize,
        stop: *const ::std::os::raw::c_int,
        stop_num: usize,
        strides: *const ::std::os::raw::c_int,
        strides_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_slice_update_min(
        res: *mut mlx_array,
        src: mlx_array,
        update: mlx_array,
        start: *const ::std::os::raw::c_int,
        start_num: usize,
        stop: *const ::std::os::raw::c_int,
        stop_num: usize,
        strides: *const ::std::os::raw::c_int,
        strides_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_slice_update_prod(
        res: *mut mlx_array,
        src: mlx_array,
        update: mlx_array,
        start: *const ::std::os::raw::c_int,
        start_num: usize,
        stop: *const ::std::os::raw::c_int,
        stop_num: usize,
        strides: *const ::std::os::raw::c_int,
        strides_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_softmax_axes(
        res: *mut mlx_array,
        a: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        precise: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_softmax_axis(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        precise: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_softmax(
        res: *mut mlx_array,
        a: mlx_array,
        precise: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_sort_axis(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_sort(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_split(
        res: *mut mlx_vector_array,
        a: mlx_array,
        num_splits: ::std::os::raw::c_int,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_split_sections(
        res: *mut mlx_vector_array,
        a: mlx_array,
        indices: *const ::std::os::raw::c_int,
        indices_num: usize,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_sqrt(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_square(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_squeeze_axes(
        res: *mut mlx_array,
        a: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_squeeze(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_stack_axis(
        res: *mut mlx_array,
        arrays: mlx_vector_array,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_std_axes(
        res: *mut mlx_array,
        a: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        keepdims: bool,
        ddof: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_std_axis(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        keepdims: bool,
        ddof: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_std(
        res: *mut mlx_array,
        a: mlx_array,
        keepdims: bool,
        ddof: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_stop_gradient(
        res: *mut mlx_array,
        a: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_subtract(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_sum_axes(
        res: *mut mlx_array,
        a: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_sum_axis(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_sum(
        res: *mut mlx_array,
        a: mlx_array,
        keepdims: bool,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_swapaxes(
        res: *mut mlx_array,
        a: mlx_array,
        axis1: ::std::os::raw::c_int,
        axis2: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_take_axis(
        res: *mut mlx_array,
        a: mlx_array,
        indices: mlx_array,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_take(
        res: *mut mlx_array,
        a: mlx_array,
        indices: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_take_along_axis(
        res: *mut mlx_array,
        a: mlx_array,
        indices: mlx_array,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_tan(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_tanh(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_tensordot(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        axes_a: *const ::std::os::raw::c_int,
        axes_a_num: usize,
        axes_b: *const ::std::os::raw::c_int,
        axes_b_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_tensordot_axis(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_tile(
        res: *mut mlx_array,
        arr: mlx_array,
        reps: *const ::std::os::raw::c_int,
        reps_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_to_fp8(res: *mut mlx_array, x: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_topk_axis(
        res: *mut mlx_array,
        a: mlx_array,
        k: ::std::os::raw::c_int,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_topk(
        res: *mut mlx_array,
        a: mlx_array,
        k: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_trace_axes(
        res: *mut mlx_array,
        a: mlx_array,
        offset: ::std::os::raw::c_int,
        axis1: ::std::os::raw::c_int,
        axis2: ::std::os::raw::c_int,
        dtype: mlx_dtype,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_trace(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_transpose_axes(
        res: *mut mlx_array,
        a: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_transpose(res: *mut mlx_array, a: mlx_array, s: mlx_stream)
        -> ::std::os::raw::c_int;
    pub fn mlx_tri(
        res: *mut mlx_array,
        n: ::std::os::raw::c_int,
        m: ::std::os::raw::c_int,
        k: ::std::os::raw::c_int,
        type_: mlx_dtype,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_tril(
        res: *mut mlx_array,
        x: mlx_array,
        k: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_triu(
        res: *mut mlx_array,
        x: mlx_array,
        k: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_trunc(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> ::std::os::raw::c_int;
    pub fn mlx_unflatten(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        shape: *const ::std::os::raw::c_int,
        shape_num: usize,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_unstack_axis(
        res: *mut mlx_vector_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_unstack(
        res: *mut mlx_vector_array,
        a: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_var_axes(
        res: *mut mlx_array,
        a: mlx_array,
        axes: *const ::std::os::raw::c_int,
        axes_num: usize,
        keepdims: bool,
        ddof: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_var_axis(
        res: *mut mlx_array,
        a: mlx_array,
        axis: ::std::os::raw::c_int,
        keepdims: bool,
        ddof: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_var(
        res: *mut mlx_array,
        a: mlx_array,
        keepdims: bool,
        ddof: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_vecdot(
        res: *mut mlx_array,
        a: mlx_array,
        b: mlx_array,
        axis: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_view(
        res: *mut mlx_array,
        a: mlx_array,
        dtype: mlx_dtype,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_where(
        res: *mut mlx_array,
        condition: mlx_array,
        x: mlx_array,
        y: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_zeros(
        res: *mut mlx_array,
        shape: *const ::std::os::raw::c_int,
        shape_num: usize,
        dtype: mlx_dtype,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_random_bernoulli(
        res: *mut mlx_array,
        p: mlx_array,
        shape: *const ::std::os::raw::c_int,
        shape_num: usize,
        key: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_random_categorical_shape(
        res: *mut mlx_array,
        logits: mlx_array,
        axis: ::std::os::raw::c_int,
        shape: *const ::std::os::raw::c_int,
        shape_num: usize,
        key: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_random_categorical_num_samples(
        res: *mut mlx_array,
        logits_: mlx_array,
        axis: ::std::os::raw::c_int,
        num_samples: ::std::os::raw::c_int,
        key: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_random_categorical(
        res: *mut mlx_array,
        logits: mlx_array,
        axis: ::std::os::raw::c_int,
        key: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_random_gumbel(
        res: *mut mlx_array,
        shape: *const ::std::os::raw::c_int,
        shape_num: usize,
        dtype: mlx_dtype,
        key: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_random_key(res: *mut mlx_array, seed: u64) -> ::std::os::raw::c_int;
    pub fn mlx_random_multivariate_normal(
        res: *mut mlx_array,
        mean: mlx_array,
        cov: mlx_array,
        shape: *const ::std::os::raw::c_int,
        shape_num: usize,
        dtype: mlx_dtype,
        key: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_random_normal(
        res: *mut mlx_array,
        shape: *const ::std::os::raw::c_int,
        shape_num: usize,
        dtype: mlx_dtype,
        loc: f32,
        scale: f32,
        key: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_random_randint(
        res: *mut mlx_array,
        low: mlx_array,
        high: mlx_array,
        shape: *const ::std::os::raw::c_int,
        shape_num: usize,
        dtype: mlx_dtype,
        key: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_random_split_num(
        res: *mut mlx_array,
        key: mlx_array,
        num: ::std::os::raw::c_int,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_random_truncated_normal(
        res: *mut mlx_array,
        lower: mlx_array,
        upper: mlx_array,
        shape: *const ::std::os::raw::c_int,
        shape_num: usize,
        dtype: mlx_dtype,
        key: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_random_uniform(
        res: *mut mlx_array,
        low: mlx_array,
        high: mlx_array,
        shape: *const ::std::os::raw::c_int,
        shape_num: usize,
        dtype: mlx_dtype,
        key: mlx_array,
        s: mlx_stream,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_async_eval(outputs: mlx_vector_array) -> ::std::os::raw::c_int;
    pub fn mlx_eval(outputs: mlx_vector_array) -> ::std::os::raw::c_int;
    pub fn mlx_jvp(
        res_0: *mut mlx_vector_array,
        res_1: *mut mlx_vector_array,
        fun: mlx_closure,
        primals: mlx_vector_array,
        tangents: mlx_vector_array,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_value_and_grad(
        res: *mut mlx_closure_value_and_grad,
        fun: mlx_closure,
        argnums: *const ::std::os::raw::c_int,
        argnums_num: usize,
    ) -> ::std::os::raw::c_int;
    pub fn mlx_vjp(
        res_0: *mut mlx_vector_array,
        res_1: *mut mlx_vector_array,
        fun: mlx_closure,
        primals: mlx_vector_array,
        cotangents: mlx_vector_array,
    ) -> ::std::os::raw::c_int;
}

/// mlx-rs seeds its random numbers with this call of Mach's. Linux has none.
#[cfg(not(target_os = "macos"))]
#[no_mangle]
pub extern "C" fn mach_approximate_time() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |time| time.as_nanos() as u64)
}
