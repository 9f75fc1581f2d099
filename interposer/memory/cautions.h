/* What a reader of the recording must know: why a replay may differ. */
#ifndef RDB_CAUTIONS_H
#define RDB_CAUTIONS_H

/* Appends "event N: ..." to the file `cautions` of the recording, while recording. */
void caution(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
