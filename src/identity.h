/* identity.h - which run, world, job and machine this process belongs to. */
#ifndef RKC_IDENTITY_H
#define RKC_IDENTITY_H

#include <stdint.h>

struct rkc_identity {
    char run_id[128];   /* the same for all processes of one launch */
    char world_id[128]; /* the same for one MPI_COMM_WORLD */
    char boot_id[40];
    char host[64];
    char program[64];
    char job[64];     /* Slurm's, array task included as in 4711_3; or "" */
    char job_raw[64]; /* the number that Slurm gave such a task beside that; or "" */
    char step[32];
    char restart[16]; /* "r1", "r2" …; "" the first time */
    char command[16384];
};

/* The process's identity, empty before rkc_identity_read. */
struct rkc_identity *rkc_identity(void);

/* Read it from the environment and /proc. `run_id`: RANKCLOCK_RUN_ID or ""; `command`:
 * enum rkc_command_setting. */
void rkc_identity_read(const char *run_id, int command);

/* A number that this process keeps when it becomes another program (exec), and that no other
 * process has had under the same process id since the machine began, in any name space. */
uint64_t rkc_identity_process(void);

/* Whether this process is the one to say what is true of all: not a rank other than 0, by the
 * launchers' variables. */
int rkc_identity_speaks(void);

/* The name space that this process's id is one of, which a container may have for itself; 0 where
 * that is not known. */
uint64_t rkc_identity_pid_space(void);

/* Whether process `pid` of a name space (0: of ours), which ran on this host and boot at
 * `monotonic_ns`, still does. A zombie does not, nor does another process that was given its
 * number, nor one that cannot be seen from here. */
int rkc_identity_lives(const char *host, const char *boot_id, uint64_t pid_space, int pid,
                       int64_t monotonic_ns);

/* Whether any process of this machine has this number now; a zombie has it no more. */
int rkc_identity_runs(int pid);

#endif
