/* outcome.h - what a run that has ended left behind. */
#ifndef RKC_OUTCOME_H
#define RKC_OUTCOME_H

#include <time.h>

/** Say on stderr which files a run wrote, or what is left of it.
 *
 * @param pattern  RANKCLOCK_OUTPUT, an absolute path that may hold %j and the like
 * @param run_id   the run's RANKCLOCK_RUN_ID
 * @param began    when it was started: older files are not looked at
 */
void rkc_outcome_say(const char *pattern, const char *run_id, time_t began);

#endif
