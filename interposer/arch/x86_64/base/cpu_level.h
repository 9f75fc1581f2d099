#pragma once

/* The x86-64-vN level (psABI AMD64, "microarchitecture levels") that the program is shown. */
unsigned cpu_shown_level(void);
