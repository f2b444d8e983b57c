package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestWaitForAPipeIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var printed strings.Builder
		begin := waiting(&printed, "records.fifo")
		over := begin()
		over()
		<-time.After(2 * quick)
		if printed.Len() > 0 {
			t.Errorf("a short wait printed %q", printed.String())
		}
		defer begin()()
		<-time.After(2 * quick)
		synctest.Wait()
		if !strings.Contains(printed.String(), "records.fifo is a pipe: waiting for another program") {
			t.Errorf("a long wait printed %q", printed.String())
		}
	})
}
