/* identity.c - which world a rank is of, where what tells it is the launcher's, or is gone. */
#include "autoconf.h"

#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "identity.h"
#include "tap.h"

static const char *world(void)
{
    *rkc_identity() = (struct rkc_identity){.run_id = ""};
    rkc_identity_read("run", RKC_COMMAND_NAME);
    return rkc_identity()->world_id;
}

int main(void)
{
    static const char *const names[] = {"PMIX_NAMESPACE",       "SLURM_JOB_ID",    "SLURM_STEP_ID",
                                        "OMPI_COMM_WORLD_SIZE", "HYDI_CONTROL_FD", "PMI_RANK",
                                        "PMI_SPAWNED"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);

    ok(strcmp(world(), "0") != 0, "a process that nobody has launched is a world of its own");

    /* Hydra's proxy, whose options name the world, is not this process's parent: it was killed. */
    setenv("PMI_RANK", "1", 1);
    ok(strcmp(world(), "0") != 0, "so is a rank of an unknown launcher");
    setenv("HYDI_CONTROL_FD", "7", 1);
    is_str(world(), "0", "a rank of hydra's without its parent is of the world that came first");
    setenv("SLURM_JOB_ID", "4711", 1);
    setenv("SLURM_STEP_ID", "0", 1);
    is_str(world(), "0", "in a step of Slurm's as well, which is the launcher's");
    setenv("PMI_SPAWNED", "1", 1);
    ok(strcmp(world(), "0") != 0, "but not one that was spawned");
    return done_testing();
}
