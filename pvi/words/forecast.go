package words

import (
	"fmt"
	"math"

	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
)

// Forecast compares the privacy noise of a study with the contributions of records or clients. This
// can be done before the study begins.
func Forecast(p *pvi.Protocol) string {
	f := p.Method().Forecast()
	if steps, ok := method.StepsOf(p.Method()); ok {
		return Wrap(descentForecast(p, f, steps))
	}
	if p.Study().Inference.Partitions.Count > 0 {
		return Wrap(partsForecast(f))
	}
	if m, ok := p.Method().(method.Signalled); ok {
		return Wrap(signalForecast(p, m, f))
	}
	if p.Study().Privacy.Unit.OfRecords() {
		of := "natural parameter"
		if p.Study().Inference.Solver == study.Scoring {
			of = "number of a round"
		}
		if p.Study().Model.Absent() {
			of = "number of the tables"
		}
		return Wrap(fmt.Sprintf("The noise of all clients together has sd %s on every %s. A record adds at most %s to each", Number(f.Noise), of, Number(f.Largest)) + hides(p, f))
	}
	text := Wrap(fmt.Sprintf("In the end the noise on every natural parameter has sd of about %s; clients that all saturated the clip in one direction would add up to %s: a signal of at most %.1f times the noise.",
		Number(f.Noise), Number(f.Largest), f.Largest/f.Noise))
	if warning := Warning(p); warning != "" {
		text += "\n" + warning
	}
	return text
}

// Warning returns a warning if there is so much noise that the study is likely to be useless: many
// rounds may be rejected, or intervals may be hardly narrower than the prior's. If not, it returns
// "".
func Warning(p *pvi.Protocol) string {
	if p.Study().Privacy.Unit == study.None {
		return ""
	}
	f := p.Method().Forecast()
	if !f.Doubtful {
		return ""
	}
	if m, ok := p.Method().(method.Signalled); ok {
		return Wrap(signalForecast(p, m, f))
	}
	return Wrap(fmt.Sprintf("The noise of one round has sd %s. With %s, a signal of at most %s times the noise may be too small: rounds may leave no proper posterior and be rejected. More clients, a larger ε, fewer coefficients, or the record as the privacy unit would help.",
		Number(f.Round), Plural(p.Model().Dim(), "coefficient"), Number(f.Largest/f.Round)))
}

// For noise multipliers of leastSampledNoise or more, the total noise of all steps hardly depends
// on the sampling rate. For smaller multipliers, sampling costs more than it saves.
const leastSampledNoise = 2

func descentForecast(p *pvi.Protocol, f method.Forecast, steps *method.Steps) string {
	if p.Study().Inference.Solver == study.DPSEP {
		return propagationForecast(p, f)
	}
	text := fmt.Sprintf("Averaged over all steps, the noise of all clients together has sd %s on every element of the sum of gradients. A record adds at most %s",
		Number(f.Noise), Number(f.Largest)) + hides(p, f)
	if m := p.Method().Noise().Multiplier; steps.Rate < 1 && m < leastSampledNoise {
		text += fmt.Sprintf(" With a noise multiplier of %s below %d, sampling costs more than it saves: a larger inference.sampling_rate hides as much with less noise in all.", Number(m), leastSampledNoise)
	}
	return text
}

func propagationForecast(p *pvi.Protocol, f method.Forecast) string {
	return fmt.Sprintf("Averaged over all steps, the noise of all clients together has sd %s on every precision times mean, around the mean of q, and %s on every precision. A record adds at most %s",
		Number(f.Noise), Number(f.Noise/p.Study().Inference.Propagation.PrecisionWeight), Number(f.Largest)) + hides(p, f)
}

// hides ends a sentence with the number of records that the noise hides. If these are all the
// records that the study expects, it adds a warning.
func hides(p *pvi.Protocol, f method.Forecast) string {
	text := fmt.Sprintf(", so the noise hides the contributions of up to %.0f records of the whole federation.", math.Ceil(f.Noise/f.Largest))
	records := float64(p.Study().Federation.NominalRecords) * float64(len(p.Roster()))
	if records == 0 || f.Noise/f.Largest < records {
		return text
	}
	return text + fmt.Sprintf(" The study expects only %.0f records of all clients together, so it is hopeless.", records)
}

// fullSignal is the signal-to-noise ratio ([method.Signalled.Signal]) above which more clients
// hardly make intervals narrower.
const fullSignal = 30

func signalForecast(p *pvi.Protocol, m method.Signalled, f method.Forecast) string {
	s, clients, coefficients := m.Signal(), Plural(len(p.Roster()), "client"), Plural(p.Model().Dim(), "parameter")
	enough := fmt.Sprintf("about %.0f clients", math.Ceil(float64(len(p.Roster()))*fullSignal/s))
	switch {
	case f.Doubtful:
		return fmt.Sprintf("The signal of %s is %s times the noise in one direction: too little for %s. Intervals will be hardly narrower than the prior's. With the same ε, %s would have intervals near the narrowest that the noise permits. Fewer coefficients, a narrower prior, or the record as the privacy unit would help as well.", clients, Number(s), coefficients, enough)
	case s < fullSignal:
		return fmt.Sprintf("The signal of %s is %s times the noise in one direction. Intervals of %s will be right but wide. With the same ε, %s would have intervals near the narrowest that the noise permits.", clients, Number(s), coefficients, enough)
	}
	return fmt.Sprintf("The signal of %s is %s times the noise in one direction: enough for intervals of %s that are near the narrowest that the noise permits.", clients, Number(s), coefficients)
}

func partsForecast(f method.Forecast) string {
	return fmt.Sprintf("In the end the noise on every natural parameter has sd of about %s; parts that all saturated the clip in one direction would add up to %s in a round. If records raise a precision by less than the noise, the posterior may be improper and the round is rejected. More parts with a smaller clip, or a prior whose precision is a few times that sd, prevent this.",
		Number(f.Noise), Number(f.Largest))
}
