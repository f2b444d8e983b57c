package coordinator

import (
	"sync"

	"fedpvi/transport"
)

// What a cache holds, besides its newest entry.
const (
	cacheBytes   = 8 << 20
	cacheEntries = 64
)

// A cache holds the newest entries of a transcript, which all clients ask for at once.
type cache struct {
	mu    sync.Mutex
	items map[uint64]transport.Item
	first uint64 // the oldest one held; 0 if there is none
	bytes int
}

func newCache() *cache { return &cache{items: map[uint64]transport.Item{}} }

// put takes an entry, the one after the last that was put.
func (c *cache) put(number uint64, i transport.Item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.items[number] = i
	c.bytes += len(i.Envelope) + len(i.Body)
	if c.first == 0 {
		c.first = number
	}
	for ; (c.bytes > cacheBytes || number-c.first > cacheEntries) && c.first < number; c.first++ {
		old := c.items[c.first]
		c.bytes -= len(old.Envelope) + len(old.Body)
		delete(c.items, c.first)
	}
}

func (c *cache) get(number uint64) (transport.Item, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, ok := c.items[number]
	return i, ok
}
