//go:build cuda

package driver

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMain lets the test program start itself as a new process with a different CUDA library,
// because a process opens the library only once.
func TestMain(m *testing.M) {
	switch os.Getenv("DRIVER_TEST") {
	case "":
		os.Exit(m.Run())
	case "find":
		version, found, err := Find()
		if err != nil {
			fail(err)
		}
		fmt.Println(version, len(found), found[0].Name, found[0].Unfit)
	case "work":
		if err := work(); err != nil {
			fail(err)
		}
		fmt.Println("done")
	}
	os.Exit(0)
}

func fail(err error) {
	var own *Error
	if !errors.As(err, &own) {
		fmt.Print("no *Error: ")
	}
	for _, reason := range []error{ErrNoDriver, ErrNoDevice, ErrOld, ErrMemory} {
		if errors.Is(err, reason) {
			fmt.Printf("[%v] ", reason)
		}
	}
	fmt.Println(err)
	os.Exit(3)
}

// work calls the functions of the package one after another, as a program would. It returns an
// error if a result is wrong.
func work() (err error) {
	d, err := Open(1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	free, err := d.Free()
	if err != nil {
		return err
	}
	a, err := d.Alloc(16)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, a.Free())
		if left, e := d.Free(); e == nil && err == nil && left != free {
			err = fmt.Errorf("%d bytes were not given back", free-left)
		}
	}()
	b, err := d.Alloc(16)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Free()) }()
	p, err := d.Pin(16)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Free()) }()
	s, err := d.Stream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	m, err := d.Load("a module")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Unload()) }()
	add, err := m.Kernel("add", 64<<10)
	if err != nil {
		return err
	}
	launch := func() error { return s.Launch(add, Shape{}, a.Argument(), math.Float64bits(2)) }
	seconds := 0.0
	var graph *Graph
	machine, err := Start(1, "a module")
	if err != nil {
		return err
	}
	got, words := make([]float64, 2), []uint64{math.Float64bits(1), 7}
	var at uint64
	steps := []func() error{
		a.Zero,
		func() error { return Set(a, []float64{1, 5}) },
		launch,
		func() error { seconds, err = s.Time(launch); return err },
		func() error {
			graph, err = s.Capture(func() error { return errors.Join(launch(), launch()) })
			return err
		},
		func() error { return graph.Launch() },
		func() error { return graph.Close() },
		s.Wait, d.Synchronize,
		func() error { return s.Copy(b, a) },
		func() error { return s.Download(p, b) },
		func() error { return s.Upload(a, p) },
		func() error { return Get(got, a) },
		func() error { at, err = machine.Alloc(16); return err },
		func() error { return machine.Write(at, words) },
		func() error { return machine.Launch("add", 1, 1, 64<<10, at, math.Float64bits(2)) },
		func() error { return machine.Launch("add", 1, 1, 0, at, math.Float64bits(3)) },
		func() error { return machine.Read(words, at) },
		func() error { return machine.Free(at) },
		func() error { _, err := machine.Alloc(16); return err },
		machine.Close, // Close must free the memory that is still allocated
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	if got[0] != 1+2+2+4 || got[1] != 5 || seconds != 0.002 {
		return fmt.Errorf("got %v in %v s", got, seconds)
	}
	if words[0] != math.Float64bits(1+2+3) || words[1] != 7 || machine.Name() != "cuda:1 (Fake 1)" {
		return fmt.Errorf("%s computes %v", machine.Name(), words)
	}
	if err := machine.Free(at); err == nil {
		return errors.New("the same memory was freed twice")
	}
	return nil
}

// fake builds the fake library and returns its folder.
func fake(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("gcc", "-shared", "-fPIC", "-w", "-Iinclude", "-o", filepath.Join(dir, "libcuda.so.1"), "-x", "c", "-")
	build.Stdin = strings.NewReader(source)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the C compiler that builds this package: %v\n%s", err, out)
	}
	return dir
}

func source(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/fake.c")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// play starts this test program as a new process. The process uses the CUDA library in dir and does
// the work that the argument selects. play returns its output and exit status.
func play(t *testing.T, what, dir string, settings ...string) (string, int) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(append(os.Environ(), "DRIVER_TEST="+what, "LD_LIBRARY_PATH="+dir), settings...)
	out, err := c.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out)), c.ProcessState.ExitCode()
}

