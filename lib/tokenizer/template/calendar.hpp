// Dates without the C library: its strftime follows the host's locale, its localtime the host's time zone.
#pragma once

#include <mixtura/chat_template.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace mixtura {

bool is_valid_civil_time(const CivilTime& time) noexcept;

// Days since 1970-01-01 in the proleptic Gregorian calendar, and back.
std::int64_t days_from_civil(std::int64_t year, int month, int day) noexcept;
CivilTime civil_from_seconds(std::int64_t seconds_since_1970) noexcept;

CivilTime system_time_utc() noexcept;

// As glibc's strftime in the C locale formats a time without a zone, with Python's %f; widths and the flags _ - 0 ^ #
// included.  A directive that is none stays as it is.
std::string format_civil_time(const CivilTime& time, std::string_view format);

}  // namespace mixtura
