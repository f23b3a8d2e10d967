package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// ReplayHeader is the header of a request that repeats an earlier review. Its value is the id of the review. Handlers are
// called for a dry run. A [Server] accepts the header only at a Unix socket.
const ReplayHeader = "Kopf-Replay"

// handler returns the handler of all requests, within the limits of the server.
func (r *running) handler(reviews http.Handler) http.Handler {
	s := r.server
	slots := make(chan struct{}, positiveOr(s.MaxReviews, DefaultMaxReviews))
	memory := newMemory(r.maxBytes())
	prefix := strings.TrimRight(s.Path, "/")
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		path, ours := strings.CutPrefix(req.URL.Path, prefix)
		switch {
		case !ours || path != "" && path[0] != '/':
			http.Error(w, "there are no webhooks at this path", http.StatusNotFound)
			return
		case req.ContentLength > memory.maxBytes:
			http.Error(w, errTooLarge.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		if !r.takeOver(w, req) {
			return
		}
		request := &reception{
			memory: memory, conn: connectionOf(req), body: req.Body, length: req.ContentLength,
			control: http.NewResponseController(w), limit: min(maxBodyTime, r.timeout),
		}
		r.answer(w, req, request, slots, reviews)
	})
}

// answer answers a request after its body has arrived, as soon as fewer than MaxReviews reviews are running.
func (r *running) answer(w http.ResponseWriter, req *http.Request, request *reception, slots chan struct{}, reviews http.Handler) {
	defer request.release()
	waiting, cancel := context.WithTimeout(req.Context(), r.timeout)
	defer cancel()
	if err := request.receive(waiting); err != nil {
		request.refuse(w, req, err)
		return
	}
	defer request.conn.answer()()
	select {
	case slots <- struct{}{}:
	case <-waiting.Done():
		request.refuse(w, req, errTooMany)
		return
	}
	cancel()
	leave := sync.OnceFunc(func() { <-slots })
	defer leave()
	req.Body, req.ContentLength = &received{chunks: request.chunks, size: request.size}, request.size
	request.chunks = nil
	reviews.ServeHTTP(&response{ResponseWriter: w, began: sync.OnceFunc(func() {
		leave()
		request.release()
		_ = request.control.SetWriteDeadline(time.Now().Add(r.timeout)) // if it fails, the server's WriteTimeout remains
	})}, req)
}

var errTooMany = errors.New("too many reviews at the same time; try again")

// refuse answers a request whose body was not received. If the response has a Retry-After header, API servers repeat the
// request until their own timeout.
func (r *reception) refuse(w http.ResponseWriter, req *http.Request, err error) {
	r.chunks = nil
	r.release()
	status := http.StatusBadRequest
	switch {
	case errors.Is(err, errBusy), errors.Is(err, errTooMany):
		status = http.StatusTooManyRequests
		w.Header().Set("Retry-After", "1")
	case errors.Is(err, errTooSlow):
		status = http.StatusRequestTimeout
	case errors.Is(err, errTooLarge):
		status = http.StatusRequestEntityTooLarge
	}
	http.Error(w, err.Error(), status)
	if req.ProtoMajor > 1 || errors.Is(err, errTooSlow) || r.wasInterrupted() {
		return
	}
	// HTTP/1 clients read the response only after they sent the whole request.
	_ = r.control.Flush() // an error means that the client disconnected
	r.deadline(refusalTime)
	_, _ = io.CopyN(io.Discard, r.body, r.memory.maxBytes)
}

// response releases the slot and the memory of its request when the first byte is written, so that slow readers hold
// neither.
type response struct {
	http.ResponseWriter
	began func()
}

// WriteHeader implements [http.ResponseWriter].
func (w *response) WriteHeader(status int) {
	w.began()
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *response) Write(text []byte) (int, error) {
	w.began()
	return w.ResponseWriter.Write(text)
}

// Unwrap returns the writer for [http.ResponseController].
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// takeOver reads the client's certificate from the header that a listener in front of a Unix socket sets. In requests at
// a port, it removes the header, because any client can set it. It returns false if it answered the request with an
// error.
func (r *running) takeOver(w http.ResponseWriter, req *http.Request) bool {
	escaped := req.Header.Get(PeerCertificateHeader)
	req.Header.Del(PeerCertificateHeader)
	if !r.unix {
		req.Header.Del(ReplayHeader)
		return true
	}
	if escaped == "" {
		return true
	}
	certs, err := parseCertificates(escaped)
	if err != nil {
		http.Error(w, "the certificate of the client: "+err.Error(), http.StatusBadRequest)
		return false
	}
	req.TLS = &tls.ConnectionState{HandshakeComplete: true, PeerCertificates: certs, VerifiedChains: [][]*x509.Certificate{certs}}
	return true
}

func parseCertificates(escaped string) ([]*x509.Certificate, error) {
	text, err := url.QueryUnescape(escaped)
	if err != nil {
		return nil, err
	}
	var certs []*x509.Certificate
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		certs = append(certs, cert)
	}
	if len(certs) == 0 {
		return nil, errNoCertificate
	}
	return certs, nil
}
