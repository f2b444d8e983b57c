package cuda

// Matrix products are computed in tiles of tileRows rows and tileColumns columns. tileBytes is the
// size of the shared memory that a block needs for a tile. The values must equal those in
// product.h.
const (
	tileRows    = 16
	tileColumns = 32
	tileThreads = 256
	tileBytes   = 4 * 128 * (tileRows + 4 + tileColumns + 4)
	noiseBytes  = 8 + 4*8*tileThreads // size in bytes of the list, in shared memory, of noise samples that need more than one word
	rowThreads  = 64
	clipThreads = 128
	clipBytes   = 8 * (2*networkLayers*clipThreads + 1)
)

func tilesOf(n, size int) int { return (n + size - 1) / size }

// launches calls launch for each kernel of a step, in the order in which the kernels must run.
func (n *Network) launches(launch Launcher) (err error) {
	c, layers := &n.cfg, n.cfg.layers()
	try := func(kernel string, blocks, threads, shared int, arguments ...uint64) {
		if err == nil {
			err = launch(kernel, blocks, threads, shared, append([]uint64{n.memory}, arguments...)...)
		}
	}
	product := func(kernel string, layer, columns int) {
		try(kernel, tilesOf(c.Batch, tileRows)*tilesOf(columns, tileColumns), tileThreads, tileBytes, uint64(layer))
	}
	forward := func(layer int) { product("network_forward", layer, layers[layer].Outputs) }
	back := func(layer int) { product("network_back", layer, layers[layer].Inputs-1) }
	try("network_load", c.Batch, rowThreads, 0)
	forward(0)
	forward(1)
	try("network_latent", c.Batch, rowThreads, 0)
	forward(2)
	forward(3)
	back(3)
	back(2)
	back(1)
	update := 0
	for _, l := range layers {
		update += tilesOf(l.Inputs, tileRows) * tilesOf(l.Outputs, tileColumns)
	}
	if c.Private {
		try("network_clip", c.Batch, clipThreads, clipBytes)
		try("network_noise", tilesOf(c.Places(), 8*tileThreads), tileThreads, noiseBytes)
		try("network_update", update, tileThreads, tileBytes)
	} else {
		try("network_update_plainly", update, tileThreads, tileBytes)
	}
	return err
}
