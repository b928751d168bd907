/* spool.h - the file behind an image: in which folder, with which room, under which name, and
 * when it goes.
 *
 * Nobody else's file is ever written to or removed: not a parent's by a child, nor what the program
 * has opened since under a number that was ours, for none stays open.
 */
#ifndef RKC_SPOOL_H
#define RKC_SPOOL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    RKC_SPOOL_NAME_MAX = 512,
    RKC_SPOOL_FOLDERS_MAX = 3,
    RKC_SPOOL_WHY_MAX = 256,
    RKC_SPOOL_RUN_MAX = 200
};

/* Of the room in a folder, so much is never taken: the larger of the two. */
#define RKC_SPOOL_KEEP_BYTES ((uint64_t)16 << 20)
#define RKC_SPOOL_KEEP_PART 20 /* a twentieth, 5 % */

struct rkc_spool {
    char name[RKC_SPOOL_NAME_MAX]; /* "": there is no file */
    int grows;                     /* 0 once what does not fit is kept in memory */
    pid_t owner;                   /* the process that made it */
    dev_t device;
    ino_t inode;
};

/** The folders that a setting stands for, best first.
 *
 * @param setting  "auto", the name of a folder, or "" for none
 *
 * @return how many; their names point into the environment or the setting
 */
int rkc_spool_folders(const char *setting, const char *folder[RKC_SPOOL_FOLDERS_MAX]);

/** Make a file of `bytes` in the first folder of a setting that can be used.
 *
 * @param fd   to map it by; the caller closes it
 * @param why  on failure why none can be, one line
 *
 * @return 0 or RKC_EIO
 */
int rkc_spool_create(struct rkc_spool *spool, const char *setting, size_t bytes, int *fd,
                     char why[RKC_SPOOL_WHY_MAX]);

/* Make bytes [from, to) of the file such that they can be touched, or leave them out of it. 0 or an
 * errno. */
int rkc_spool_extend(struct rkc_spool *spool, size_t from, size_t to);

/* Name the file after the run once it is known; where that name is taken the old one stays. */
void rkc_spool_rename(struct rkc_spool *spool, const char *run_id, const char *world_id, int rank);

/* "rankclock-RUN.WORLD", with which the names of a run's files begin. */
void rkc_spool_run_name(const char *run_id, const char *world_id, char name[RKC_SPOOL_RUN_MAX]);

/* Whether a folder is fit for files that are mapped, and has room for so much. */
int rkc_spool_has_room(const char *folder, size_t bytes);

/* Remove what this very process left before it became another program (exec). */
void rkc_spool_remove_former(const struct rkc_spool *spool);

/* Remove the file, if it is this process's. Async-signal-safe. */
void rkc_spool_remove(struct rkc_spool *spool);

/* Whether the process may have a file of this size: beyond its limit it gets SIGXFSZ.
 * Async-signal-safe. */
int rkc_spool_size_allowed(size_t bytes);

#endif
