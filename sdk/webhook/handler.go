package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/url"
	"strings"
)

// ReplayHeader is the header of a request that repeats an earlier review, whose id it has: handlers are called for a
// dry run. A [Server] takes it at a Unix socket only.
const ReplayHeader = "Kopf-Replay"

// handler returns the handler of all requests, within the limits of the server.
func (r *running) handler(reviews http.Handler) http.Handler {
	s := r.server
	maxBytes, maxReviews := s.MaxBytes, s.MaxReviews
	if maxBytes <= 0 {
		maxBytes = DefaultMaxBytes
	}
	if maxReviews <= 0 {
		maxReviews = DefaultMaxReviews
	}
	slots := make(chan struct{}, maxReviews)
	bytes := &budget{free: budgetFactor * maxBytes}
	prefix := strings.TrimRight(s.Path, "/")
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		path, ours := strings.CutPrefix(req.URL.Path, prefix)
		switch {
		case !ours || path != "" && path[0] != '/':
			http.Error(w, "there are no webhooks at this path", http.StatusNotFound)
			return
		case req.ContentLength > maxBytes:
			http.Error(w, "the request is too large", http.StatusRequestEntityTooLarge)
			return
		}
		if !r.takeOver(w, req) {
			return
		}
		size := req.ContentLength
		if size < 0 {
			size = maxBytes // it is not known in advance
		}
		if !r.acquire(req, slots, bytes, size) {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many reviews at the same time", http.StatusServiceUnavailable)
			return
		}
		defer func() {
			bytes.give(size)
			<-slots
		}()
		req.Body = http.MaxBytesReader(w, req.Body, maxBytes)
		reviews.ServeHTTP(w, req)
	})
}

// acquire waits for a slot, and for the size's part of the bytes.
func (r *running) acquire(req *http.Request, slots chan struct{}, bytes *budget, size int64) bool {
	ctx, cancel := context.WithTimeout(req.Context(), r.timeout)
	defer cancel()
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	if !bytes.take(ctx, size) {
		<-slots
		return false
	}
	return true
}

// takeOver takes the certificate of the client from the header, if the listener in front of a Unix socket has sent it.
// Headers of others are removed: anybody can send them. It returns false if the request is answered.
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
