package sim

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"fedpvi/dpmech"
	"fedpvi/gpu/cuda"
	"fedpvi/gpu/device"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// UseDevices makes devices compute the private gradient steps of all clients. The devices hold the
// records until [Federation.Run] returns. failed is called when a device fails (see
// [solver.Accelerator]). Devices draw the batches with a Feistel network, which does not protect
// records and is only for simulations. The stated privacy cost does not change, but the noise
// differs from that of the CPU.
func (f *Federation) UseDevices(devices []device.Device, failed func(error) error) error {
	if len(devices) == 0 {
		return nil
	}
	f.failed = failed
	if f.gathering == nil {
		f.gathering = new(cuda.Gathering)
	}
	for m, site := range f.Sites {
		a := solver.Accelerator{Device: devices[m%len(devices)], Selection: dpmech.Feistel, Gathering: f.gathering, Tables: &f.tables, Failed: failed}
		if err := site.OnDevice(f.Shards[m], a); err != nil {
			return fmt.Errorf("client %s: %w", site.ID(), err)
		}
	}
	return nil
}

// Devices manages the devices that the user allows. It opens them for the first study that can use
// them. It is safe for concurrent use.
type Devices struct {
	source device.Source
	say    func(string)
	mutex  sync.Mutex
	taken  []device.Device
	asked  bool
	told   map[string]bool

	gathering cuda.Gathering // combines the steps of all federations' clients into single launches of a device
	room      cuda.Room      // the records of all federations that are stored on the devices
}

// NewDevices returns the devices of a source. It passes each message for the user to notify, once.
func NewDevices(from device.Source, notify func(string)) *Devices {
	return &Devices{source: from, say: notify, told: map[string]bool{}}
}

// Close releases all devices.
func (d *Devices) Close() error { return device.Close(d.taken) }

func (d *Devices) tell(line string) {
	if !d.told[line] {
		d.told[line] = true
		d.say(line)
	}
}

// Use lets the devices compute the private steps of f if they can. If the user has not chosen a
// device, Use also requires that devices are likely to be faster than the CPU ([cuda.Work.Faster])
// when runs federations run at the same time. The first client uses the device with index first,
// and the next clients use the next devices in turn. Use fails if the user requires a device and
// none can compute the steps.
func (d *Devices) Use(f *Federation, first, runs int) error {
	if d.none() {
		return nil
	}
	why := f.Protocol.OnDevice()
	if cores := runtime.GOMAXPROCS(0); why == nil && d.source == device.Source(device.Auto) && !f.work(min(runs, cores)).Faster(cores) {
		why = cuda.ErrSlower
	}
	devices, err := d.For(why)
	if err != nil || len(devices) == 0 {
		return err
	}
	first %= len(devices)
	turned := append(slices.Clone(devices[first:]), devices[:first]...)
	f.computedOn = names(turned[:min(len(turned), len(f.Sites))])
	f.gathering, f.tables.Room = &d.gathering, &d.room
	return f.UseDevices(turned, d.Failed)
}

// work describes the private steps of f when runs federations of its size compute at the same time.
func (f *Federation) work(runs int) cuda.Work {
	records := 0
	for _, s := range f.Shards {
		records += s.Len()
	}
	w := f.Protocol.Work(records / len(f.Sites))
	w.Visits = runs
	if f.Protocol.Study().Inference.Schedule == study.Synchronous {
		w.Visits *= len(f.Sites)
	}
	return w
}

// none reports whether no device may be used: the user has turned them off, or the program was
// built without them and the user has not asked for one.
func (d *Devices) none() bool {
	return d.source == device.Source(device.CPU) || d.source == device.Source(device.Auto) && !device.Built
}

// For returns the devices for a task, or none if the CPU must compute it. If no device can do the
// task, why is the reason; otherwise it is nil. If the user requires a device, For returns why as
// its error.
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

// Failed handles a device failure. It returns err if the user requires a device. Otherwise it
// returns nil, and the CPU takes over.
func (d *Devices) Failed(err error) error {
	if d.source.Demanded() {
		return err
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.tell("the processor takes over: " + err.Error())
	return nil
}

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
