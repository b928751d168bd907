/* torture.h - one run of tests/apps/victim at a time, brought to a bad end, and what it has left.
 */
#ifndef TESTS_TORTURE_H
#define TESTS_TORTURE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "notes.h"

enum { RANKS_MAX = 16, FILES_MAX = 64, PATH_ROOM = PATH_MAX };

/* Folders below the one that the campaign works in. */
struct places {
    char root[PATH_ROOM];
    char out[PATH_ROOM];    /* result files and NAME.partial */
    char notes[PATH_ROOM];  /* a page of each rank */
    char tmp[PATH_ROOM];    /* TMPDIR: the MPI's own */
    char spool[PATH_ROOM];  /* images, in memory */
    char memory[PATH_ROOM]; /* the MPI's own; or "" */
    char log[PATH_ROOM];    /* what the job says */
};

/* ---- torture_run.c ---- */

struct job {
    const struct places *places;
    pid_t launcher;
    double begun_s;
    int ranks;
    int has_ended;    /* the launcher has, or has been killed */
    int all_were_hit; /* it was killed, and whoever would make a file of what is left */
    int was_stuck;    /* it did not notice that its ranks had ended */
    int status;       /* its own */
    const struct notes *notes[RANKS_MAX]; /* that were found, mapped */
    /* The same as they were last before any process was hit: a handler may save an image before its
     * process ends, while another thread goes on. */
    struct notes before[RANKS_MAX];
    int is_hit;
    int n_notes;
};

double job_now_s(void);

/* From here on a signal to end us ends the job first. */
void job_end_when_told(void);

/* Start it under `rankclock run`. 0 or 1 after a message. */
int job_start(struct job *job, const struct places *places, int ranks, char *const arguments[]);

/* Whether all ranks have come to a stage. */
int job_is_at(struct job *job, int stage);

/* Wait for a stage of all ranks, or the job's end, or until seconds have passed: whether it has
 * come to the stage. Stage 0 is never come to. */
int job_wait(struct job *job, int stage, double seconds);

/* From now on its ranks may be ending. */
void job_is_to_be_hit(struct job *job);

/* Send a signal to the ranks, to the i-th of them that can be found, or to every process that the
 * job has. Returns how many got it. */
int job_signal_ranks(int signal_number);
int job_signal_rank(int signal_number, unsigned i);
int job_signal_all(struct job *job, int signal_number);

/* Wait for the end of the launcher and of all processes of the job, of which none may be left after
 * that time: they are killed then. 0, or 1 after a message. */
int job_end(struct job *job, double seconds);
void job_forget(struct job *job);

/* Run a command of ours to its end. Its status, or 128 + its signal. */
int run_command(const struct places *places, const char *const arguments[]);

/* ---- torture_checks.c ---- */

/* What was found, summed over runs. */
struct findings {
    long stuck;           /* launchers that waited for ranks that had ended */
    long runs, disturbed; /* runs; those that were hit before their end */
    long images, unborn;  /* unborn: made, but not yet told of its run */
    long files, complete;
    int64_t noted, open; /* regions and calls that had ended; that were begun and had not */
};

/* Whatever is left of a run: images are read and compared with the notes, made a file of where
 * nobody has done that yet, and the file compared, too. What remains is a fault. 0, or 1 after a
 * message. */
int check_left(const struct places *places, const struct job *job, struct findings *findings);

/* Remove all that lies in a folder. */
void empty_folder(const char *folder);

#endif
