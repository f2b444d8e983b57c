//go:build !amd64

package stream

const hasLanes = false

func newLanes(*[KeySize]byte) generator { panic("stream: no lanes") } // unreachable

func decodeLanes([]uint64, []byte) int { return 0 }
