package dpmech

import (
	"crypto/sha256"
	"encoding/binary"

	"fedpvi/dpmech/internal/stream"
)

// A Round names one round of one run, publicly: the digest of its signed plan.
type Round [32]byte

// A LayerSeed is the secret from which one removable layer of one client's noise
// follows. A client's come from its [Stream]; a coordinator reads them from the
// messages of survivors.
type LayerSeed [32]byte

// A LayerCommitment binds a client to the seed of a layer before anybody knows who
// drops out, and tells nothing else of it.
type LayerCommitment [32]byte

// A layer is which layer of whose noise.
type layer struct {
	round         Round
	client, index int
}

func newLayerSeed(src *Stream) LayerSeed {
	var seed LayerSeed
	for i := 0; i < len(seed); i += 8 {
		binary.LittleEndian.PutUint64(seed[i:], src.Uint64())
	}
	return seed
}

// commit returns the commitment to a layer's seed.
func (l layer) commit(seed *LayerSeed) LayerCommitment {
	return l.digest("fedpvi/layer/commitment/v1", seed)
}

// rekey makes s the stream of a layer's noise. It is unexported: a seed that
// someone chose makes noise only to be removed.
func (l layer) rekey(s *Stream, seed *LayerSeed) {
	stream.Rekey(s, l.noiseKey(seed))
}

// noiseKey is secret, unlike the commitment to the same seed.
func (l layer) noiseKey(seed *LayerSeed) [stream.KeySize]byte {
	return l.digest("fedpvi/layer/noise/v1", seed)
}

func (l layer) digest(purpose string, seed *LayerSeed) [sha256.Size]byte {
	var space [128]byte
	b := append(space[:0], purpose...)
	b = append(b, 0)
	b = append(b, l.round[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(l.client))
	b = binary.LittleEndian.AppendUint64(b, uint64(l.index))
	b = append(b, seed[:]...)
	digest := sha256.Sum256(b)
	clear(b)
	return digest
}
