// d3/export.h: marks what the shared library gives away.
#pragma once

#if defined(__GNUC__)
#define D3_API __attribute__((visibility("default")))
#else
#define D3_API
#endif
