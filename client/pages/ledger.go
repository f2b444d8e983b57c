package pages

import (
	"net/http"

	"fedpvi/client/ledger"
	"fedpvi/internal/web"
	"fedpvi/pvi/words"
)

// barWidth is the width of the bar for the whole budget, in the units of the picture.
const barWidth = 600.

// An account is the budget of a data set, with the bars that show the spent part.
type account struct {
	ledger.Account
	Spending []spending
	Used     float64 // width of the bar for all spending, in the unit of barWidth
}

// Guess describes how well an observer can guess under the budget (see [words.Guess]).
func (a *account) Guess() string {
	b := a.Budget
	return words.Guess(b.Protects(), b.Adjacency, a.RightGuess())
}

// A spending is the part of a data set's budget that one study has spent.
type spending struct {
	ledger.StudySpent
	Name    string // name of the study, or the first digits of its digest if the client has not joined it
	Mine    bool   // whether there is a page of the study
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
