#include "tokenizer/template/calendar.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "base/error.hpp"

namespace mixtura {
namespace {

constexpr std::array<std::string_view, 7> kDays{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths{"January",   "February", "March",    "April",
                                                   "May",       "June",     "July",     "August",
                                                   "September", "October",  "November", "December"};

bool is_leap(std::int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

int days_in_month(std::int64_t year, int month) {
    static constexpr std::array<int, 12> kDaysOf{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && is_leap(year) ? 29 : kDaysOf[static_cast<std::size_t>(month - 1)];
}

// What a format can ask of a date beyond its parts.
struct DateFacts {
    explicit DateFacts(const CivilTime& time) {
        const std::int64_t days = days_from_civil(time.year, time.month, time.day);
        day_of_year = static_cast<int>(days - days_from_civil(time.year, 1, 1));
        weekday = static_cast<int>(((days + 4) % 7 + 7) % 7);  // 1970-01-01 was a Thursday
        week_from_sunday = (day_of_year + 7 - weekday) / 7;
        week_from_monday = (day_of_year + 7 - (weekday + 6) % 7) / 7;
        // ISO 8601: a week belongs to the year of its Thursday.
        const std::int64_t thursday = days - (weekday + 6) % 7 + 3;
        iso_year = time.year;
        if (thursday < days_from_civil(time.year, 1, 1))
            --iso_year;
        else if (thursday >= days_from_civil(time.year + 1, 1, 1))
            ++iso_year;
        iso_week = static_cast<int>((thursday - days_from_civil(iso_year, 1, 1)) / 7) + 1;
    }
    int day_of_year = 0;  // from 0
    int weekday = 0;      // 0 is Sunday
    int week_from_sunday = 0, week_from_monday = 0;
    std::int64_t iso_year = 0;
    int iso_week = 0;
};

struct Flags {
    char pad = '\0';  // of _ - 0, the last one given
    bool is_upper = false;
    bool is_swapped = false;
    std::size_t width = 0;
};

std::string number(std::int64_t value, std::size_t digits, char own_pad, const Flags& flags) {
    const char pad = flags.pad == '_' ? ' ' : flags.pad == '0' ? '0' : own_pad;
    std::string written = text(value);
    const std::size_t width = std::max(flags.pad == '-' ? 0 : digits, flags.width);
    if (written.size() < width) written.insert(0, width - written.size(), pad);
    return written;
}

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 0x20) : c; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 0x20) : c; }

std::string words(std::string_view written, const Flags& flags, bool swaps_to_lower = false) {
    std::string out(written);
    if (flags.is_upper || (flags.is_swapped && !swaps_to_lower))
        std::transform(out.begin(), out.end(), out.begin(), upper);
    else if (flags.is_swapped)
        std::transform(out.begin(), out.end(), out.begin(), lower);
    if (out.size() < flags.width) out.insert(0, flags.width - out.size(), flags.pad == '0' ? '0' : ' ');
    return out;
}

// One directive; nothing for a letter that is none.
std::optional<std::string> directive(const CivilTime& t, const DateFacts& facts, char letter, const Flags& flags) {
    const int hour12 = t.hour % 12 == 0 ? 12 : t.hour % 12;
    const auto several = [&](std::string_view format) { return words(format_civil_time(t, format), flags); };
    switch (letter) {
        case 'a': return words(kDays[static_cast<std::size_t>(facts.weekday)].substr(0, 3), flags);
        case 'A': return words(kDays[static_cast<std::size_t>(facts.weekday)], flags);
        case 'b':
        case 'h': return words(kMonths[static_cast<std::size_t>(t.month - 1)].substr(0, 3), flags);
        case 'B': return words(kMonths[static_cast<std::size_t>(t.month - 1)], flags);
        case 'c': return several("%a %b %e %H:%M:%S %Y");
        case 'C': return number(t.year / 100, 2, '0', flags);
        case 'd': return number(t.day, 2, '0', flags);
        case 'D':
        case 'x': return several("%m/%d/%y");
        case 'e': return number(t.day, 2, ' ', flags);
        case 'f': return number(t.microsecond, 6, '0', {});
        case 'F': return several("%Y-%m-%d");
        case 'g': return number(facts.iso_year % 100, 2, '0', flags);
        case 'G': return number(facts.iso_year, 1, '0', flags);
        case 'H': return number(t.hour, 2, '0', flags);
        case 'I': return number(hour12, 2, '0', flags);
        case 'j': return number(facts.day_of_year + 1, 3, '0', flags);
        case 'k': return number(t.hour, 2, ' ', flags);
        case 'l': return number(hour12, 2, ' ', flags);
        case 'm': return number(t.month, 2, '0', flags);
        case 'M': return number(t.minute, 2, '0', flags);
        case 'n': return words("\n", flags);
        case 'p': return words(t.hour < 12 ? "AM" : "PM", flags, true);
        case 'P': return words(t.hour < 12 ? "am" : "pm", flags);
        case 'r': return several("%I:%M:%S %p");
        case 'R': return several("%H:%M");
        case 'S': return number(t.second, 2, '0', flags);
        case 't': return words("\t", flags);
        case 'T':
        case 'X': return several("%H:%M:%S");
        case 'u': return number(facts.weekday == 0 ? 7 : facts.weekday, 1, '0', flags);
        case 'U': return number(facts.week_from_sunday, 2, '0', flags);
        case 'V': return number(facts.iso_week, 2, '0', flags);
        case 'w': return number(facts.weekday, 1, '0', flags);
        case 'W': return number(facts.week_from_monday, 2, '0', flags);
        case 'y': return number(t.year % 100, 2, '0', flags);
        case 'Y': return number(t.year, 1, '0', flags);
        case 'z':
        case 'Z': return words("", flags);  // no zone is known
        case '%': return words("%", flags);
        default: return std::nullopt;
    }
}

}  // namespace

bool is_valid_civil_time(const CivilTime& t) noexcept {
    return t.year >= 1 && t.year <= 9999 && t.month >= 1 && t.month <= 12 && t.day >= 1 &&
           t.day <= days_in_month(t.year, t.month) && t.hour >= 0 && t.hour < 24 && t.minute >= 0 && t.minute < 60 &&
           t.second >= 0 && t.second < 60 && t.microsecond >= 0 && t.microsecond < 1'000'000;
}

// Years that start in March put the leap day last; 400 of them have 146,097 days.
std::int64_t days_from_civil(std::int64_t year, int month, int day) noexcept {
    const std::int64_t shifted = month <= 2 ? year - 1 : year;
    const std::int64_t era = (shifted >= 0 ? shifted : shifted - 399) / 400;
    const std::int64_t year_of_era = shifted - era * 400;
    const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    const std::int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

CivilTime civil_from_seconds(std::int64_t seconds) noexcept {
    const std::int64_t day_seconds = (seconds % 86400 + 86400) % 86400;
    const std::int64_t days = (seconds - day_seconds) / 86400 + 719468;
    const std::int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    const std::int64_t day_of_era = days - era * 146097;
    const std::int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const std::int64_t shifted_month = (5 * day_of_year + 2) / 153;
    CivilTime time;
    time.day = static_cast<std::int32_t>(day_of_year - (153 * shifted_month + 2) / 5 + 1);
    time.month = static_cast<std::int32_t>(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
    time.year = static_cast<std::int32_t>(year_of_era + era * 400 + (time.month <= 2 ? 1 : 0));
    time.hour = static_cast<std::int32_t>(day_seconds / 3600);
    time.minute = static_cast<std::int32_t>(day_seconds / 60 % 60);
    time.second = static_cast<std::int32_t>(day_seconds % 60);
    return time;
}

CivilTime system_time_utc() noexcept {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    const std::int64_t micros = std::chrono::duration_cast<std::chrono::microseconds>(since).count();
    const std::int64_t fraction = (micros % 1'000'000 + 1'000'000) % 1'000'000;
    CivilTime time = civil_from_seconds((micros - fraction) / 1'000'000);
    time.microsecond = static_cast<std::int32_t>(fraction);
    return time;
}

std::string format_civil_time(const CivilTime& time, std::string_view format) {
    const DateFacts facts(time);
    std::string out;
    for (std::size_t at = 0; at < format.size(); ++at) {
        if (format[at] != '%') {
            out += format[at];
            continue;
        }
        const std::size_t begin = at++;
        Flags flags;
        for (; at < format.size() && std::string_view("_-0^#").find(format[at]) != std::string_view::npos; ++at) {
            if (format[at] == '^')
                flags.is_upper = true;
            else if (format[at] == '#')
                flags.is_swapped = true;
            else
                flags.pad = format[at];
        }
        for (; at < format.size() && format[at] >= '0' && format[at] <= '9'; ++at) {
            flags.width = std::min<std::size_t>(flags.width * 10 + static_cast<std::size_t>(format[at] - '0'), 1024);
        }
        if (at < format.size() && (format[at] == 'E' || format[at] == 'O'))
            ++at;  // other calendars and digits: none in C
        const std::optional<std::string> written =
            at < format.size() ? directive(time, facts, format[at], flags) : std::nullopt;
        out += written ? std::string_view(*written) : format.substr(begin, at + 1 - begin);
    }
    return out;
}

Result<CivilTime> CivilTime::parse(std::string_view iso) noexcept {
    return without_exceptions([&]() -> Result<CivilTime> {
        CivilTime time;
        std::string_view rest = iso;
        bool is_valid = true;
        const auto digits = [&](std::size_t count, std::int32_t& out) {
            const std::optional<std::int32_t> value = parse_integer<std::int32_t>(rest.substr(0, count));
            is_valid = is_valid && rest.size() >= count && value && *value >= 0 && rest[0] != '-';
            if (is_valid) out = *value;
            rest.remove_prefix(std::min(count, rest.size()));
        };
        const auto mark = [&](std::string_view any_of) {
            if (rest.empty() || any_of.find(rest[0]) == std::string_view::npos) return false;
            rest.remove_prefix(1);
            return true;
        };
        digits(4, time.year);
        is_valid = is_valid && mark("-");
        digits(2, time.month);
        is_valid = is_valid && mark("-");
        digits(2, time.day);
        if (mark("T ")) {
            digits(2, time.hour);
            is_valid = is_valid && mark(":");
            digits(2, time.minute);
            if (mark(":")) digits(2, time.second);
            if (mark(".,")) {
                const std::size_t count = std::min(rest.find_first_not_of("0123456789"), rest.size());
                is_valid = is_valid && count >= 1 && count <= 6;
                std::int32_t fraction = 0;
                digits(std::min<std::size_t>(count, 6), fraction);
                for (std::size_t i = count; i < 6; ++i) fraction *= 10;
                time.microsecond = fraction;
            }
        }
        if (!is_valid || !rest.empty() || !is_valid_civil_time(time)) {
            return error(StatusCode::invalid_argument, "the time ", quoted(iso),
                         " is none, expected one such as 2026-07-04T12:30:00");
        }
        return time;
    });
}

}  // namespace mixtura
