#ifndef COHOM_VERSION_H
#define COHOM_VERSION_H
/* The version, for C and the preprocessor. This is its one home. */

#define COHOM_VERSION_MAJOR 0
#define COHOM_VERSION_MINOR 1
#define COHOM_VERSION_PATCH 0
#define COHOM_VERSION_STRING "0.1.0"

#endif
