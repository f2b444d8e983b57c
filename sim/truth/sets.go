package truth

import (
	"embed"
	"fmt"

	"fedpvi/pvi/study"
	"fedpvi/sim"
)

//go:embed sets/*.toml
var files embed.FS

// sets lists the public data sets. The folder sets has one study per data set.
var sets = []string{"adult", "abalone", "breast-cancer", "nmes", "nmes-negative-binomial", "hmda", "doctor-visits", "doctor-visits-negative-binomial", "psid"}

// open returns the study and the records of a public data set. seed determines which records are
// held out, and to which client each of the others goes.
func (c *Cell) open(seed uint64, overrides ...study.Override) (*world, error) {
	file := "sets/" + c.Set + ".toml"
	source, err := files.ReadFile(file)
	if err != nil {
		return nil, err
	}
	overrides = append([]study.Override{{Key: "privacy.epsilon", Value: fmt.Sprint(c.Epsilon)}}, overrides...)
	st, err := study.Parse(file, source, overrides...)
	if err != nil {
		return nil, err
	}
	w := &world{study: st}
	w.holders, w.test, err = sim.Records(st, sim.Options{StudyFile: file, Seed: seed})
	return w, err
}
