// Command load measures a coordinator with many simple clients, which run in one process and
// connect over loopback with mutual TLS. They join, consent, verify entries and answer with zeros.
// Load reports the duration of rounds, the memory and CPU time of the coordinator's process, and
// the bytes sent over the network. Clients use the same cores as the coordinator, so the durations
// include the clients' time for encryption and signatures.
//
//	load rounds   rounds of many clients
//	load idle     connections that wait
//	load soak     rounds for a long time, and the growth of memory
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
)

type options struct {
	clients, coefficients, rounds, connections, studies int
	lasts                                               time.Duration
	program, dir                                        string
	secure, published                                   bool
}

// federation returns the lines of a study file that select secure aggregation, or "" without it.
// Every sum needs at least four fifths of the clients, and a fifth of them may collude.
func (o options) federation() string {
	if !o.secure {
		return ""
	}
	fewest := o.clients - o.clients/5
	return fmt.Sprintf("aggregation = \"secure\"\nmin_clients = %d\ncolluders = %d", fewest, o.clients/5)
}

// collect is the value of GOGC for this process. With the default value, a process with a thousand
// clients would spend a fifth of its time on garbage collection, far more than clients in separate
// processes do.
const collect = 400

func main() {
	debug.SetGCPercent(collect)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("choose rounds, idle or soak; load rounds --help lists the flags")

func run(ctx context.Context, args []string) (err error) {
	modes := map[string]func(context.Context, options) error{"rounds": rounds, "idle": idle, "soak": soak}
	if len(args) == 0 || modes[args[0]] == nil {
		return errUsage
	}
	var o options
	f := flag.NewFlagSet(args[0], flag.ContinueOnError)
	f.IntVar(&o.clients, "clients", 1000, "clients of the study")
	f.IntVar(&o.coefficients, "coefficients", 1000, "of the model")
	f.IntVar(&o.rounds, "rounds", 30, "rounds of the study")
	f.IntVar(&o.connections, "connections", 1, "that each client has in idle, up to 4")
	f.IntVar(&o.studies, "studies", 1, "in idle, each with so many clients")
	f.DurationVar(&o.lasts, "lasts", 10*time.Minute, "how long soak lasts")
	f.BoolVar(&o.secure, "secure", false, "whether the clients add up securely")
	f.BoolVar(&o.published, "published", false, "whether anyone may read the releases, so that clients sign them")
	f.StringVar(&o.program, "program", "bin/coordinator", "the coordinator's")
	switch err := f.Parse(args[1:]); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	}
	if o.dir, err = os.MkdirTemp("", "load"); err != nil {
		return err
	}
	defer os.RemoveAll(o.dir)
	return modes[args[0]](ctx, o)
}
