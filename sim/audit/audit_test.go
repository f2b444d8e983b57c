package audit

import (
	"context"
	"fmt"
	"testing"
	"time"
)

func TestScratch(t *testing.T) {
	t0 := time.Now()
	a, err := New()
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Run(context.Background(), Options{Seed: 1, Workers: 2, Progress: func(done, of int, c Check) {
		fmt.Println(done, of, time.Since(t0).Round(time.Millisecond), c.Case, "|", c.Name, "|", c.Passed, c.Detail)
	}})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(r.Passed)
	for _, c := range r.Checks {
		if c.Profile != nil {
			for _, p := range c.Profile.Points {
				fmt.Printf("%s %+v\n", c.Case, p)
			}
		}
	}
}
