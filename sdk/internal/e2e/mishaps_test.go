package e2e

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestPanicsOutsideOfHandlersConcernOneObjectOnly(t *testing.T) {
	w, c := newWorld(t), &calls{}
	var healed atomic.Bool
	op := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			c.add(r.Name)
			return nil
		}, kopf.ID("created"), kopf.When(func(r *kopf.Request) bool {
			if r.Name == "bad" && !healed.Load() {
				panic("filtered badly")
			}
			return true
		}))
	}, setup{settings: func(s *kopf.Settings) {
		s.Queueing.ErrorDelays = slices.Values([]time.Duration{50 * time.Millisecond})
	}})
	w.create(example("bad"))
	op.journal.wait(t, "Handling has failed: it is throttled for 50ms.", 2)
	w.create(example("good"))
	w.untilHandled("good")
	healed.Store(true)
	w.untilHandled("bad")
	c.are(t, "good", "bad")
	told := false
	for _, e := range op.journal.all() {
		told = told || strings.Contains(e.attrs, "filtered badly") && strings.Contains(e.attrs, "mishaps_test.go")
	}
	if !told {
		t.Errorf("nobody tells what has panicked, and where:\n%v", op.journal.text())
	}
}

func TestRefusedTransformationsAreToldAndDoNotKeepAnObject(t *testing.T) {
	w, c := newWorld(t), &calls{}
	op := w.run(func(r *kopf.Registry) {
		kopf.OnDelete(r, kexes, func(_ context.Context, r *change) error {
			c.add("deleted")
			kopf.Transform(r.Patch, func(o *labelled) { o.Metadata.Labels = map[string]string{"bad": "no such label!"} })
			return nil
		}, kopf.ID("deleted"))
	}, setup{settings: func(s *kopf.Settings) {
		s.Queueing.ErrorDelays = slices.Values([]time.Duration{50 * time.Millisecond})
	}})
	w.create(example("x"))
	w.untilHandled("x")
	w.delete("x")
	w.untilGone("x")
	c.are(t, "deleted")
	told := false
	for _, e := range op.journal.all() {
		told = told || strings.Contains(e.attrs, "what was to be transformed is given up") && strings.Contains(e.attrs, "no such label!")
	}
	if !told {
		t.Errorf("nobody tells what is refused:\n%v", op.journal.text())
	}
}

type labelled struct {
	Metadata struct {
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
}

func TestRetriesSurviveATouchThatFails(t *testing.T) {
	w, c := newWorld(t), &calls{}
	var writes atomic.Int32
	refuse := func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			// The first one is the record of the attempt.
			if !isWrite(req) {
				return next.RoundTrip(req)
			}
			if n := writes.Add(1); n == 2 || n == 3 {
				return nil, errors.New("the network is down")
			}
			return next.RoundTrip(req)
		})
	}
	op := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.fails("created", kopf.Temporaryf(2*time.Second, "not yet")), kopf.ID("created"))
	}, setup{wrap: refuse, settings: func(s *kopf.Settings) {
		s.Networking.ErrorBackoffs = slices.Values([]time.Duration(nil))
	}})
	w.create(example("x"))
	w.untilHandled("x")
	c.are(t, "created", "created")
	op.journal.wait(t, "The object cannot be touched, and its delayed handlers wait: it is tried again in 1s.", 2)
}
