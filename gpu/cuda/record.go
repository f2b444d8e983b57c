package cuda

// A Launcher runs a kernel, as [Device.Launch] does.
type Launcher = func(kernel string, blocks, threads, shared int, arguments ...uint64) error

// A Recorder is a device that can replay recorded launches. A replay is faster than separate
// launches.
type Recorder interface {
	// Record records the launches that the function work makes. The result play makes these
	// launches the given number of times. The result forget frees the recording. Record may call
	// the function several times, and the function must make the same launches each time.
	Record(work func(Launcher) error) (play func(times int) error, forget func() error, err error)
}

// record does the same as [Recorder.Record] for any device. If d cannot record, the result play
// calls the function work each time.
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
