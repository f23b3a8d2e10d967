// Package cloud is a small cloud with buckets: an HTTP server and its client.
package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
)

// KeyHeader is the header of requests with the idempotency key.
const KeyHeader = "Idempotency-Key"

// Bucket is a bucket of the cloud.
type Bucket struct {
	ID      string   `json:"id"`
	Size    string   `json:"size"`
	Readers []string `json:"readers"` // one for each grant
}

// Server serves the buckets from its memory. A request with a key that it knows has no effect, and the answer of the first request.
// The zero value is ready to use.
type Server struct {
	// Effect carries out the effect of a request with a name, such as "CreateBucket". Nil calls the function. The server answers an
	// error by closing the connection. Tests pass the method Do of a kopftest.Outside.
	Effect func(ctx context.Context, name, key string, carryOut func() error) error

	mu      sync.Mutex
	created int
	buckets map[string]*Bucket
	mails   []string
	known   map[string]request // requests by their names and keys
}

// request is a request that had its effect.
type request struct {
	of     any    // values of the request
	bucket string // id of the bucket
}

var errMismatch = errors.New("the key is known from a request with other values")

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /buckets", s.create)
	mux.HandleFunc("GET /buckets", s.find)
	mux.HandleFunc("POST /buckets/{id}/readers", s.grant)
	mux.HandleFunc("POST /buckets/{id}/mails", s.mail)
	mux.HandleFunc("PUT /buckets/{id}/size", s.resize)
	mux.HandleFunc("DELETE /buckets/{id}", s.remove)
	mux.ServeHTTP(w, r)
}

// Buckets returns the buckets, sorted by their ids.
func (s *Server) Buckets() []Bucket {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Bucket
	for _, id := range slices.Sorted(maps.Keys(s.buckets)) {
		all = append(all, *s.buckets[id])
	}
	return all
}

func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	var size string
	if !read(w, r, &size) {
		return
	}
	id, err := s.once(r, "CreateBucket", size, func() (string, error) {
		s.created++
		b := &Bucket{ID: fmt.Sprint("bucket-", s.created), Size: size}
		if s.buckets == nil {
			s.buckets = map[string]*Bucket{}
		}
		s.buckets[b.ID] = b
		return b.ID, nil
	})
	answer(w, id, err)
}

// find answers the id of the bucket that a request with the key has created; empty if there is none.
func (s *Server) find(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer(w, s.known["CreateBucket "+r.URL.Query().Get("key")].bucket, nil)
}

func (s *Server) grant(w http.ResponseWriter, r *http.Request) {
	var reader string
	if !read(w, r, &reader) {
		return
	}
	_, err := s.once(r, "Grant", r.PathValue("id")+" "+reader, func() (string, error) {
		b, err := s.bucket(r)
		if err == nil {
			b.Readers = append(b.Readers, reader)
		}
		return "", err
	})
	answer(w, "", err)
}

// Mails returns the mails that were sent, oldest first.
func (s *Server) Mails() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mails)
}

// mail knows no keys: each request sends a mail.
func (s *Server) mail(w http.ResponseWriter, r *http.Request) {
	var to string
	if !read(w, r, &to) {
		return
	}
	err := s.carryOut(r, "SendMail", "", func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		b, err := s.bucket(r)
		if err == nil {
			s.mails = append(s.mails, to+" can read "+b.ID)
		}
		return err
	})
	answer(w, "", err)
}

// resize needs no key: a second request with the same size has no effect.
func (s *Server) resize(w http.ResponseWriter, r *http.Request) {
	var size string
	if !read(w, r, &size) {
		return
	}
	err := s.carryOut(r, "Resize", r.PathValue("id")+" "+size, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		b, err := s.bucket(r)
		if err == nil {
			b.Size = size
		}
		return err
	})
	answer(w, "", err)
}

func (s *Server) remove(w http.ResponseWriter, r *http.Request) {
	err := s.carryOut(r, "RemoveBucket", r.PathValue("id"), func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		b, err := s.bucket(r)
		if err == nil {
			delete(s.buckets, b.ID)
		}
		return err
	})
	answer(w, "", err)
}

// once carries out a request with a key, and returns the bucket of the first request with the key.
func (s *Server) once(r *http.Request, name string, values any, do func() (string, error)) (string, error) {
	key := r.Header.Get(KeyHeader)
	id := name + " " + key
	err := s.carryOut(r, name, key, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if _, known := s.known[id]; known && key != "" {
			return nil
		}
		bucket, err := do()
		if err == nil {
			if s.known == nil {
				s.known = map[string]request{}
			}
			s.known[id] = request{values, bucket}
		}
		return err
	})
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.known[id]; first.of == values {
		return first.bucket, nil
	}
	return "", errMismatch
}

// carryOut carries out an effect. If it is prevented, the connection is closed without an answer.
func (s *Server) carryOut(r *http.Request, name, key string, do func() error) error {
	if s.Effect == nil {
		return do()
	}
	var refusal error
	err := s.Effect(r.Context(), name, key, func() error {
		refusal = do()
		return refusal
	})
	if err != nil && refusal == nil {
		panic(http.ErrAbortHandler)
	}
	return err
}

var errNoBucket = errors.New("there is no such bucket")

func (s *Server) bucket(r *http.Request) (*Bucket, error) {
	if b := s.buckets[r.PathValue("id")]; b != nil {
		return b, nil
	}
	return nil, errNoBucket
}

// read reads the body; it answers an error and returns false if the body has another form.
func read(w http.ResponseWriter, r *http.Request, body any) bool {
	if err := json.NewDecoder(r.Body).Decode(body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

func answer(w http.ResponseWriter, bucket string, err error) {
	switch {
	case errors.Is(err, errNoBucket):
		http.Error(w, err.Error(), http.StatusNotFound)
	case errors.Is(err, errMismatch):
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		_ = json.NewEncoder(w).Encode(bucket) // otherwise the client has gone
	}
}
