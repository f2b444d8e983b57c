package coordinator

import (
	"sync"

	"fedpvi/transport"
)

// cacheBytes and cacheEntries limit the size of a cache. The two newest entries are always kept,
// and do not count toward cacheBytes: an outcome and the next plan are published together, and
// every client requests both.
const (
	cacheBytes   = 8 << 20
	cacheEntries = 64
)

// A cache keeps the newest entries of a transcript, because all clients request them at about the
// same time.
type cache struct {
	mu    sync.Mutex
	items map[uint64]transport.Item
	first uint64 // number of the oldest entry; 0 if the cache is empty
	bytes int
}

func newCache() *cache { return &cache{items: map[uint64]transport.Item{}} }

func (c *cache) put(number uint64, i transport.Item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.items[number] = i
	c.bytes += size(i)
	if c.first == 0 {
		c.first = number
	}
	newest := size(i) + size(c.items[number-1])
	for ; c.first+1 < number && (c.bytes-newest > cacheBytes || number-c.first > cacheEntries); c.first++ {
		c.bytes -= size(c.items[c.first])
		delete(c.items, c.first)
	}
}

// size returns how many bytes an entry takes in memory. A long body is on disk and does not count.
func size(i transport.Item) int { return len(i.Envelope) + len(i.Body) }

func (c *cache) get(number uint64) (transport.Item, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, ok := c.items[number]
	return i, ok
}
