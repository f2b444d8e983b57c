package sweep

import (
	"math"
	"slices"
	"strconv"
)

// formatField formats a value for a CSV file. A missing value becomes an empty field.
func formatField(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

func parseField(field string) (float64, error) {
	if field == "" {
		return nan, nil
	}
	return strconv.ParseFloat(field, 64)
}

// traceKey identifies a metric of the runs of one cell after one round.
type traceKey struct {
	cell, round, metric int
}

func (r *Results) keepPoint(index, round, metric int, x float64) {
	if math.IsNaN(x) {
		return
	}
	k := traceKey{index / r.spec.Seeds, round, metric}
	r.points[k] = append(r.points[k], x)
}

func (r *Results) column(cell int, metric string) []float64 {
	m := slices.Index(r.spec.Metrics(), metric)
	if m < 0 {
		return nil
	}
	var values []float64
	for i := cell * r.spec.Seeds; i < (cell+1)*r.spec.Seeds && i < len(r.values); i++ {
		if x := r.values[i][m]; !math.IsNaN(x) {
			values = append(values, x)
		}
	}
	return values
}
