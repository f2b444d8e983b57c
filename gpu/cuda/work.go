package cuda

import "errors"

// ErrSlower says why the CPU takes the steps if [Work.Faster] returns false.
var ErrSlower = errors.New("the steps of a round are too few or too small for a GPU to be faster; --device cuda:0 uses it anyway")

// A Work describes how much work the private steps of a round are. From it, Faster decides whether
// a device or the CPU should do this work.
type Work struct {
	Visits  int     // number of visits that are computed at the same time
	Rounds  int     // number of rounds for which the device keeps the records
	Steps   int     // number of steps of a visit
	Records int     // mean number of records in a visit, which is the work of one site in one round
	Batch   float64 // mean number of records in a batch
	Dim     int     // number of coordinates of θ
}

// [Work.Faster] estimates the computing time of a visit from these times in seconds. All but
// deviceVisit are rounded from measurements of a logistic regression on an H100 and on 16 cores
// (docs/use/gpu.md). Names that end in Record are times for each record of a batch, and names that
// end in Number are times for each number in a record.
const (
	coreRecord, coreNumber     = 30e-9, 2e-9
	deviceRecord, deviceNumber = 14e-9, 1e-9
	deviceStep                 = 18e-6  // time of a step for a batch without records
	deviceVisit                = 30e-6  // time that the CPU takes to prepare a visit
	deviceCopy                 = 8.5e-9 // time for copying one number to the device
	blocks                     = 128    // number of visits that a device computes at the same time
)

// Faster reports whether a device is likely to need at most half the time that a CPU with the given
// number of cores needs. The estimates depend only on the sizes, so the choice is the same every
// time.
func (w Work) Faster(cores int) bool {
	dim := float64(w.Dim)
	here := waves(w.Visits, cores) * float64(w.Steps) * w.Batch * (coreRecord + coreNumber*dim)
	there := waves(w.Visits, blocks) * float64(w.Steps) * (deviceStep + w.Batch*(deviceRecord+deviceNumber*dim))
	there += float64(w.Visits) * (deviceVisit + deviceCopy*dim*float64(w.Records)/float64(w.Rounds))
	return there <= here/2
}

// waves returns how many times a machine must compute atOnce visits to compute all of them.
func waves(visits, atOnce int) float64 { return float64((visits + atOnce - 1) / atOnce) }
