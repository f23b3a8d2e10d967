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
	cluster, c := newCluster(t), &calls{}
	var healed atomic.Bool
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			c.add(r.Name)
			return nil
		}, kopf.ID("created"), kopf.When(func(r *kopf.Request) bool {
			if r.Name == "bad" && !healed.Load() {
				panic("filtered badly")
			}
			return true
		}))
	}, settings(func(s *kopf.Settings) {
		s.Queueing.ErrorDelays = slices.Values([]time.Duration{50 * time.Millisecond})
	}))
	bad := cluster.Create(example("bad"))
	op.WaitLogs("Handling has failed: it is throttled for 50ms.", 2)
	good := cluster.Create(example("good"))
	waitHandled(good)
	healed.Store(true)
	waitHandled(bad)
	c.are(t, "good", "bad")
	told := false
	for _, e := range op.LogEntries() {
		told = told || strings.Contains(e.String(), "filtered badly") && strings.Contains(e.String(), "mishaps_test.go")
	}
	if !told {
		t.Errorf("nobody tells what has panicked, and where:\n%v", op.Log())
	}
}

func TestRefusedTransformationsAreToldAndDoNotKeepAnObject(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnDelete(r, kexes, func(_ context.Context, r *change) error {
			c.add("deleted")
			kopf.Transform(r.Patch, func(o *labelled) { o.Metadata.Labels = map[string]string{"bad": "no such label!"} })
			return nil
		}, kopf.ID("deleted"))
	}, settings(func(s *kopf.Settings) {
		s.Queueing.ErrorDelays = slices.Values([]time.Duration{50 * time.Millisecond})
	}))
	x := cluster.Create(example("x"))
	waitHandled(x)
	x.Delete()
	x.WaitGone()
	c.are(t, "deleted")
	told := false
	for _, e := range op.LogEntries() {
		told = told || strings.Contains(e.String(), "what was to be transformed is given up") && strings.Contains(e.String(), "no such label!")
	}
	if !told {
		t.Errorf("nobody tells what is refused:\n%v", op.Log())
	}
}

type labelled struct {
	Metadata struct {
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
}

func TestRetriesSurviveATouchThatFails(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
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
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.fails("created", kopf.Temporaryf(2*time.Second, "not yet")), kopf.ID("created"))
	}, transport(refuse), settings(func(s *kopf.Settings) {
		s.Networking.ErrorBackoffs = slices.Values([]time.Duration(nil))
	}))
	x := cluster.Create(example("x"))
	waitHandled(x)
	c.are(t, "created", "created")
	op.WaitLogs("The object cannot be touched, and its delayed handlers wait: it is tried again in 1s.", 2)
}
