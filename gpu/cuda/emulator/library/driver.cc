// This is a libcuda.so.1 with emulated devices. Programs built for a CUDA driver run the kernels on
// a CPU with it (make test-cuda). A launch is complete when the call returns. EMULATED_ORDER is the
// order of threads, from 0 to 2. EMULATED_DEVICES is the number of devices, one by default.
// EMULATED_TRACE is a file to which every launch adds a line with its device, its kernel and its
// number of blocks.
#define CUDA_VISIBILITY "default"
#include <cuda.h>

#include "../launch.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

constexpr size_t memory_size = (size_t)1 << 32, shared_size = 96 << 10;

// A Work is a call of a kernel with its parameters.
struct Work {
	int kernel;
	unsigned blocks, threads, shared;
	std::vector<unsigned long long> parameters;
};

// The context of a device is its number plus one.
thread_local CUcontext current;
thread_local bool capturing;
thread_local std::vector<Work> captured;

struct Piece {
	size_t bytes;
	CUcontext of;
};
std::mutex memory; // guards in_use and the variables below
std::map<CUdeviceptr, Piece> taken;
std::map<CUcontext, size_t> in_use; // number of allocated bytes, by context

int devices() {
	static const char *n = getenv("EMULATED_DEVICES");
	return n ? atoi(n) : 1;
}

void trace(const Work &w) {
	static const char *path = getenv("EMULATED_TRACE");
	FILE *f = path ? fopen(path, "a") : nullptr;
	if (!f) return;
	fprintf(f, "cuda:%d %s %u\n", (int)(size_t)current - 1, emulator_name(w.kernel), w.blocks);
	fclose(f);
}

CUresult run(Work &w) {
	static const char *order = getenv("EMULATED_ORDER");
	trace(w);
	std::vector<void *> places;
	for (auto &p : w.parameters) places.push_back(&p);
	switch (emulator_launch(w.kernel, w.blocks, w.threads, w.shared, places.data(), order ? atoi(order) : 0)) {
	case EMULATOR_DONE: return CUDA_SUCCESS;
	case EMULATOR_BAD_SHAPE: return CUDA_ERROR_INVALID_VALUE;
	case EMULATOR_NO_MEMORY: return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_ERROR_LAUNCH_FAILED;
}

// Returns whether the n bytes from an address on are inside one allocation on the current device.
bool inside(CUdeviceptr p, size_t n) {
	std::lock_guard<std::mutex> lock(memory);
	auto piece = taken.upper_bound(p);
	if (piece == taken.begin()) return false;
	--piece;
	return piece->second.of == current && p + n <= piece->first + piece->second.bytes;
}

CUresult copy(void *to, const void *from, CUdeviceptr device, size_t n) {
	if (!current) return CUDA_ERROR_INVALID_CONTEXT;
	if (n && !inside(device, n)) return CUDA_ERROR_INVALID_VALUE;
	memcpy(to, from, n);
	return CUDA_SUCCESS;
}

template <class Handle> CUresult give(Handle *h) {
	if (!current) return CUDA_ERROR_INVALID_CONTEXT;
	*h = (Handle)1;
	return CUDA_SUCCESS;
}

CUresult bound() { return current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT; }

} // namespace

