package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"fedpvi/accountant"
	"fedpvi/pvi/words"
	"fedpvi/sim/calculator"
)

// Calculated writes an answer of the calculator: a table of the bounds, an explanation for an
// ethics committee, and warnings.
func Calculated(w io.Writer, a *calculator.Answer) error {
	solved := func(field, value string) string {
		if a.Solved == field {
			return value + "  (computed)"
		}
		return value
	}
	rows := [][]string{
		{"sampling", samplingInWords(a)},
		{"adjacency", fmt.Sprintf("%s: %s", a.Adjacency, recordInWords(a.Adjacency))},
		{"noise multiplier σ", solved("noise_multiplier", digits(a.NoiseMultiplier, 6, true))},
		{"steps", solved("steps", fmt.Sprint(a.Steps))},
		{"δ", solved("delta", digits(*a.Delta, 4, true))},
		{"ε", solved("epsilon", between(a.EpsilonLower, a.EpsilonUpper))},
		{"by", fmt.Sprintf("%s, %s", a.Method, certified(a.Certified))},
	}
	if err := words.Table(w, "", 2, rows); err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("\n" + meaning(a))
	for _, note := range notes(a) {
		b.WriteString("\n" + wrap(note))
	}
	if a.Compare != nil {
		if err := compared(&b, a); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func certified(yes bool) string {
	if yes {
		return "certified"
	}
	return "an estimate, not certified"
}

// digits formats x with n significant digits, rounded up or down.
func digits(x float64, n int, upwards bool) string {
	if x == 0 {
		return "0"
	}
	s := strconv.FormatFloat(x, 'g', n, 64)
	y, _ := strconv.ParseFloat(s, 64)
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-float64(n-1))
	switch {
	case upwards && y < x:
		y += unit
	case !upwards && y > x:
		y -= unit
	}
	return strconv.FormatFloat(y, 'g', n, 64)
}

func between(lower, upper *float64) string {
	switch {
	case upper == nil:
		return "no bound: nothing is promised"
	case lower == nil || *lower == 0:
		return "at most " + digits(*upper, 4, true)
	}
	low, high := digits(*lower, 4, false), digits(*upper, 4, true)
	if low == high {
		return high
	}
	return fmt.Sprintf("at most %s, at least %s", high, low)
}

func samplingInWords(a *calculator.Answer) string {
	q := digits(a.Rate, 6, false)
	if a.Solved == "q" {
		q += "  (computed)"
	}
	epochs := int(math.Round(float64(a.Steps) * a.Rate))
	switch a.Sampling {
	case calculator.Poisson:
		return "poisson: every record by itself with probability q = " + q
	case calculator.WithoutReplacement:
		return "without-replacement: a share q of the records, drawn anew in every step, q = " + q
	case calculator.RandomAllocation:
		return fmt.Sprintf("random-allocation: %s, in each of which every record is in one of %.0f steps", plural(epochs, "epoch"), 1/a.Rate)
	case calculator.Permutation:
		return fmt.Sprintf("permutation: %s of a partition into %.0f batches", plural(epochs, "epoch"), 1/a.Rate)
	default:
		return "none: all records in every step"
	}
}

func recordInWords(a accountant.Adjacency) string {
	switch a {
	case accountant.AddRemove:
		return "whether a record is there or not"
	case accountant.ReplaceOne:
		return "which of two values a record has"
	default:
		return "whether a contribution counted or was left out"
	}
}

// percent formats a probability as a percentage, rounded up. The ~ stands for a space at which the
// line must not break.
func percent(p float64) string { return digits(100*p, 4, true) + "~%" }

// meaning explains the bounds to an ethics committee.
func meaning(a *calculator.Answer) string {
	r := a.Risk
	var b strings.Builder
	fmt.Fprintf(&b, "What it means. An attacker sees all releases, knows everything else, and wants to know %s. If both cases are equally likely beforehand, the attacker guesses right with probability at most %s, by any method. Tossing a coin gives 50~%%.",
		recordInWords(a.Adjacency), percent(r.Accuracy))
	for _, rate := range r.Rates {
		fmt.Fprintf(&b, " An attacker that is wrong about at most %s of the absent records recognises at most %s of the present records.", percent(rate.FPR), percent(rate.TPR))
	}
	if r.LogOddsFactor == nil {
		b.WriteString(" There is no bound on the change of the attacker's odds.")
	} else {
		fmt.Fprintf(&b, " Except with a probability of %s, the releases multiply the attacker's odds by at most %s", digits(r.Exception, 4, true), odds(*r.LogOddsFactor))
		prior := r.Prior / (1 - r.Prior)
		if posterior := prior * math.Exp(*r.LogOddsFactor); posterior < 1e6 {
			fmt.Fprintf(&b, ", from a probability of %s to one of %s", number(100*r.Prior)+"~%", percent(posterior/(1+posterior)))
		}
		b.WriteString(".")
	}
	if g := r.Group; g.Size > 1 {
		if g.EpsilonUpper == nil {
			fmt.Fprintf(&b, " There is no promise for %d records together.", g.Size)
		} else {
			fmt.Fprintf(&b, " For %d records together, such as those of one household, ε is %s at the same δ.", g.Size, between(g.EpsilonLower, g.EpsilonUpper))
		}
	}
	// wrap breaks no line at ~, so replace ~ by a space only after wrap.
	return strings.ReplaceAll(wrap(b.String()), "~", " ")
}

// odds formats e^x, rounded up.
func odds(x float64) string {
	if x > 50 {
		return fmt.Sprintf("10^%.0f", math.Ceil(x/math.Ln10))
	}
	return digits(math.Exp(x), 4, true)
}

// apart reports whether the upper bound on ε exceeds the lower bound by more than 1 %.
func apart(a *calculator.Answer) bool {
	return a.EpsilonLower != nil && a.EpsilonUpper != nil && *a.EpsilonUpper > *a.EpsilonLower*1.01
}

func notes(a *calculator.Answer) []string {
	var notes []string
	switch a.Adjacency {
	case accountant.AddRemove:
		notes = append(notes, "Note: the bounds do not hold for the replacement of a record by another record. That is --adjacency replace-one, and costs more.")
	case accountant.ReplaceOne:
		notes = append(notes, "Note: replacing a record moves a sum by up to twice the clip norm. Numbers of other programs are mostly for add-remove, and smaller.")
	}
	switch a.Sampling {
	case calculator.Poisson:
		if apart(a) {
			notes = append(notes, "The bounds lie apart because of the arithmetic: ε is far smaller than the losses of the few runs that draw the record, and one grid of losses cannot resolve both.")
		}
	case calculator.WithoutReplacement:
		if apart(a) {
			notes = append(notes, "For sampling without replacement the truth lies between the two bounds: for several steps the exact value is not known. The lower one is an attack, so that no better accountant will come below it. It is not the figure for a Poisson sample.")
		}
	case calculator.Permutation:
		notes = append(notes, "Shuffling is given no credit: an epoch costs what one release over all records costs. The order of the batches hides little where noise is small, and no bound for it is used here.")
	case calculator.RandomAllocation:
		notes = append(notes, "No lower bound is known for random allocation: the true cost may be well below the upper bound.")
		notes = append(notes, "Every record has to draw its step by itself, independently of the others. Shuffling into batches of one size is not that: it is --sampling permutation.")
	}
	return notes
}

// compared writes the ε that each method gives under each adjacency.
func compared(b *strings.Builder, a *calculator.Answer) error {
	fmt.Fprintf(b, "\nε at δ = %s by every method\n\n", digits(*a.Delta, 4, true))
	rows := [][]string{{"", "", "at most", "at least"}}
	for _, c := range a.Compare.Methods {
		rows = append(rows, row(string(c.Method), c))
	}
	if err := words.Table(b, "  ", 2, rows); err != nil {
		return err
	}
	b.WriteString("\nand under every adjacency\n\n")
	rows = [][]string{{"", "", "at most", "at least"}}
	for _, c := range a.Compare.Adjacencies {
		rows = append(rows, row(string(c.Adjacency), c))
	}
	if err := words.Table(b, "  ", 2, rows); err != nil {
		return err
	}
	for _, c := range a.Compare.Adjacencies {
		if c.Reason != "" {
			b.WriteString("\n" + wrap(c.Reason))
		}
	}
	return nil
}

func row(name string, c calculator.Compared) []string {
	upper, lower := "–", "–"
	if c.EpsilonUpper != nil {
		upper = digits(*c.EpsilonUpper, 5, true)
	}
	if c.EpsilonLower != nil && *c.EpsilonLower > 0 {
		lower = digits(*c.EpsilonLower, 5, false)
	}
	status := certified(c.Certified)
	switch {
	case c.Reason != "":
		status = "does not apply"
	case c.Vacuous:
		status = "no bound"
	}
	return []string{name, status, upper, lower}
}
