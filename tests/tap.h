/* tap.h - checks for test programs, reported on stdout in the Test Anything Protocol.
 *
 * One check is one line, "ok N - rule" or "not ok N - rule"; done_testing prints the plan. A
 * program that dies before it prints the plan has failed. Give `what` as the rule that is tested.
 * Expressions are evaluated once, on every rank that reaches the check.
 *
 * An MPI test calls tap_silence on every rank but 0. A silent rank prints no TAP; its failures go
 * to stderr and into its exit status, which fails the test.
 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Report a truth, a number, a text (NULL is a value too), a number within a tolerance. Each is an
 * expression, true when the check passed. */
#define ok(condition, what) tap_ok((condition), what, __FILE__, __LINE__, "%s", #condition)
#define is_int(got, want, what) tap_is_int((got), (want), what, __FILE__, __LINE__)
#define is_str(got, want, what) tap_is_str((got), (want), what, __FILE__, __LINE__)
#define is_near(got, want, tolerance, what) \
    tap_is_near((got), (want), (tolerance), what, __FILE__, __LINE__)

struct tap {
    int run;
    int failed;
    int silent;
};

static struct tap tap;

/* Report nothing on stdout from here on: for the ranks of an MPI test but one. */
static inline void tap_silence(void)
{
    tap.silent = 1;
}

/* Report one check; the format says what was seen, and is printed only when the check failed. */
__attribute__((format(printf, 5, 6))) static inline int tap_ok(int passed, const char *what,
                                                               const char *file, int line,
                                                               const char *format, ...)
{
    tap.run++;
    if (!tap.silent)
        printf("%sok %d - %s\n", passed ? "" : "not ", tap.run, what);
    if (!passed) {
        FILE *to = tap.silent ? stderr : stdout;
        va_list values;
        va_start(values, format);
        fprintf(to, "# %s:%d: %s: ", file, line, what);
        vfprintf(to, format, values);
        fputc('\n', to);
        va_end(values);
        tap.failed++;
    }
    fflush(stdout);
    return passed;
}

static inline int tap_is_int(int64_t got, int64_t want, const char *what, const char *file,
                             int line)
{
    return tap_ok(got == want, what, file, line, "got %" PRId64 ", want %" PRId64, got, want);
}

static inline int tap_is_str(const char *got, const char *want, const char *what,
                             const char *file, int line)
{
    int same = got && want ? strcmp(got, want) == 0 : got == want;
    return tap_ok(same, what, file, line, "got \"%s\", want \"%s\"", got ? got : "(null)",
                  want ? want : "(null)");
}

/* NaN is near nothing. */
static inline int tap_is_near(double got, double want, double tolerance, const char *what,
                              const char *file, int line)
{
    return tap_ok(fabs(got - want) <= tolerance, what, file, line, "got %.17g, want %.17g +- %g",
                  got, want, tolerance);
}

/* Stand in for `n` checks that cannot be made here. */
static inline void skip(int n, const char *reason)
{
    for (int i = 0; i < n; i++) {
        tap.run++;
        if (!tap.silent)
            printf("ok %d # SKIP %s\n", tap.run, reason);
    }
    fflush(stdout);
}

/* Skip the whole program and leave it with status 0: before the first check, and outside of
 * MPI_Init and MPI_Finalize. */
__attribute__((noreturn)) static inline int skip_all(const char *reason)
{
    if (!tap.silent)
        printf("1..0 # SKIP %s\n", reason);
    exit(0);
}

/* Print the plan and give main its status; the last line of main. */
static inline int done_testing(void)
{
    if (!tap.silent)
        printf("1..%d\n", tap.run);
    fflush(stdout);
    return tap.failed != 0;
}

#endif
