package tunnel

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// dialEvery is the interval at which a waiting review tries to reach an operator that does not listen yet. It
// usually listens some ten milliseconds after its start.
const dialEvery = 10 * time.Millisecond

// upstream is an operator that answers reviews at a Unix socket.
type upstream struct{ client *http.Client }

func newUpstream(socket string) *upstream {
	return &upstream{client: &http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				var d net.Dialer
				return d.DialContext(ctx, "unix", socket)
			},
			// A kept connection may end just when it is used again, since operators come and go.
			DisableKeepAlives: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// review is a request of the API server.
type review struct {
	method, path, query string
	host                string // name in the URL of the webhook
	header              http.Header
	body                []byte
}

// answer is an operator's response.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

// ask sends the review to the operator. An error means that there is no answer.
func (u *upstream) ask(ctx context.Context, in *review) (*answer, error) {
	url := "http://operator" + in.path
	if in.query != "" {
		url += "?" + in.query
	}
	request, err := http.NewRequestWithContext(ctx, in.method, url, bytes.NewReader(in.body))
	if err != nil {
		return nil, err
	}
	request.Header = in.header.Clone()
	request.Host = in.host
	response, err := u.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxReview))
	if err != nil {
		return nil, err
	}
	return &answer{response.StatusCode, response.Header, body}, nil
}

// forward asks the operator, and the next one if the operator ends without an answer. A review may be sent
// twice, as API servers also do. Only the time without an operator that answers is limited by the forwarder's wait: an
// operator that has taken the review answers it in the time of the API server, which ends the context.
func (f *Forwarder) forward(ctx context.Context, w http.ResponseWriter, in *review) {
	retry := time.NewTicker(dialEvery)
	defer retry.Stop()
	late := time.NewTimer(f.wait)
	defer late.Stop()
	last := "no operator is running"
	for {
		operator, refusal, changed := f.current()
		if refusal != "" {
			http.Error(w, "kopf: "+refusal, http.StatusServiceUnavailable)
			return
		}
		if operator != nil {
			got, err := operator.ask(ctx, in)
			switch {
			case err != nil && ctx.Err() == nil:
				last = err.Error()
			case err == nil && got.code != http.StatusServiceUnavailable:
				got.write(w)
				return
			case err == nil:
				last = "the operator is not ready: " + string(bytes.TrimSpace(got.body))
			}
		}
		next := retry.C
		if operator == nil {
			next = nil // only another operator helps
		}
		select {
		case <-changed:
			continue
		case <-next:
			continue
		case <-late.C:
		case <-ctx.Done():
		}
		http.Error(w, fmt.Sprintf("kopf: no operator has answered the review in time: %s", last), http.StatusServiceUnavailable)
		return
	}
}

func (a *answer) write(w http.ResponseWriter) {
	for _, name := range []string{"Content-Type", "Retry-After"} {
		if value := a.header.Get(name); value != "" {
			w.Header().Set(name, value)
		}
	}
	w.WriteHeader(a.code)
	_, _ = w.Write(a.body) // an error means that the API server has given up
}
