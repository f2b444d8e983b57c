// All kernels in one file for the compiler.
#include "descent.cu"
#include "draws.cu"
#include "network.cu"
#include "rows.cu"
#include "slopes.cu"
