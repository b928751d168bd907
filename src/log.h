/* log.h - what the library says, on stderr alone, each line whole and with its name. */
#ifndef RKC_LOG_H
#define RKC_LOG_H

/* Levels, as RANKCLOCK_VERBOSE counts them. */
enum {
    RKC_LOG_WARNING = 0, /* something is lost or wrong: always said */
    RKC_LOG_INFO = 1,    /* which file was written */
    RKC_LOG_DETAIL = 2,
};

/* Say nothing above this level. RKC_LOG_INFO at first. */
void rkc_log_set_level(int level);
int rkc_log_level(void);

/* Remember what stderr is now: if the program closes it, what it opens next is in its place, and is no
 * place for our lines. */
void rkc_log_begin(void);

/* Write one line, "rankclock: " before it. Keeps errno. Never to stdout. */
void rkc_log(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same of a text as it is. Async-signal-safe. */
void rkc_log_line(int level, const char *text);

#endif
