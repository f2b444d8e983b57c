package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/mgr"

	"fedpvi/client"
)

// platform has the commands that exist only on this operating system.
type platform struct {
	Service serviceCommands `cmd:"" help:"Install, remove or run a Windows service that runs client commands."`
}

type serviceCommands struct {
	Install serviceInstall `cmd:"" help:"Install a service that starts with Windows."`
	Remove  serviceRemove  `cmd:"" help:"Remove the service. The state directory stays."`
	Run     serviceRun     `cmd:"" help:"Run a command line of this program as the service. Windows calls this."`
}

type serviceName struct {
	Name string `help:"Name of the service." default:"fedpvi-client"`
}

type serviceInstall struct {
	serviceName
	LogFile string   `required:"" help:"File to which the service appends its log." type:"path" placeholder:"FILE"`
	Args    []string `arg:"" passthrough:"" help:"Command line of the service after --, such as run --data C:\\data\\records.csv."`
}

func (serviceInstall) Help() string {
	return `Example, as administrator:

  client service install --log-file C:\fedpvi\client.log -- --state C:\fedpvi\state run --data C:\data\records.csv
  sc start fedpvi-client

The service runs as LocalSystem. Give it another account with sc config; that account then needs
access to the state directory, the records and the log file. Windows restarts the service if it
crashes, but not if it ends with an exit code, because some exit codes need a person.`
}

// Run installs the service. It uses absolute paths, because Windows starts the service in another
// working directory.
func (s *serviceInstall) Run() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	args := s.Args
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return &client.UsageError{Err: errors.New("give the command line of the service after --")}
	}
	m, err := mgr.Connect()
	if err != nil {
		return fmt.Errorf("connecting to the service manager, as administrator: %w", err)
	}
	defer m.Disconnect()
	service, err := m.CreateService(s.Name, program, mgr.Config{
		StartType: mgr.StartAutomatic, DelayedAutoStart: true,
		DisplayName: "fedpvi client", Description: "Takes part in federated, differentially private studies.",
	}, append([]string{"service", "run", "--name", s.Name, "--log-file", s.LogFile, "--"}, args...)...)
	if err != nil {
		return fmt.Errorf("installing the service %s: %w", s.Name, err)
	}
	defer service.Close()
	again := mgr.RecoveryAction{Type: mgr.ServiceRestart, Delay: time.Minute}
	if err := service.SetRecoveryActions([]mgr.RecoveryAction{again, again, again}, 24*60*60); err != nil {
		return fmt.Errorf("setting the restarts of the service %s: %w", s.Name, err)
	}
	fmt.Printf("Installed: %s. Next: sc start %s\n", s.Name, s.Name)
	return nil
}

type serviceRemove struct{ serviceName }

// Run removes the service. If the service is running, Windows removes it after it has stopped.
func (s *serviceRemove) Run() error {
	m, err := mgr.Connect()
	if err != nil {
		return fmt.Errorf("connecting to the service manager, as administrator: %w", err)
	}
	defer m.Disconnect()
	service, err := m.OpenService(s.Name)
	if err != nil {
		return fmt.Errorf("opening the service %s: %w", s.Name, err)
	}
	defer service.Close()
	return service.Delete()
}

type serviceRun struct {
	serviceName
	LogFile string   `required:"" help:"File to which the service appends its log." type:"path" placeholder:"FILE"`
	Args    []string `arg:"" passthrough:"" help:"Command line of the service."`
}

// Run runs the given command as a Windows service and returns when the command ends.
func (s *serviceRun) Run() error {
	log, err := os.OpenFile(filepath.Clean(s.LogFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	os.Stdout, os.Stderr = log, log // a service has no console
	args := s.Args
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	return svc.Run(s.Name, handler(args))
}

// A handler is a command line that Windows runs as a service.
type handler []string

// Execute runs the command line and returns its exit code. If Windows stops the service, the
// command ends in the same way as after a signal, and Execute returns 0.
func (h handler) Execute(_ []string, orders <-chan svc.ChangeRequest, status chan<- svc.Status) (specific bool, code uint32) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan int, 1)
	go func() { ended <- runUntil(ctx, h) }()
	status <- svc.Status{State: svc.Running, Accepts: svc.AcceptStop | svc.AcceptShutdown}
	stopped := false
	for {
		select {
		case code := <-ended:
			if stopped && code == client.Interrupted {
				code = client.OK
			}
			return code != client.OK, uint32(code)
		case order := <-orders:
			switch order.Cmd {
			case svc.Interrogate:
				status <- order.CurrentStatus
			case svc.Stop, svc.Shutdown:
				stopped = true
				status <- svc.Status{State: svc.StopPending}
				cancel()
			}
		}
	}
}
