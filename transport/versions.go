package transport

import "fmt"

// These are the lowest and the highest protocol version that the program supports. It also supports
// the previous version, so that client and coordinator can be updated one after the other.
const (
	MinVersion = 1
	MaxVersion = 2 // version 2 adds Pieces and Confirm, for studies with secure aggregation
)

// versions is a range of protocol versions from lowest to highest, both inclusive.
type versions struct{ lowest, highest uint32 }

var ours = versions{MinVersion, MaxVersion}

func (v versions) has(one uint32) bool { return v.lowest <= one && one <= v.highest }

func (v versions) String() string {
	if v.lowest == v.highest {
		return fmt.Sprintf("protocol version %d", v.lowest)
	}
	return fmt.Sprintf("protocol versions %d to %d", v.lowest, v.highest)
}

// agree returns the highest protocol version that both sides support. If there is none, it returns
// an error.
func agree(coordinator, client versions) (uint32, error) {
	common := min(coordinator.highest, client.highest)
	if client.lowest == 0 || client.lowest > client.highest {
		return 0, &Refusal{Malformed, "the range of protocol versions is not valid"}
	}
	if coordinator.has(common) && client.has(common) {
		return common, nil
	}
	older := "client"
	if client.lowest > coordinator.highest {
		older = "coordinator"
	}
	return 0, &Refusal{Version, fmt.Sprintf("the client speaks %v, the coordinator %v: update the %s", client, coordinator, older)}
}
