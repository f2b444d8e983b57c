package pages

import (
	"net/http"

	"fedpvi/client/ledger"
	"fedpvi/internal/web"
	"fedpvi/pvi/words"
)

// barWidth is the width of a bar that stands for the whole budget, in the picture's units.
const barWidth = 600.

// An account is a data set's budget with bars for the part that was spent.
type account struct {
	ledger.Account
	Spending []spending
	Used     float64 // width of the bar for everything that was spent, on the scale of barWidth
}

// Guess tells how well an observer can guess under this budget (see [words.Guess]).
func (a *account) Guess() string {
	b := a.Budget
	return words.Guess(b.Protects(), b.Adjacency, a.RightGuess())
}

// A spending is the part of a data set's budget that went to one study.
type spending struct {
	ledger.StudySpent
	Name    string // name of the study; if the client has not joined it, the first digits of its digest
	Mine    bool   // whether the study has a page
	X, Wide float64
	Odd     bool
}

func (p *Pages) ledger(*http.Request) (*web.Page, error) {
	all := []account{}
	for _, of := range p.c.Client.Store().Accounts() {
		a := account{Account: of}
		for i, s := range of.Studies {
			next := spending{StudySpent: s, Name: s.Study.String()[:12], X: a.Used, Wide: barWidth * min(1, s.Spent/of.Total), Odd: i%2 == 1}
			for _, m := range p.c.Members {
				if m.Hash == s.Study {
					next.Name, next.Mine = m.Study.Name, true
				}
			}
			a.Used += next.Wide
			a.Spending = append(a.Spending, next)
		}
		all = append(all, a)
	}
	return &web.Page{Title: "Ledger", Name: "ledger", Of: all}, nil
}
