package solver

import "fedpvi/dpmech"

// A Sink receives gradients of records from package gpu, and adds them to a mechanism's sum, which
// clips them.
type Sink struct {
	Sum   *dpmech.Accumulator // accumulator of the current batch
	dense []float64           // scratch space, all zeros between records
}

// NewSink returns a sink for vectors of the given length.
func NewSink(size int) *Sink { return &Sink{dense: make([]float64, size)} }

// AddRows implements gpu.RowSink.
func (s *Sink) AddRows(slopes []float64, rows []int32, x []float64) error {
	return s.Sum.AddRows(slopes, rows, x)
}

// AddVectors implements gpu.VectorSink.
func (s *Sink) AddVectors(values []float64) error { return s.Sum.AddVectors(values) }

// AddRecord implements gpu.Sink.
func (s *Sink) AddRecord(index []int32, value []float64) error {
	if index == nil {
		return s.Sum.Add(value)
	}
	for k, j := range index {
		s.dense[j] = value[k]
	}
	err := s.Sum.Add(s.dense)
	for _, j := range index {
		s.dense[j] = 0
	}
	return err
}

// AppendBatch appends the record numbers of the batch to dst.
func AppendBatch(dst []int32, batch []uint32) []int32 {
	for _, record := range batch {
		dst = append(dst, int32(record))
	}
	return dst
}
