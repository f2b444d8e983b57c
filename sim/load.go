package sim

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"fedpvi/internal/document"
	"fedpvi/pvi/study"
)

// LoadStudy reads a study file. Settings of the form key=value replace values in it.
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
	if doc, err := document.Parse(path, source); err == nil && doc.Root().Has("autoencoder") && !doc.Root().Has("study") {
		return nil, fmt.Errorf("%s: this is an autoencoder: sim autoencoder %s", path, path)
	}
	if source, err = study.Attach(path, source, os.ReadFile); err != nil {
		return nil, err
	}
	return study.Parse(path, source, fitting(path, source, overrides)...)
}

// fitting adapts the overrides of [NonPrivate] to a study. They replace a private solver, whose
// steps are chosen for its noise, by the default solver. For private gradient steps, fitting also
// removes the keys in descentAlone.
func fitting(path string, source []byte, overrides []study.Override) []study.Override {
	at := slices.IndexFunc(overrides, func(o study.Override) bool { return o.Key == "inference.solver" && o.Value == "" })
	if at < 0 {
		return overrides
	}
	if st, err := study.Parse(path, source); err == nil && st.Inference.Sampled() {
		return slices.Insert(overrides, at, descentAlone...)
	}
	doc, err := document.Parse(path, source)
	if err != nil {
		return overrides // when the study is parsed, the same error is reported
	}
	solver, ok := doc.Root().Table("inference").String("solver")
	if !ok || solver == string(study.ClippedAnalytical) {
		return overrides
	}
	return slices.Delete(overrides, at, at+1)
}

// descentAlone removes the keys that mean different things for private gradient steps and for other
// solvers.
var descentAlone = []study.Override{{Key: "inference.steps"}, {Key: "inference.step_size"}, {Key: "inference.draws"}}

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

// NonPrivate lists the settings that turn off the privacy of a study.
var NonPrivate = []string{
	`privacy={unit = "none"}`, "federation.opens=", "federation.aggregation=", "inference.solver=", "standardise.budget_share=", "standardise.noise_multiplier=",
	"inference.sampling=", "inference.sampling_rate=", "inference.start=", "inference.start_share=", "inference.gradients=", "inference.optimiser=", "inference.step_decay=", "inference.average=", "inference.initial_sd=", "inference.noise_aware=", "inference.noise_aware_shares=",
	"inference.recency=", "inference.power=", "inference.precision_weight=", "inference.contribution=", "inference.sites=", "inference.improper=", "inference.reseat=", "inference.start_at=",
}
