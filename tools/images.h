/* images.h - the images that lie in a folder: of which run they are, and whether it still goes on.
 */
#ifndef RKC_IMAGES_H
#define RKC_IMAGES_H

#include <stddef.h>
#include <stdint.h>

struct rkc_image_file {
    char *path;
    char run_id[128], world_id[128], boot_id[40], host[64], program[64];
    char job[64], job_raw[64]; /* Slurm's, as struct rkc_identity has them, or "" */
    int64_t begun_unix_ns, begun_monotonic_ns;
    uint64_t pid_space; /* which pid is of */
    int32_t pid, rank, size; /* rank: -1 where it was not known yet */
    uint32_t state;          /* enum rkc_state */
};

struct rkc_images {
    struct rkc_image_file *files;
    size_t n, cap;
};

/* Which images are wanted; NULL or "" is any. */
struct rkc_images_wanted {
    const char *run_id; /* or that with what the library appends for a requeued job */
    const char *job;    /* of an array's task either of its numbers */
};

/** Add the images in a folder that are this user's (root: anybody's) or lie where nobody else can
 * put any, in the order of run, world and rank.
 *
 * @return 0, RKC_EIO with errno when the folder cannot be read, or RKC_ENOMEM
 */
int rkc_images_find(struct rkc_images *images, const char *folder,
                    const struct rkc_images_wanted *wanted);

/* The same in each local folder that RANKCLOCK_SPOOL stands for; those that are not there have
 * none. 0 or RKC_ENOMEM. */
int rkc_images_find_spooled(struct rkc_images *images, const struct rkc_images_wanted *wanted);

/* Forget an image, or all. */
void rkc_images_drop(struct rkc_images *images, size_t i);
void rkc_images_free(struct rkc_images *images);

/* Whether its process is alive on this machine. */
int rkc_images_is_live(const struct rkc_image_file *file);

/* Whether an id is that of a run, with or without what tells requeued runs apart. */
int rkc_images_same_run(const char *run_id, const char *wanted);

/* One past the last image from `first` on that is of the same run and world. */
size_t rkc_images_world_end(const struct rkc_images *images, size_t first);

/** Copy an image into a folder, which is made if need be, under its own name or, where another
 * file has that, one with a number; written to the disk when it returns. One that lies there
 * already stays as it is.
 *
 * @param move  remove it where it was
 *
 * @return 0 or an errno, after which it is where it was
 */
int rkc_images_copy(const struct rkc_image_file *file, const char *folder, int move);

#endif
