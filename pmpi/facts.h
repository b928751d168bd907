/* facts.h - what MPI, the launcher and the environment tell about the job. */
#ifndef RKC_PMPI_FACTS_H
#define RKC_PMPI_FACTS_H

/* Whether MPI is of the kind that this library was built for. `text` gets the first line of
 * its version. May be called before MPI_Init. */
int rkc_facts_check_library(char *text, int size);

/* Put the facts that must be read before MPI_Init, which may change the environment. */
void rkc_facts_before_init(void);

/* Put the others. `level` is the thread level that MPI provides. */
void rkc_facts_after_init(int level);

/* The number of this rank among those of its node, from the launcher; -1 if it does not say. */
int rkc_facts_local_rank(void);

/* How many of the world's ranks are on this node, likewise. */
int rkc_facts_local_size(void);

#endif
