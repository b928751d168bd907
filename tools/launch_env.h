/* launch_env.h - the texts in which launchers are told of variables. Each function returns a text
 * to be freed, or NULL without memory. */
#ifndef RKC_LAUNCH_ENV_H
#define RKC_LAUNCH_ENV_H

#include "launch.h"

#define RKC_PRELOAD "LD_PRELOAD"

/* Three texts in one. */
char *rkc_launch_join(const char *a, const char *b, const char *c);

/* Append to *list, which is replaced or, without memory, freed and NULL. */
void rkc_launch_append(char **list, char separator, const char *item);

/* Whether a word is "LD_PRELOAD" or "LD_PRELOAD=x". */
int rkc_launch_is_preload(const char *word);

/* Of such a word "LD_PRELOAD=" and the value with our library added; the name alone stands for
 * the value in the environment. */
char *rkc_launch_assignment(const char *word, const struct rkc_launch *launch);

/* A list of variables with ours added. `value_in_list` 0: our LD_PRELOAD by its name alone. */
char *rkc_launch_list(const char *list, char separator, const struct rkc_launch *launch,
                      int value_in_list);

/* The same of srun's --export, where "NONE" and "NIL" stand for an empty list. */
char *rkc_launch_export(const char *list, const struct rkc_launch *launch, int value_in_list);

#endif
