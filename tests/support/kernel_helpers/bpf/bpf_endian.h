#pragma once
// In place of libbpf's header of this name. The program wants little-endian machines.

#define bpf_htons(x) __builtin_bswap16(x)
#define bpf_ntohs(x) __builtin_bswap16(x)
