package transport

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"strconv"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"

	"fedpvi/transport/internal/wirepb"
)

// A wire is a connection on which a test sends its own HTTP/2 frames.
type wire struct {
	t      *testing.T
	framer *http2.Framer
}

func (w *world) wire(t *testing.T, c Config) wire {
	t.Helper()
	conn := w.tls(c)
	_, err := conn.Write([]byte(http2.ClientPreface))
	check(t, err)
	check(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	f := http2.NewFramer(conn, conn)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	check(t, f.WriteSettings())
	return wire{t, f}
}

func headers(method string, more ...hpack.HeaderField) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, h := range append([]hpack.HeaderField{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "https"},
		{Name: ":path", Value: method},
		{Name: ":authority", Value: "hub"},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "te", Value: "trailers"},
		{Name: versionHeader, Value: "1"},
	}, more...) {
		e.WriteField(h)
	}
	return b.Bytes()
}

// status reads frames until a stream ends, and returns its status.
func (w wire) status() (codes.Code, error) {
	for {
		f, err := w.framer.ReadFrame()
		if err != nil {
			return 0, err
		}
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			for _, h := range f.Fields {
				if h.Name == "grpc-status" {
					n, err := strconv.Atoi(h.Value)
					return codes.Code(n), err
				}
			}
		case *http2.RSTStreamFrame:
			return codes.Unknown, nil
		case *http2.GoAwayFrame:
			return codes.Unavailable, nil
		}
	}
}

// A small message that would decompress to 64 MiB must be refused without decompressing it.
//
//abuse:case A12 not decompressed
func TestCompressedMessageIsRefused(t *testing.T) {
	w := newWorld(t)
	// part compresses one part of an ApproveRequest that has an envelope of 64 MiB. The request has
	// 65 such parts, which gzip reads as one.
	part := func(plain []byte) []byte {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, err := z.Write(plain)
		check(t, err)
		check(t, z.Close())
		return packed.Bytes()
	}
	head := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.BytesType), 64<<20)
	packed := append(part(head), bytes.Repeat(part(make([]byte, 1<<20)), 64)...)
	for _, encoding := range []string{"gzip", "identity", "", "deflate"} {
		wire := w.wire(t, w.config("north"))
		var more []hpack.HeaderField
		if encoding != "" {
			more = append(more, hpack.HeaderField{Name: "grpc-encoding", Value: encoding})
		}
		check(t, wire.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: headers(wirepb.Study_Approve_FullMethodName, more...), EndHeaders: true}))
		message := binary.BigEndian.AppendUint32([]byte{1}, uint32(len(packed)))
		message = append(message, packed...)
		for len(message) > 0 {
			n := min(len(message), 16<<10)
			check(t, wire.framer.WriteData(1, n == len(message), message[:n]))
			message = message[n:]
		}
		code, err := wire.status()
		if err != nil || code == codes.OK {
			t.Errorf("%s: %v, %v", encoding, code, err)
		}
	}
	if len(w.desk.peers) != 0 {
		t.Errorf("the coordinator was called: %v", w.desk.peers)
	}
}

// The server must close the connection without storing the headers.
//
//abuse:case A12 not collected
func TestEndlessHeaders(t *testing.T) {
	w := newWorld(t)
	wire := w.wire(t, w.config("north"))
	filler := hpack.HeaderField{Name: "x", Value: string(bytes.Repeat([]byte("y"), 8<<10))}
	check(t, wire.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: headers(wirepb.Study_Standing_FullMethodName)}))
	var block bytes.Buffer
	sent := 0
	for e := hpack.NewEncoder(&block); sent < 16<<20; sent += block.Len() {
		block.Reset()
		filler.Sensitive = true // never compressed, so that each header keeps its full length
		check(t, e.WriteField(filler))
		if err := wire.framer.WriteContinuation(1, false, block.Bytes()); err != nil {
			break
		}
	}
	if sent > 2<<20 {
		t.Errorf("%d bytes of headers were accepted", sent)
	}
}

func TestLongHeaders(t *testing.T) {
	w := newWorld(t)
	conn := w.raw(w.config("north"))
	ctx := inVersion(t.Context(), "1"+string(bytes.Repeat([]byte("0"), maxHeaders)))
	if err := refusalOf(ctx, conn, wirepb.Study_Standing_FullMethodName); err == nil {
		t.Error("headers beyond the limit are accepted")
	}
}

// One connection has several calls at once. The last one exceeds the limit.
//
//abuse:case A12 bounded
func TestCallsOfAConnectionAreLimited(t *testing.T) {
	w := newWorldWith(t, ServerConfig{Limits: Limits{Calls: 3}}, ours)
	wire := w.wire(t, w.config("north"))
	for id := uint32(1); id <= 7; id += 2 {
		check(t, wire.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: headers(wirepb.Study_Submit_FullMethodName), EndHeaders: true}))
	}
	for {
		f, err := wire.framer.ReadFrame()
		check(t, err)
		if f, ok := f.(*http2.RSTStreamFrame); ok {
			if f.StreamID != 7 || f.ErrCode != http2.ErrCodeRefusedStream {
				t.Errorf("%v", f)
			}
			return
		}
	}
}
