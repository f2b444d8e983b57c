package pages

import (
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"

	"fedpvi/client"
	"fedpvi/internal/web"
)

type reviewed struct {
	*client.Review
	Parts    []client.Section
	Datasets []string // the policy's data sets, if there are several
	Dataset  string   // data set that was reviewed; empty for the default
	Policy   string   // hash of the policy; empty if there is no policy
	Stands   string
	Result   template.HTML // result of the study; empty if there is no result
	Open     bool          // whether the data holder can approve or refuse the study
	Awaited  bool
}

func (p *Pages) review(r *http.Request) (*web.Page, error) {
	m, err := p.one(r)
	if err != nil {
		return nil, err
	}
	policy, err := p.policy()
	if err != nil {
		return nil, err
	}
	v := &reviewed{Dataset: r.URL.Query().Get("dataset")}
	if v.Stands, err = p.c.Client.Standing(m, policy); err != nil {
		return nil, err
	}
	if policy != nil {
		v.Policy = policy.Hash.String()
		if len(policy.Datasets) > 1 {
			v.Datasets = slices.Sorted(maps.Keys(policy.Datasets))
		}
	}
	if v.Result, err = p.result(m); err != nil {
		return nil, err
	}
	if v.Review, err = p.reviewOf(m, policy, v); err != nil {
		return nil, err
	}
	v.Parts = v.Sections()
	p.mu.Lock()
	v.Open, v.Awaited = v.Stands == client.Undecided && !p.running, p.awaited == m.Hash
	p.mu.Unlock()
	return &web.Page{Title: m.Study.Name, Name: "study", Of: v}, nil
}

// reviewOf returns the review of a study. It keeps the last review, because making one takes a
// while.
func (p *Pages) reviewOf(m *client.Member, policy *client.Policy, v *reviewed) (*client.Review, error) {
	sequence, _ := p.c.Client.Store().Head()
	members, err := p.c.Client.Roster(m, policy)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintln(m.Hash, v.Dataset, v.Policy, v.Stands, sequence, members.Version)
	p.busy.Lock()
	defer p.busy.Unlock()
	if known := p.reviews[key]; known != nil {
		return known, nil
	}
	review, err := p.c.Client.Review(m, policy, v.Dataset)
	if err != nil {
		return nil, err
	}
	clear(p.reviews)
	p.reviews[key] = review
	return review, nil
}

// approve does the same as the command client approve. The form has the digest of the study and the
// hash of the policy, as shown on the page.
func (p *Pages) approve(r *http.Request) (next string, err error) {
	return p.decided(r, func(m *client.Member) error {
		policy, err := p.c.Policy()
		if err != nil {
			return err
		}
		switch digest := r.PostForm.Get("digest"); {
		case digest == "":
			return errors.New("the study was not approved: tick that you have read the review")
		case digest != m.Hash.String():
			return &web.Error{Status: http.StatusConflict, Err: errors.New("the form is for another study than the page: read the review again")}
		case r.PostForm.Get("policy") != policy.Hash.String():
			return &web.Error{Status: http.StatusConflict, Err: errors.New("the policy has changed since the review was shown: read the review again")}
		default:
			return p.c.Approve(m, policy, r.PostForm.Get("dataset"), digest)
		}
	})
}

// refuse leaves a study for good, like the command client leave does.
func (p *Pages) refuse(r *http.Request) (next string, err error) {
	return p.decided(r, func(m *client.Member) error {
		if r.PostForm.Get("digest") != m.Hash.String() {
			return errors.New("the study was not refused: tick that the client cannot come back")
		}
		reason := strings.TrimSpace(r.PostForm.Get("reason"))
		if reason == "" {
			return errors.New("the study was not refused: give a reason for the coordinator")
		}
		err := p.c.Leave(r.Context(), m, reason)
		if err == nil {
			return nil
		}
		if stands, e := p.c.Client.Standing(m, nil); e != nil || stands != client.Left {
			return errors.Join(err, e)
		}
		return fmt.Errorf("the client has left the study, but the coordinator was not told: run client leave again (%w)", err)
	})
}

// decided calls f with the study that a form belongs to, and wakes calls that wait in Decision.
func (p *Pages) decided(r *http.Request, f func(m *client.Member) error) (next string, err error) {
	m, err := p.one(r)
	if err != nil {
		return "", err
	}
	err = p.exclusively(func() error { return f(m) })
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.changed)
	p.changed = make(chan struct{})
	return "/", err
}
