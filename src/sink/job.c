/* job.c - the facts of a job, few enough to be searched one by one. */
#include "autoconf.h"

#include "sink/sink.h"

#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

void rkc_job_init(struct rkc_job *job)
{
    *job = (struct rkc_job){.overhead_ns = RKC_ABSENT, .metrics = RKC_ALL_METRICS};
}

void rkc_job_free(struct rkc_job *job)
{
    if (!job)
        return;
    for (uint32_t i = 0; i < job->n_facts; i++) {
        free(job->facts[i].key);
        free(job->facts[i].value);
    }
    free(job->facts);
    rkc_job_init(job);
}

static struct rkc_fact *find_fact(const struct rkc_job *job, const char *key)
{
    for (uint32_t i = 0; i < job->n_facts; i++)
        if (strcmp(job->facts[i].key, key) == 0)
            return &job->facts[i];
    return NULL;
}

/* Add a fact; the job owns both texts when this succeeds. */
static int add_fact(struct rkc_job *job, char *key, char *value)
{
    if (job->n_facts == job->cap_facts) {
        uint32_t capacity = job->cap_facts ? 2 * job->cap_facts : 16;
        struct rkc_fact *facts = realloc(job->facts, capacity * sizeof *facts);
        if (!facts)
            return RKC_ENOMEM;
        job->facts = facts;
        job->cap_facts = capacity;
    }
    job->facts[job->n_facts++] = (struct rkc_fact){key, value};
    return 0;
}

int rkc_job_set(struct rkc_job *job, const char *key, const char *value)
{
    char *value_copy = strdup(value);
    if (!value_copy)
        return RKC_ENOMEM;
    struct rkc_fact *fact = find_fact(job, key);
    if (fact) {
        free(fact->value);
        fact->value = value_copy;
        return 0;
    }
    char *key_copy = strdup(key);
    if (key_copy && add_fact(job, key_copy, value_copy) == 0)
        return 0;
    free(key_copy);
    free(value_copy);
    return RKC_ENOMEM;
}

const char *rkc_job_get(const struct rkc_job *job, const char *key)
{
    const struct rkc_fact *fact = find_fact(job, key);
    return fact ? fact->value : NULL;
}
