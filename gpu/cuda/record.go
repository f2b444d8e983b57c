package cuda

// A Launcher runs a kernel, as [Device.Launch] does.
type Launcher = func(kernel string, blocks, threads, shared int, arguments ...uint64) error

// A Recorder is a device that can record a sequence of launches and replay it. Replaying is faster
// than launching one by one.
type Recorder interface {
	// Record records the launches that work makes. play makes these launches the given number of
	// times. forget frees the recording. Record may call work more than once, and work must make
	// the same launches each time.
	Record(work func(Launcher) error) (play func(times int) error, forget func() error, err error)
}

// record is like [Recorder.Record], but takes any device. If d is not a Recorder, it records
// nothing, and play calls work each time.
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
