//go:build cuda

package header

/*
#if !__has_include(<cuda.h>)
#error "no cuda.h for gorgonia.org/cu: build with make cuda, or with the CGO_CFLAGS and CGO_LDFLAGS that docs/use/gpu.md says. Neither a toolkit nor a GPU is needed"
#endif
*/
import "C"
