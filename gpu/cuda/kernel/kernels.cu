// All kernels, for a compiler to read at once.
#include "descent.cu"
#include "draws.cu"
#include "network.cu"
#include "rows.cu"
#include "slopes.cu"
