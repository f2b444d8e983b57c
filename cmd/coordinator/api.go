package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"fedpvi/coordinator"
	"fedpvi/coordinator/admin"
	"fedpvi/coordinator/daemon"
	"fedpvi/coordinator/store"
	"fedpvi/internal/audit"
	"fedpvi/internal/audit/collector"
)

// api connects to the coordinator that runs on the state directory. If there is none, it opens the
// directory itself. The caller must call done.
func (e *environment) api() (api admin.API, done func() error, err error) {
	remote, err := admin.Dial(e.ctx, e.state)
	if err == nil {
		return remote, func() error { return nil }, nil
	}
	if !errors.Is(err, admin.ErrNoServer) {
		return nil, nil, err
	}
	destinations, others, err := collector.Open(e.ctx, daemon.Name, e.audit)
	if err != nil {
		return nil, nil, err
	}
	log, err := audit.Open(destinations, audit.Options{Program: daemon.Name, Others: others, Wrote: func(err error) {
		if err != nil {
			fmt.Fprintf(os.Stderr, "coordinator: a line of the audit log was lost: %v\n", err)
		}
	}})
	if err != nil {
		return nil, nil, err
	}
	hub, err := coordinator.Open(e.state, coordinator.Options{Audit: log, Unlock: e.unlock})
	if err != nil {
		return nil, nil, errors.Join(err, log.Close())
	}
	done = func() error { return errors.Join(hub.Close(), log.Close()) }
	return admin.Local{Hub: hub, Log: log}, done, nil
}

// founded returns an error if the state directory has no study, or if this user may not read it.
func (e *environment) founded() error {
	_, err := os.Stat(store.Path(e.state))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no study in %s: create one with coordinator init STUDY, or choose the state directory with --state", e.state)
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("this user may not read %s: run the command as the user of the coordinator, as in sudo -u USER coordinator status", e.state)
	}
	return err
}

// next returns a command line that a message can suggest as the next step. It has the state
// directory if this command line has it.
func (e *environment) next(command string) string {
	if e.chosen == "" {
		return "coordinator " + command
	}
	return "coordinator --state " + e.chosen + " " + command
}

// with opens the coordinator's API, calls f with it, and closes it again. If there is no state
// directory, it returns an error.
func (e *environment) with(f func(admin.API) error) (err error) {
	if err := e.founded(); err != nil {
		return err
	}
	api, done, err := e.api()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	return f(api)
}

// one returns the status of the study with the given name. If the name is empty, there must be only
// one study.
func (e *environment) one(api admin.API, study string) (coordinator.Status, error) {
	all, err := api.Status(e.ctx, study)
	if err != nil {
		return coordinator.Status{}, err
	}
	if len(all) != 1 {
		return coordinator.Status{}, fmt.Errorf("there are %d studies: choose one", len(all))
	}
	return all[0], nil
}

type studyArg struct {
	Study string `arg:"" optional:"" help:"Name of the study, or the first digits of its digest. Default: the only one."`
}

type jsonFlag struct {
	JSON bool `name:"json" help:"Print JSON."`
}
