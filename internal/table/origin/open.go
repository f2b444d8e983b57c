package origin

import (
	"context"
	"fmt"
	"os"
)

// open opens a file of records. If it is a pipe, open waits until another program opens it for
// writing, or until ctx is done.
func (s Source) open(ctx context.Context) (*os.File, error) {
	if info, err := os.Stat(s.From); s.Wait != nil && err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		defer s.Wait()()
	}
	type opened struct {
		f   *os.File
		err error
	}
	result := make(chan opened)
	go func() {
		f, err := os.Open(s.From)
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