extern "C" {

CUresult cuInit(unsigned int) { return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int *v) { *v = 12000; return CUDA_SUCCESS; }
CUresult cuGetErrorName(CUresult e, const char **s) {
	static thread_local char name[32];
	snprintf(name, sizeof name, "EMULATED_%d", (int)e);
	*s = name;
	return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult e, const char **s) {
	*s = e == CUDA_ERROR_LAUNCH_FAILED ? "threads wait for others that do not come, or memory was written that is not theirs" : "refused by the emulated driver";
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *n) { *n = devices(); return CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice *d, int i) { *d = i; return i < 0 || i >= devices() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; }
CUresult cuDeviceGetName(char *s, int n, CUdevice) { snprintf(s, n, "emulated device"); return CUDA_SUCCESS; }
CUresult cuDeviceTotalMem_v2(size_t *n, CUdevice) { *n = memory_size; return CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice) {
	switch ((int)a) {
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *v = 7; return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *v = 5; return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *v = 1; return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *v = shared_size; return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) { *c = (CUcontext)((size_t)d + 1); return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) { return CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext c) { current = c; return CUDA_SUCCESS; }
CUresult cuCtxSynchronize(void) { return bound(); }

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
	std::lock_guard<std::mutex> lock(memory);
	*total = memory_size;
	*free = memory_size - in_use[current];
	return bound();
}
CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n) {
	if (!current) return CUDA_ERROR_INVALID_CONTEXT;
	if (!n) return CUDA_ERROR_INVALID_VALUE;
	std::lock_guard<std::mutex> lock(memory);
	void *at = n > memory_size - in_use[current] ? nullptr : malloc(n);
	if (!at) return CUDA_ERROR_OUT_OF_MEMORY;
	memset(at, 0xa5, n);
	*p = (CUdeviceptr)at;
	taken[*p] = {n, current};
	in_use[current] += n;
	return CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr p) {
	std::lock_guard<std::mutex> lock(memory);
	auto piece = taken.find(p);
	if (piece == taken.end() || piece->second.of != current) return CUDA_ERROR_INVALID_VALUE;
	// Programs must overwrite memory before they free it. Otherwise its next user could read the
	// content.
	const char *at = (const char *)p;
	for (size_t i = 0; i < piece->second.bytes; i++) {
		if (at[i]) return CUDA_ERROR_INVALID_VALUE;
	}
	in_use[current] -= piece->second.bytes;
	taken.erase(piece);
	free((void *)p);
	return bound();
}
CUresult cuMemHostAlloc(void **p, size_t n, unsigned int) { *p = malloc(n); return *p ? bound() : CUDA_ERROR_OUT_OF_MEMORY; }
CUresult cuMemFreeHost(void *p) { free(p); return bound(); }
CUresult cuMemcpyHtoD_v2(CUdeviceptr d, const void *s, size_t n) { return copy((void *)d, s, d, n); }
CUresult cuMemcpyDtoH_v2(void *d, CUdeviceptr s, size_t n) { return copy(d, (void *)s, s, n); }
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void *s, size_t n, CUstream) { return copy((void *)d, s, d, n); }
CUresult cuMemcpyDtoHAsync_v2(void *d, CUdeviceptr s, size_t n, CUstream) { return copy(d, (void *)s, s, n); }
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr d, CUdeviceptr s, size_t n, CUstream) {
	return inside(d, n) ? copy((void *)d, (void *)s, s, n) : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemsetD8_v2(CUdeviceptr d, unsigned char v, size_t n) {
	if (!inside(d, n)) return CUDA_ERROR_INVALID_VALUE;
	memset((void *)d, v, n);
	return bound();
}

// The emulator contains the kernels already. This call only checks that the text names no other
// kernels.
CUresult cuModuleLoadDataEx(CUmodule *m, const void *image, unsigned int, CUjit_option *, void **) {
	static const char entry[] = ".entry ";
	for (const char *at = (const char *)image; (at = strstr(at, entry));) {
		at += sizeof entry - 1;
		if (emulator_find(std::string(at, strcspn(at, "( \n")).c_str()) < 0) return CUDA_ERROR_INVALID_PTX;
	}
	return give(m);
}
CUresult cuModuleUnload(CUmodule) { return bound(); }
CUresult cuModuleGetFunction(CUfunction *f, CUmodule, const char *name) {
	int kernel = emulator_find(name);
	if (kernel < 0) return CUDA_ERROR_NOT_FOUND;
	*f = (CUfunction)(size_t)(kernel + 1);
	return bound();
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int v) { return (size_t)v > shared_size ? CUDA_ERROR_INVALID_VALUE : bound(); }
CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by, unsigned int bz,
	unsigned int shared, CUstream, void **parameters, void **) {
	if (!current) return CUDA_ERROR_INVALID_CONTEXT;
	if (gy != 1 || gz != 1 || by != 1 || bz != 1) return CUDA_ERROR_INVALID_VALUE;
	Work w = {(int)(size_t)f - 1, gx, bx, shared, {}};
	for (int i = 0; i < emulator_parameters(w.kernel); i++) w.parameters.push_back(*(unsigned long long *)parameters[i]);
	if (!capturing) return run(w);
	captured.push_back(w);
	return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *s, unsigned int) { return give(s); }
CUresult cuStreamDestroy_v2(CUstream) { return bound(); }
CUresult cuStreamSynchronize(CUstream) { return bound(); }
CUresult cuEventCreate(CUevent *e, unsigned int) { return give(e); }
CUresult cuEventRecord(CUevent, CUstream) { return bound(); }
CUresult cuEventSynchronize(CUevent) { return bound(); }
CUresult cuEventElapsedTime(float *ms, CUevent, CUevent) { *ms = 0; return bound(); }
CUresult cuEventDestroy_v2(CUevent) { return bound(); }

// Graphs replay launches in order.
CUresult cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode) {
	capturing = true;
	captured.clear();
	return bound();
}
CUresult cuStreamEndCapture(CUstream, CUgraph *g) {
	capturing = false;
	*g = (CUgraph) new std::vector<Work>(captured);
	return bound();
}
CUresult cuGraphDestroy(CUgraph g) { delete (std::vector<Work> *)g; return bound(); }
CUresult cuGraphInstantiateWithFlags(CUgraphExec *x, CUgraph g, unsigned long long) {
	*x = (CUgraphExec) new std::vector<Work>(*(std::vector<Work> *)g);
	return bound();
}
CUresult cuGraphLaunch(CUgraphExec x, CUstream) {
	for (auto &w : *(std::vector<Work> *)x) {
		if (CUresult r = run(w)) return r;
	}
	return bound();
}
CUresult cuGraphExecDestroy(CUgraphExec x) { delete (std::vector<Work> *)x; return bound(); }

} // extern "C"
