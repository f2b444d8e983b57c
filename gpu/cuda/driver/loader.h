// loader.h declares functions that open libcuda.so.1 when a GPU is first requested.
#include <cuda.h>

// fedpvi_open opens the driver's library, finds its calls and initialises it. It returns NULL, or
// the reason why there is no driver, in a string that stays valid. The first call does the work,
// and later calls return the same result.
const char *fedpvi_open(CUresult *code);

// fedpvi_load compiles PTX as cuModuleLoadDataEx does and writes the compiler's error messages
// to log, a buffer of size bytes.
CUresult fedpvi_load(CUmodule *module, const char *ptx, char *log, unsigned int size);

// fedpvi_launch launches a function with n arguments of eight bytes each.
CUresult fedpvi_launch(CUfunction function, const unsigned int *grid, const unsigned int *block,
	unsigned int shared, CUstream stream, unsigned long long *arguments, int n);
