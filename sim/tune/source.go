package tune

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"fedpvi/pvi/study"
)

// testShare is the share of held-out records if the study does not set one.
const testShare = 0.2

// A source provides the records of a search. Its settings replace all records of the study. The
// held-out records are replaced too, because they may be private.
type source struct {
	words    string
	public   bool // whether the records come from files that the user declares public
	settings []string
}

// newSource returns a source that reads public files or, without files, generates records.
func newSource(st *study.Study, public []string) (s *source, err error) {
	s = &source{settings: []string{"simulation.test_data="}, public: len(public) > 0}
	if st.Simulation.Test == 0 {
		s.settings = append(s.settings, fmt.Sprintf("simulation.test=%g", testShare))
	}
	if s.public {
		return s, s.read(public)
	}
	return s, s.makeUp(st)
}

func (s *source) read(files []string) error {
	quoted := make([]string, len(files))
	for i, name := range files {
		path, err := filepath.Abs(name)
		if err != nil {
			return err
		}
		quoted[i] = strconv.Quote(path)
	}
	s.settings = append(s.settings, "simulation.synthetic=", "simulation.data=["+strings.Join(quoted, ", ")+"]")
	s.words = "records of " + strings.Join(files, ", ") + ", asserted to be public with --data: if they are private, this search must be charged"
	return nil
}

func (s *source) makeUp(st *study.Study) error {
	s.settings = append(s.settings, "simulation.data=")
	if st.Simulation.Synthetic != nil {
		s.words = "records made up as simulation.synthetic declares, which costs no privacy"
		return nil
	}
	n := st.Federation.NominalRecords
	if n == 0 {
		return errors.New("the number of records to make up is unknown: write federation.nominal_records, a public guess of the number of records of a client, as in --set federation.nominal_records=500")
	}
	s.settings = append(s.settings, fmt.Sprintf("simulation.synthetic={records_per_client = %d}", n))
	s.words = fmt.Sprintf("records made up from the study's model and prior within its public bounds, %d of each client, which costs no privacy", n)
	return nil
}
