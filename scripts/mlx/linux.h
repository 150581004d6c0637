/* Forced into mlx-c's sources (and into bindgen's input) where they are built for Linux.
 * 1. std::format: mlx-c uses it in error texts; libstdc++ has it from GCC 13 on.
 * 2. mlx-c declares its functions for 16-bit floats on ARM only; mlx-rs needs them everywhere. */
#pragma once
#ifdef __cplusplus
#if __has_include(<format>)
#include <format>
#else
#include <sstream>
#include <string>
#include <string_view>
namespace std {
/* Enough for mlx-c's texts: every "{}" becomes the next argument. */
template <typename... Arguments>
string format(string_view text, const Arguments&... arguments) {
  ostringstream out;
  [[maybe_unused]] auto put = [&](const auto& argument) {
    auto place = text.find("{}");
    out << text.substr(0, place) << argument;
    text.remove_prefix(place == string_view::npos ? text.size() : place + 2);
  };
  (put(arguments), ...);
  out << text;
  return out.str();
}
} // namespace std
#endif
#endif
#ifndef __aarch64__
#define HAS_FLOAT16
#define HAS_BFLOAT16
#ifdef __cplusplus
#include "mlx/types/half_types.h"
using mlx::core::bfloat16_t;
using mlx::core::float16_t;
#else
typedef __fp16 float16_t;
typedef unsigned short bfloat16_t;
#endif
#endif
