package origin

import (
	"context"
	"fmt"
	"os"
)

// open opens a file of records. A pipe opens once another program has opened it for writing. open
// returns an error if the file cannot be opened, or if ctx is done first.
func open(ctx context.Context, path string) (*os.File, error) {
	type opened struct {
		f   *os.File
		err error
	}
	result := make(chan opened)
	go func() {
		f, err := os.Open(path)
		select {
		case result <- opened{f, err}:
		case <-ctx.Done():
			if err == nil {
				f.Close()
			}
		}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case o := <-result:
		if o.err != nil {
			return nil, fmt.Errorf("file of records: %w", o.err)
		}
		return o.f, nil
	}
}
