package tunnel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// The headers of the streams of a port-forward.
const (
	streamType   = "streamType"
	streamPort   = "port"
	streamNumber = "requestID"
)

// portForward opens a stream to the control port of the relay.
func (p *relayPod) portForward(ctx context.Context) (io.ReadWriteCloser, error) {
	return forwardPort(ctx, p.cluster.Config, p.Namespace, p.name, relayControlPort)
}

// forwardPort opens a stream to a port of a pod. Unlike kubectl, it listens nowhere.
func forwardPort(ctx context.Context, config *rest.Config, namespace, pod string, port int) (*forwardedStream, error) {
	dialer, err := forwardDialer(config, namespace, pod)
	if err != nil {
		return nil, fmt.Errorf("forward a port of pod %s/%s: %w", namespace, pod, err)
	}
	conn, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, fmt.Errorf("forward a port of pod %s/%s: %w", namespace, pod, err)
	}
	stream, err := openForward(conn, port)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("forward port %d of pod %s/%s: %w", port, namespace, pod, err), conn.Close())
	}
	return stream, nil
}

// forwardDialer prefers WebSockets, as kubectl does, and falls back to SPDY for older servers.
func forwardDialer(config *rest.Config, namespace, pod string) (httpstream.Dialer, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	path := base.JoinPath("/api/v1/namespaces", url.PathEscape(namespace), "pods", url.PathEscape(pod), "portforward")
	websocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(path, config)
	if err != nil {
		return nil, err
	}
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	old := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, path)
	return portforward.NewFallbackDialerForStreaming(websocket, old, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

// openForward opens the stream for the data, and the one for errors that comes with it.
func openForward(conn httpstream.Connection, port int) (*forwardedStream, error) {
	headers := http.Header{}
	headers.Set(streamType, "error")
	headers.Set(streamPort, strconv.Itoa(port))
	headers.Set(streamNumber, "0")
	failures, err := conn.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	_ = failures.Close() // nothing is sent on it
	headers.Set(streamType, "data")
	data, err := conn.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	f := &forwardedStream{Stream: data, conn: conn, failed: make(chan error, 1)}
	go f.readFailure(failures)
	return f, nil
}

// forwardedStream is the stream to a port of a pod.
type forwardedStream struct {
	httpstream.Stream
	conn   httpstream.Connection
	failed chan error // receives the node's report after the end of its error stream
}

// maxFailure limits the text of a failure.
const maxFailure = 1 << 10

func (f *forwardedStream) readFailure(failures io.Reader) {
	text, err := io.ReadAll(io.LimitReader(failures, maxFailure))
	if err == nil && len(text) > 0 {
		err = errors.New(string(text))
	}
	f.failed <- err
	if err != nil {
		_ = f.conn.Close() // reads and writes see the end
	}
}

// Read reads from the port. At the end, it returns the error that the node reported.
func (f *forwardedStream) Read(b []byte) (int, error) {
	n, err := f.Stream.Read(b)
	if err == nil {
		return n, nil
	}
	select {
	case failed := <-f.failed:
		f.failed <- failed
		if failed != nil {
			return n, fmt.Errorf("the port-forward failed: %w", failed)
		}
	default:
	}
	return n, err
}

// Close ends the port-forward. It returns no error: after the reset, the other side may end the connection first.
func (f *forwardedStream) Close() error {
	_ = f.Reset()
	_ = f.conn.Close()
	return nil
}
