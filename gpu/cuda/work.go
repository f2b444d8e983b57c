package cuda

import "errors"

// ErrSlower is the reason why the CPU computes the steps when [Work.Faster] returns false.
var ErrSlower = errors.New("the steps of a round are too few or too small for a GPU to be faster; --device cuda:0 uses it anyway")

// A Work tells how much work the private steps of a round are. Faster uses it to decide whether a
// device or the CPU should do this work.
type Work struct {
	Visits  int     // number of visits that are computed at the same time
	Rounds  int     // number of rounds for which the device keeps the records
	Steps   int     // number of steps of a visit
	Records int     // mean number of records in a visit, which is the work of one site in one round
	Batch   float64 // mean number of records in a batch
	Dim     int     // number of coordinates of θ
}

// From these times in seconds, [Work.Faster] estimates how long a visit takes. All except
// deviceVisit are rounded from measurements of a logistic regression on an H100 and on 16 cores
// (docs/use/gpu.md). Times whose names end in Record are for each record in a batch, and times
// whose names end in Number are for each number in a record.
const (
	coreRecord, coreNumber     = 30e-9, 2e-9
	deviceRecord, deviceNumber = 14e-9, 1e-9
	deviceStep                 = 18e-6  // time for a step whose batch has no records
	deviceVisit                = 30e-6  // time in which the CPU prepares a visit
	deviceCopy                 = 8.5e-9 // time for copying one number to the device
	blocks                     = 128    // number of visits that a device computes at the same time
)

// Faster reports whether a device is likely to take at most half as long as a CPU with the given
// number of cores. The estimates depend only on sizes, so the choice is always the same.
func (w Work) Faster(cores int) bool {
	dim := float64(w.Dim)
	here := waves(w.Visits, cores) * float64(w.Steps) * w.Batch * (coreRecord + coreNumber*dim)
	there := waves(w.Visits, blocks) * float64(w.Steps) * (deviceStep + w.Batch*(deviceRecord+deviceNumber*dim))
	there += float64(w.Visits) * (deviceVisit + deviceCopy*dim*float64(w.Records)/float64(w.Rounds))
	return there <= here/2
}

// waves returns how many times a machine must compute atOnce visits until it has computed all.
func waves(visits, atOnce int) float64 { return float64((visits + atOnce - 1) / atOnce) }
