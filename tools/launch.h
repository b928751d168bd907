/* launch.h - how a command line must change for every rank to get the library.
 *
 * Pure functions of their arguments: nothing is started and no variable is read or set here.
 */
#ifndef RKC_LAUNCH_H
#define RKC_LAUNCH_H

#include <stddef.h>

enum rkc_launcher {
    RKC_LAUNCH_NONE,    /* a program that runs as it is */
    RKC_LAUNCH_ASK,     /* mpirun or mpiexec: whose it is only `--version` tells */
    RKC_LAUNCH_OPENMPI, /* hands on what -x names, and no other variable */
    RKC_LAUNCH_HYDRA,   /* MPICH's, Intel's and MVAPICH's: hands on all */
    RKC_LAUNCH_SRUN,    /* hands on all, unless --export says otherwise */
    RKC_LAUNCH_OTHER,   /* hands on its environment */
};

/* Where the launcher, or else the program, is in a command. */
struct rkc_launch_place {
    enum rkc_launcher launcher;
    size_t word;          /* its index */
    size_t preload_word;  /* of "LD_PRELOAD=..." after an `env` before it, or 0 */
    size_t env_list_word; /* of "OMPI_MCA_mca_base_env_list=...", or 0 */
};

/** Find the launcher in a command, also behind `env A=b`, `timeout 60`, `nice` and the like. */
struct rkc_launch_place rkc_launch_find(char *const argv[]);

/** Tell whose launcher it is from what `--version` printed. */
enum rkc_launcher rkc_launch_identify(const char *version);

/* What to hand to the ranks, and what is in the environment already. */
struct rkc_launch {
    const char *library;      /* added to LD_PRELOAD */
    const char *const *names; /* variables set in the command's environment, NULL at the end */
    const char *preload;      /* LD_PRELOAD now, or NULL */
    const char *env_list;     /* OMPI_MCA_mca_base_env_list now, or NULL */
    const char *export_env;   /* SLURM_EXPORT_ENV now, or NULL */
};

struct rkc_launched {
    char **argv;     /* the new command, NULL at the end */
    char *preload;   /* LD_PRELOAD for the command's environment, or NULL: leave it */
    char *env_list;  /* OMPI_MCA_mca_base_env_list for it, or NULL: leave it */
    size_t app_file; /* index in argv of the name of Open MPI's application file, or 0 */
};

/** Rewrite a command.
 *
 * @param argv      the command, NULL at the end; unchanged
 * @param place     from rkc_launch_find, RKC_LAUNCH_ASK replaced by what it is
 * @param launch    what to hand on
 * @param launched  the result, freed by rkc_launched_free
 *
 * @return 0 or RKC_ENOMEM
 */
int rkc_launch_rewrite(char *const argv[], const struct rkc_launch_place *place,
                       const struct rkc_launch *launch, struct rkc_launched *launched);

/** Rewrite the text of an application file, each line of which is like an mpirun command.
 * Returns a text to be freed, or NULL without memory. */
char *rkc_launch_app_file(const char *text, const struct rkc_launch *launch);

void rkc_launched_free(struct rkc_launched *launched);

/** `preload` with `library` behind it, to be freed: the user's libraries stay and stay first, as
 * sanitizers want it. One that is there already is not added again. NULL without memory. */
char *rkc_launch_preload(const char *preload, const char *library);

#endif
