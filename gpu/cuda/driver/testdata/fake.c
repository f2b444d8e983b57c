// This is a libcuda.so.1 for tests of the code that calls the driver. Its memory is memory of the
// host. It counts launches and runs no kernel but "add". The environment determines its faults.
// FAKE_INIT and FAKE_VERSION are the results of cuInit and cuDriverGetVersion. FAKE_DEVICES and
// FAKE_MAJOR are the number of GPUs and their major capability, and FAKE_MEMORY is the size of
// their memory in bytes. FAKE_FAIL=SYMBOL=CODE makes the call SYMBOL return CODE.
#define CUDA_VISIBILITY "default"
#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long setting(const char *name, long otherwise) {
	const char *s = getenv(name);
	return s ? atol(s) : otherwise;
}

static CUresult fails(const char *symbol) {
	const char *s = getenv("FAKE_FAIL");
	size_t n = strlen(symbol);
	return s && !strncmp(s, symbol, n) && s[n] == '=' ? (CUresult)atoi(s + n + 1) : CUDA_SUCCESS;
}

#define TRY do { CUresult r = fails(__func__); if (r) return r; } while (0)

static long taken;
static int current, capturing, recorded;

// BOUND begins a call that needs a context.
#define BOUND do { TRY; if (!current) return CUDA_ERROR_INVALID_CONTEXT; } while (0)

CUresult cuInit(unsigned int flags) { TRY; return (CUresult)setting("FAKE_INIT", 0); }
CUresult cuDriverGetVersion(int *v) { *v = setting("FAKE_VERSION", 13000); return 0; }
CUresult cuGetErrorName(CUresult e, const char **s) { static char b[32]; snprintf(b, sizeof b, "FAKE_%d", e); *s = b; return 0; }
CUresult cuGetErrorString(CUresult e, const char **s) { *s = e == CUDA_ERROR_NO_DEVICE ? "no GPU in the fake" : "a planted failure"; return 0; }
CUresult cuDeviceGetCount(int *n) { TRY; *n = setting("FAKE_DEVICES", 2); return 0; }
CUresult cuDeviceGet(CUdevice *d, int i) { TRY; *d = i; return 0; }
CUresult cuDeviceGetName(char *s, int n, CUdevice d) { TRY; snprintf(s, n, "Fake %d", d); return 0; }
CUresult cuDeviceTotalMem_v2(size_t *n, CUdevice d) { TRY; *n = setting("FAKE_MEMORY", 1 << 30); return 0; }
CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice d) {
	TRY;
	switch (a) {
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *v = setting("FAKE_MAJOR", 9); return 0;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *v = 0; return 0;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *v = 3; return 0;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *v = 100 << 10; return 0;
	}
	return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) { TRY; *c = (CUcontext)(uintptr_t)(d + 1); return 0; }
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d) { TRY; return 0; }
CUresult cuCtxSetCurrent(CUcontext c) { TRY; current = (int)(uintptr_t)c; return 0; }
CUresult cuCtxSynchronize(void) { BOUND; return 0; }
CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
	BOUND;
	*total = setting("FAKE_MEMORY", 1 << 30);
	*free = *total - taken;
	return 0;
}

