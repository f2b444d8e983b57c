package cuda

// A Launcher runs a kernel, as [Device.Launch] does.
type Launcher = func(kernel string, blocks, threads, shared int, arguments ...uint64) error

// A Recorder is a device that repeats launches faster than it makes them one by one.
type Recorder interface {
	// Record returns what plays, so many times, the launches that work makes, and what
	// forgets them. work may be called any number of times, and makes the same launches.
	Record(work func(Launcher) error) (play func(times int) error, forget func() error, err error)
}

// record has the device record work, or makes its launches one by one.
func record(d Device, work func(Launcher) error) (play func(times int) error, forget func() error, err error) {
	if r, ok := d.(Recorder); ok {
		return r.Record(work)
	}
	play = func(times int) error {
		for range times {
			if err := work(d.Launch); err != nil {
				return err
			}
		}
		return nil
	}
	return play, func() error { return nil }, nil
}
