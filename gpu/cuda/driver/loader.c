//go:build cuda

#include "loader.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

// There is one pointer for each call. It is NULL until the library is open, and stays NULL if the
// library lacks the call.
#define CALL(name, symbol, parameters, arguments) static CUresult(*at_##name) parameters;
#include "calls.h"
#undef CALL

// These are the calls. cuInit does nothing and returns success, because gorgonia.org/cu calls it
// when a program starts, and ends the program if it fails. fedpvi_open calls real_cuInit.
static CUresult real_cuInit(unsigned int flags) { return at_cuInit(flags); }
static CUresult absent(void);
#define cuInit unused_cuInit
#define CALL(name, symbol, parameters, arguments) \
	CUresult name parameters { return at_##name ? at_##name arguments : absent(); }
#include "calls.h"
#undef CALL
#undef cuInit
CUresult cuInit(unsigned int flags) { (void)flags; return CUDA_SUCCESS; }

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int opened;
static CUresult code = CUDA_ERROR_NOT_INITIALIZED;
static char why[512];

static CUresult absent(void) { return opened ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_NOT_INITIALIZED; }

static void open_library(void) {
	void *library;
	if (!(library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL))) {
		snprintf(why, sizeof why, "%s", dlerror());
		return;
	}
#define CALL(name, symbol, parameters, arguments) *(void **)&at_##name = dlsym(library, #symbol);
#include "calls.h"
#undef CALL
	opened = 1;
	if (!at_cuInit || !at_cuDriverGetVersion) {
		snprintf(why, sizeof why, "libcuda.so.1 is no CUDA driver: it has no cuInit");
		code = CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND;
		return;
	}
	if ((code = real_cuInit(0)) == CUDA_SUCCESS) return;
	const char *text = NULL;
	if (cuGetErrorString(code, &text) != CUDA_SUCCESS || !text) text = "unknown error";
	snprintf(why, sizeof why, "cuInit: %s (%d)", text, code);
}

const char *fedpvi_open(CUresult *result) {
	pthread_once(&once, open_library);
	*result = code;
	return code == CUDA_SUCCESS ? NULL : why;
}

CUresult fedpvi_load(CUmodule *module, const char *ptx, char *log, unsigned int size) {
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)(uintptr_t)size};
	return cuModuleLoadDataEx(module, ptx, 2, options, values);
}

CUresult fedpvi_launch(CUfunction function, const unsigned int *grid, const unsigned int *block,
	unsigned int shared, CUstream stream, unsigned long long *arguments, int n) {
	void *pointers[n + 1];
	for (int i = 0; i < n; i++) pointers[i] = &arguments[i];
	return cuLaunchKernel(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, stream, pointers, NULL);
}
