package membership

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"fedpvi/internal/testing/memory"
)

// FuzzLabel sends arbitrary bytes to a port, once as a packet and once as a stream. If their label
// is that of a study, the port must deliver them unchanged to the study's node. Otherwise it must
// not deliver them to any node.
//
//abuse:case P01 arbitrary bytes reach a node only with the label of its study, and take bounded memory
func FuzzLabel(f *testing.F) {
	const label = "study"
	labelled, err := memberlist.AddLabelHeaderToPacket([]byte("something"), label)
	check(f, err)
	f.Add(labelled)
	f.Add(labelled[:4])
	f.Add([]byte("something"))
	f.Add([]byte{244, 0, 's'})
	f.Add(append(bytes.Clone(labelled), make([]byte, maxPacket)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := &Port{busy: make(chan struct{}, maxStreams), outlets: map[string]*outlet{}, closed: make(chan struct{})}
		o, err := p.outlet(label)
		check(t, err)
		named := bytes.HasPrefix(b, labelled[:2+len(label)])

		memory.Bound(t, len(b), func() { p.deliver(&memberlist.Packet{Buf: b}) })
		if got := len(o.packets); got > 1 || (got == 1) != (named && len(b) <= maxPacket) {
			t.Errorf("%d packets were delivered", got)
		}

		o.streams = make(chan net.Conn, 1) // so that hand need not wait for a node
		p.hand(&stream{Conn: recorded{from: bytes.NewReader(b)}, left: maxStream, end: func() {}})
		select {
		case c := <-o.streams:
			all, err := io.ReadAll(c)
			check(t, err)
			if !named || !bytes.Equal(all, b) {
				t.Errorf("a stream of %x was delivered as %x", b, all)
			}
		default:
			if named {
				t.Error("a stream with the label of the study was not delivered")
			}
		}
	})
}

// A recorded is a connection whose other side has sent some bytes and then closed it.
type recorded struct {
	net.Conn
	from io.Reader
}

func (r recorded) Read(b []byte) (int, error)  { return r.from.Read(b) }
func (r recorded) SetDeadline(time.Time) error { return nil }
func (r recorded) Close() error                { return nil }
