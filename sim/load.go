package sim

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"fedpvi/internal/document"
	"fedpvi/pvi/study"
)

// LoadStudy reads a study file, with settings of the form key=value in place of
// what it says.
func LoadStudy(path string, settings []string) (*study.Study, error) {
	overrides, err := parseSettings(settings)
	if err != nil {
		return nil, err
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("study: %w", err)
	}
	if doc, err := document.Parse(path, source); err == nil && doc.Root().Has("sweep") && !doc.Root().Has("study") {
		return nil, fmt.Errorf("%s: this is a sweep: sim sweep %s", path, path)
	}
	return study.Parse(path, source, fitting(path, source, overrides)...)
}

// fitting leaves out that the solver is left to the program where the study names one
// that needs no promise: its other settings would then have no meaning.
func fitting(path string, source []byte, overrides []study.Override) []study.Override {
	doc, err := document.Parse(path, source)
	if err != nil {
		return overrides // reported by whoever reads the study
	}
	solver, ok := doc.Root().Table("inference").String("solver")
	if !ok || solver == string(study.ClippedAnalytical) {
		return overrides
	}
	return slices.DeleteFunc(overrides, func(o study.Override) bool { return o.Key == "inference.solver" && o.Value == "" })
}

func parseSettings(settings []string) ([]study.Override, error) {
	var overrides []study.Override
	for _, s := range settings {
		key, value, ok := strings.Cut(s, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("--set %s: write --set key=value, such as --set privacy.epsilon=1", s)
		}
		overrides = append(overrides, study.Override{Key: strings.TrimSpace(key), Value: strings.TrimSpace(value)})
	}
	return overrides, nil
}

// NonPrivate are settings that take every promise out of a study.
var NonPrivate = []string{
	`privacy={unit = "none"}`, "federation.opens=", "inference.solver=", "standardise.budget_share=", "standardise.noise_multiplier=",
	"inference.sampling_rate=", "inference.gradients=", "inference.optimiser=", "inference.step_decay=", "inference.average=", "inference.initial_sd=",
}