// An allocation begins with its size.
CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n) {
	BOUND;
	size_t *at;
	if (n == 0) return CUDA_ERROR_INVALID_VALUE;
	if (taken + (long)n > setting("FAKE_MEMORY", 1 << 30) || !(at = malloc(n + 16))) return CUDA_ERROR_OUT_OF_MEMORY;
	*at = n;
	taken += n;
	*p = (CUdeviceptr)(uintptr_t)(at + 2);
	return 0;
}
// The call fails for memory that was not overwritten.
CUresult cuMemFree_v2(CUdeviceptr p) {
	BOUND;
	size_t *at = (size_t *)(uintptr_t)p - 2;
	for (size_t i = 0; i < *at; i++) {
		if (((char *)(at + 2))[i]) return CUDA_ERROR_INVALID_VALUE;
	}
	taken -= *at;
	free(at);
	return 0;
}
CUresult cuMemHostAlloc(void **p, size_t n, unsigned int flags) { BOUND; *p = malloc(n); return 0; }
CUresult cuMemFreeHost(void *p) { BOUND; free(p); return 0; }
CUresult cuMemcpyHtoD_v2(CUdeviceptr d, const void *s, size_t n) { BOUND; memcpy((void *)(uintptr_t)d, s, n); return 0; }
CUresult cuMemcpyDtoH_v2(void *d, CUdeviceptr s, size_t n) { BOUND; memcpy(d, (void *)(uintptr_t)s, n); return 0; }
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void *s, size_t n, CUstream q) { BOUND; memcpy((void *)(uintptr_t)d, s, n); return 0; }
CUresult cuMemcpyDtoHAsync_v2(void *d, CUdeviceptr s, size_t n, CUstream q) { BOUND; memcpy(d, (void *)(uintptr_t)s, n); return 0; }
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr d, CUdeviceptr s, size_t n, CUstream q) { BOUND; memcpy((void *)(uintptr_t)d, (void *)(uintptr_t)s, n); return 0; }
CUresult cuMemsetD8_v2(CUdeviceptr d, unsigned char v, size_t n) { BOUND; memset((void *)(uintptr_t)d, v, n); return 0; }

// The kernel "add" of a module adds its second argument, a double, to the number at its first
// argument.
static double *target;
static double summand;
CUresult cuModuleLoadDataEx(CUmodule *m, const void *image, unsigned int n, CUjit_option *options, void **values) {
	BOUND;
	if (strstr(image, "broken")) {
		if (n == 2 && options[0] == CU_JIT_ERROR_LOG_BUFFER) snprintf(values[0], (size_t)values[1], "line 1: broken");
		return CUDA_ERROR_INVALID_PTX;
	}
	*m = (CUmodule)1;
	return 0;
}
CUresult cuModuleUnload(CUmodule m) { BOUND; return 0; }
CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name) {
	BOUND;
	*f = (CUfunction)1;
	return strcmp(name, "add") ? CUDA_ERROR_NOT_FOUND : 0;
}
CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v) { BOUND; return v > 100 << 10 ? CUDA_ERROR_INVALID_VALUE : 0; }
CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by, unsigned int bz,
	unsigned int shared, CUstream s, void **p, void **extra) {
	BOUND;
	if (!gx || !gy || !gz || !bx || !by || !bz) return CUDA_ERROR_INVALID_VALUE;
	memcpy(&target, p[0], 8);
	memcpy(&summand, p[1], 8);
	if (capturing) recorded++;
	else *target += summand;
	return 0;
}

CUresult cuStreamCreate(CUstream *s, unsigned int flags) { BOUND; *s = (CUstream)1; return 0; }
CUresult cuStreamDestroy_v2(CUstream s) { BOUND; return 0; }
CUresult cuStreamSynchronize(CUstream s) { BOUND; return 0; }
CUresult cuEventCreate(CUevent *e, unsigned int flags) { BOUND; *e = (CUevent)1; return 0; }
CUresult cuEventRecord(CUevent e, CUstream s) { BOUND; return 0; }
CUresult cuEventSynchronize(CUevent e) { BOUND; return 0; }
CUresult cuEventElapsedTime(float *ms, CUevent a, CUevent b) { BOUND; *ms = 2; return 0; }
CUresult cuEventDestroy_v2(CUevent e) { BOUND; return 0; }

// A graph repeats the last recorded launch as many times as launches were recorded.
CUresult cuStreamBeginCapture_v2(CUstream s, CUstreamCaptureMode mode) { BOUND; capturing = 1; recorded = 0; return 0; }
CUresult cuStreamEndCapture(CUstream s, CUgraph *g) { BOUND; capturing = 0; *g = (CUgraph)1; return 0; }
CUresult cuGraphDestroy(CUgraph g) { BOUND; return 0; }
CUresult cuGraphInstantiateWithFlags(CUgraphExec *x, CUgraph g, unsigned long long flags) { BOUND; *x = (CUgraphExec)1; return 0; }
CUresult cuGraphLaunch(CUgraphExec x, CUstream s) { BOUND; *target += recorded * summand; return 0; }
CUresult cuGraphExecDestroy(CUgraphExec x) { BOUND; return 0; }
