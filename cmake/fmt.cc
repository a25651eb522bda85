// fmt, compiled once: header-only it costs every file 2.5 CPU-seconds, and Debian packages no
// static library of it.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE

namespace detail {
template FMT_API auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
#if FMT_VERSION < 120000
template FMT_API locale_ref::locale_ref(const std::locale& loc);
template FMT_API auto locale_ref::get<std::locale>() const -> std::locale;
#endif
#if FMT_VERSION < 90000  // Ubuntu 22.04
template FMT_API auto format_float<double>(double, int, float_specs, buffer<char>&) -> int;
template FMT_API auto format_float<long double>(long double, int, float_specs, buffer<char>&)
    -> int;
template FMT_API auto snprintf_float<double>(double, int, float_specs, buffer<char>&) -> int;
template FMT_API auto snprintf_float<long double>(long double, int, float_specs, buffer<char>&)
    -> int;
#endif
template FMT_API auto dragonbox::to_decimal(float x) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double x) noexcept -> dragonbox::decimal_fp<double>;
}  // namespace detail

#if FMT_VERSION >= 120000
template FMT_API auto locale_ref::get<std::locale>() const -> std::locale;
#endif

FMT_END_NAMESPACE
