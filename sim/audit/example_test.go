package audit_test

import (
	"context"
	"fmt"

	"fedpvi/sim/audit"
)

// The audit should have no finding. It takes about ten seconds, so tests do not run it.
func ExampleAuditor_Run() {
	auditor, err := audit.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := auditor.Run(context.Background(), audit.Options{Seed: 1, Runs: 20, Workers: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range report.Findings() {
		fmt.Println(c.Case, c.Name, c.Detail)
	}
	fmt.Println(len(report.Findings()), "findings")
}
