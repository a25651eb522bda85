#include "core/time_text.h"

#include <gtest/gtest.h>

namespace kedge {
namespace {

// The expected texts are those of `date -u -d @N +%FT%TZ`.
TEST(TimeText, is_utc_as_iso_8601_writes_it) {
  EXPECT_EQ(render_time(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(render_time(1'769'860'800'999'999), "2026-01-31T12:00:00Z");
  EXPECT_EQ(render_time(951'782'400'000'000), "2000-02-29T00:00:00Z");
  EXPECT_EQ(render_time_ms(1'769'860'800'007), "2026-01-31T12:00:00.007Z");
}

}  // namespace
}  // namespace kedge
