package main

import "fedpvi/coordinator/admin"

type revokeCommand struct {
	jsonFlag
	Client string `arg:"" help:"Name of the client." placeholder:"NAME"`
	Study  string `help:"Name of the study, or the first digits of its digest. Default: the only one." placeholder:"STUDY"`
	Why    string `help:"Reason for all clients, one line. It is signed into the roster." required:"" placeholder:"TEXT"`
}

func (revokeCommand) Help() string {
	return `Examples:

  coordinator revoke north --why "its laptop was stolen"
  coordinator revoke north --why "somebody else used its invitation"

The keys of the client become invalid at once: its connections are closed, and no message with these
keys is accepted. In a study that has begun, the client counts as missing from then on, and the next
version of the roster tells all clients why. Before a study begins, the client is removed, and
coordinator invite can invite it again.

A client whose keys nobody else has can make new ones instead: client rotate. To leave out a client
whose keys are not stolen, use coordinator exclude.`
}

func (c *revokeCommand) Run(e *environment) error {
	names, err := parseNames([]string{c.Client})
	if err != nil {
		return err
	}
	return c.give(e, c.Study, func(api admin.API) error { return api.Revoke(e.ctx, c.Study, names[0], c.Why) })
}

type rotateCommand struct {
	studyArg
	jsonFlag
}

func (rotateCommand) Help() string {
	return `Examples:

  coordinator rotate
  coordinator rotate blood-pressure --json

The coordinator gets a new identity, a new key for connections, a new key that opens answers, and a
new key of the authority, in one study. Its previous identity signs them, so clients accept them
without an action of their people, even if they are not connected now. In a study that has begun,
the new keys are valid from the end of the open rounds. Before a study begins, clients consent again
when they connect, and earlier invitations are no longer valid: make new ones with coordinator
invite.

Certificates need no rotation: the coordinator renews its own and those of the clients.`
}

func (c *rotateCommand) Run(e *environment) error {
	return c.give(e, c.Study, func(api admin.API) error { return api.Rotate(e.ctx, c.Study) })
}
