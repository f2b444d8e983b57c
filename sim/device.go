package sim

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"fedpvi/dpmech"
	"fedpvi/gpu/cuda"
	"fedpvi/gpu/device"
	"fedpvi/pvi/solver"
)

// UseDevices has devices take the private gradient steps of all clients, in turn: those of
// all who take part in a round by one launch on each. It
// calls failed when one cannot ([solver.Accelerator]). They draw batches themselves, by the
// Feistel network: a simulation protects nobody. What the study costs is the same; the
// same seed has other noise than on the processor.
func (f *Federation) UseDevices(devices []device.Device, failed func(error) error) error {
	if len(devices) == 0 {
		return nil
	}
	if f.gathering == nil {
		f.gathering = new(cuda.Gathering)
	}
	for m, site := range f.Sites {
		a := solver.Accelerator{Device: devices[m%len(devices)], Selection: dpmech.Feistel, Gathering: f.gathering, Failed: failed}
		if err := site.OnDevice(f.Shards[m], a); err != nil {
			return fmt.Errorf("client %s: %w", site.ID(), err)
		}
	}
	return nil
}

// Devices are what may compute, taken into use when the first study comes that they take.
// Methods may be called from several goroutines at once.
type Devices struct {
	source device.Source
	say    func(string)
	mutex  sync.Mutex
	taken  []device.Device
	asked  bool
	told   map[string]bool

	gathering cuda.Gathering // of the clients of all federations
}

// NewDevices returns devices from a source. What people should know goes to say, each
// line once.
func NewDevices(from device.Source, say func(string)) *Devices {
	return &Devices{source: from, say: say, told: map[string]bool{}}
}

// Close gives all of them back.
func (d *Devices) Close() error { return device.Close(d.taken) }

func (d *Devices) tell(line string) {
	if !d.told[line] {
		d.told[line] = true
		d.say(line)
	}
}

// Use has the devices take the steps of a federation, from the one with the given number
// on, if they can. Where they are demanded and cannot that is an error.
func (d *Devices) Use(f *Federation, first int) error {
	if d.none() {
		return nil
	}
	devices, err := d.For(f.Protocol.OnDevice())
	if err != nil || len(devices) == 0 {
		return err
	}
	first %= len(devices)
	turned := append(slices.Clone(devices[first:]), devices[:first]...)
	f.computedOn = names(turned[:min(len(turned), len(f.Sites))])
	f.gathering = &d.gathering
	return f.UseDevices(turned, d.Failed)
}

// none reports whether nobody asks for devices.
func (d *Devices) none() bool {
	return d.source == device.Source(device.CPU) || d.source == device.Source(device.Auto) && !device.Built
}

// For returns the devices for some work, none for the processor. why says what keeps it from
// all devices, nil if nothing does; where they are demanded that is an error.
func (d *Devices) For(why error) ([]device.Device, error) {
	if d.none() {
		return nil, nil
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if why != nil {
		if d.source.Demanded() {
			return nil, fmt.Errorf("--device %v: %w", d.source, why)
		}
		d.tell("computing on the processor: " + why.Error())
		return nil, nil
	}
	if d.asked {
		return d.taken, nil
	}
	d.asked = true
	taken, notice, err := d.source.Take()
	if err != nil {
		return nil, fmt.Errorf("--device %v: %w", d.source, err)
	}
	d.taken = taken
	line := "computing on " + names(taken)
	if notice != nil {
		line += ": " + strings.ReplaceAll(notice.Error(), "\n", "; ")
	}
	d.tell(line)
	return taken, nil
}

// Failed is what becomes of work that a device fails: it goes to the processor if Failed
// returns nil.
func (d *Devices) Failed(err error) error {
	if d.source.Demanded() {
		return err
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.tell("the processor takes over: " + err.Error())
	return nil
}

// names says what computes.
func names(devices []device.Device) string {
	if len(devices) == 0 {
		return "the processor"
	}
	all := make([]string, len(devices))
	for i, d := range devices {
		all[i] = d.Name()
	}
	return strings.Join(all, ", ")
}
