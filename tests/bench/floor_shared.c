/* The floor as a shared library has it: called from outside, thread-local storage looked up.
 * region_bench opens it as a module.
 */
#include "floor_tree.h"

__attribute__((visibility("default"))) void floor_shared_begin(int id);
__attribute__((visibility("default"))) void floor_shared_begin_name(const char *name);
__attribute__((visibility("default"))) void floor_shared_end(void);

void floor_shared_begin(int id)
{
    floor_begin(id);
}

void floor_shared_begin_name(const char *name)
{
    floor_begin_name(name);
}

void floor_shared_end(void)
{
    floor_end();
}
