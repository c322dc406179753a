// All there is comes from libcohom.
#include <cohom/rounds.h>