// If a part of CUDA is missing, the program must start. Its error must say which part is missing,
// where it was expected, and how to get it.
func TestMissingDriver(t *testing.T) {
	good, empty := fake(t, source(t)), fake(t, "int nothing;")
	for _, c := range []struct {
		name, dir, set string
		want           []string
	}{
		{"all there", good, "", nil},
		{"no calls", empty, "", []string{"[no CUDA driver]", "cuda: start the driver", "no cuInit"}},
		{"no GPU", good, "FAKE_INIT=100", []string{"[no CUDA device]", "cuda: look for GPUs", "CUDA_VISIBLE_DEVICES"}},
		{"no GPU listed", good, "FAKE_DEVICES=0", []string{"[no CUDA device]"}},
		{"mismatch", good, "FAKE_INIT=803", []string{"[no CUDA driver]", "a planted failure", "restart"}},
		{"old driver", good, "FAKE_VERSION=11020", []string{"[too old]", "CUDA 11.2", "11.4", "470"}},
		{"no name", good, "FAKE_FAIL=cuDeviceGetName=999", []string{"cuda:0: read its properties"}},
	} {
		out, code := play(t, "find", c.dir, c.set)
		if c.want == nil {
			if out != "13.0 2 Fake 0 <nil>" || code != 0 {
				t.Errorf("%s: got %q, %d", c.name, out, code)
			}
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(out, want) || code != 3 {
				t.Errorf("%s: got %q, %d: want %q", c.name, out, code, want)
			}
		}
	}
}

func TestNoLibrary(t *testing.T) {
	out, code := play(t, "find", t.TempDir())
	if code == 0 {
		t.Skip("this machine has a driver")
	}
	for _, want := range []string{"[no CUDA driver]", "libcuda.so.1", "install"} {
		if !strings.Contains(out, want) {
			t.Errorf("got %q, want %q", out, want)
		}
	}
}

func TestWork(t *testing.T) {
	dir := fake(t, source(t))
	for _, c := range []struct {
		set  string
		want []string
	}{
		{"", []string{"done"}},
		{"FAKE_DEVICES=1", []string{"[no CUDA device]", "cuda:1", "the driver sees 1"}},
		{"FAKE_MAJOR=7", []string{"[too old]", "cuda:1", "7.0", "7.5"}},
		{"FAKE_MEMORY=20", []string{"[not enough memory on the GPU]", "cuda:1: take memory", "nvidia-smi", "--device cpu"}},
		{"FAKE_FAIL=cuLaunchKernel=700", []string{"cuda:1: launch kernel add", "a planted failure (FAKE_700)", "report it"}},
		{"FAKE_FAIL=cuModuleLoadDataEx=222", []string{"cuda:1: compile the kernels", "newer"}},
	} {
		out, _ := play(t, "work", dir, c.set)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: got %q, want %q", c.set, out, want)
			}
		}
	}
}

// The test makes each function of the fake library fail in turn. The package must call every
// function and return the error. Functions that only describe errors do not count.
func TestEveryCallIsChecked(t *testing.T) {
	text := source(t)
	dir := fake(t, text)
	calls := regexp.MustCompile(`(?m)^CUresult (cu\w+)\(`).FindAllStringSubmatch(text, -1)
	if len(calls) < 40 {
		t.Fatalf("%d calls are not all", len(calls))
	}
	for _, c := range calls {
		switch c[1] {
		case "cuGetErrorName", "cuGetErrorString", "cuDriverGetVersion": // functions that describe errors
			continue
		}
		out, code := play(t, "work", dir, "FAKE_FAIL="+c[1]+"=719")
		if code != 3 || strings.Contains(out, "no *Error") || !strings.Contains(out, "a planted failure") || !strings.HasPrefix(strings.TrimPrefix(out, "["+ErrNoDriver.Error()+"] "), "cuda") {
			t.Errorf("%s failed: %d, %q", c[1], code, out)
		}
	}
}
