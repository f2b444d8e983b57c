package admin

import (
	"context"
	"errors"
	"io"

	"fedpvi/coordinator/bundle"
	"fedpvi/pvi/page"
)

// Report verifies the bundle of a study that is over, and returns its report.
func Report(ctx context.Context, api API, study string) (*page.Report, error) {
	read, write := io.Pipe()
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		write.CloseWithError(api.Bundle(ctx, study, write))
	}()
	r, err := bundle.Page(read)
	err = errors.Join(err, read.Close())
	<-wrote
	return r, err
}
