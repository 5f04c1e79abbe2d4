#include "tokenizer/template/calendar.hpp"

#include <catch2/catch.hpp>

using namespace mixtura;

TEST_CASE("days count from 1970 in both directions over every leap year", "[tokenizer][short]") {
    CHECK(days_from_civil(1970, 1, 1) == 0);
    CHECK(days_from_civil(2000, 3, 1) == 11017);
    CHECK(days_from_civil(1, 1, 1) == -719162);
    CHECK(days_from_civil(9999, 12, 31) == 2932896);
    std::int64_t expected = days_from_civil(1599, 12, 31);
    CivilTime day{1600, 1, 1, 0, 0, 0, 0};
    while (day.year < 2401) {  // two whole cycles of 400 years
        REQUIRE(days_from_civil(day.year, day.month, day.day) == ++expected);
        const CivilTime back = civil_from_seconds(expected * 86400 + 86399);
        REQUIRE((back.year == day.year && back.month == day.month && back.day == day.day));
        REQUIRE((back.hour == 23 && back.minute == 59 && back.second == 59));
        ++day.day;
        if (!is_valid_civil_time(day)) day = {day.year, day.month + 1, 1, 0, 0, 0, 0};
        if (!is_valid_civil_time(day)) day = {day.year + 1, 1, 1, 0, 0, 0, 0};
    }
}

TEST_CASE("dates at the edges of years fall into ISO 8601's weeks", "[tokenizer][short]") {
    // From Python's datetime.strftime.
    CHECK(format_civil_time({2021, 1, 1, 0, 0, 0, 0}, "%G-W%V-%u %U %W %j %a") == "2020-W53-5 00 00 001 Fri");
    CHECK(format_civil_time({2018, 12, 31, 0, 0, 0, 0}, "%G-W%V-%u %U %W %j %a") == "2019-W01-1 52 53 365 Mon");
    CHECK(format_civil_time({2020, 12, 31, 0, 0, 0, 0}, "%G-W%V-%u %U %W %j %a") == "2020-W53-4 52 52 366 Thu");
    CHECK(format_civil_time({2024, 2, 29, 13, 5, 9, 42}, "%A %d %B %Y %I:%M:%S %p .%f") ==
          "Thursday 29 February 2024 01:05:09 PM .000042");
    CHECK(format_civil_time({2026, 7, 4, 0, 0, 0, 0}, "%-d %_d %e %10Y %^b %#p %Ey %Q %") ==
          "4  4  4 0000002026 JUL am 26 %Q %");
}

TEST_CASE("times are read from ISO 8601 texts and nothing else", "[tokenizer][short]") {
    const CivilTime time = *CivilTime::parse("2026-07-04T12:30:15.25");
    CHECK((time.year == 2026 && time.month == 7 && time.day == 4 && time.hour == 12 && time.minute == 30 &&
           time.second == 15));
    CHECK(time.microsecond == 250000);
    CHECK(CivilTime::parse("2024-02-29")->day == 29);
    CHECK(CivilTime::parse("2024-02-29 01:02")->minute == 2);
    for (const std::string_view wrong :
         {"", "2026", "2026-7-4", "2026-02-29", "2026-13-01", "2026-07-04T", "2026-07-04T24:00", "2026-07-04T12:30:00Z",
          "2026-07-04T12:30:00+02:00", "2026-07-04T12:30:60", "2026-07-04x", "-026-07-04", "0000-01-01",
          "2026-07-04T12:30:1.", "2026-07-04T12:30:01.1234567", "2026-07- 4", "2026-07-+4"}) {
        INFO(wrong);
        CHECK(CivilTime::parse(wrong).status().code() == StatusCode::invalid_argument);
    }
}
