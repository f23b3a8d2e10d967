package runner

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// looks answers the looks of an attachment.
type looks struct {
	answer atomic.Pointer[func(Look) (Looked, error)]
	slow   chan struct{} // closed by the first look while there is no answer
	asked  sync.Once     // closes slow once: the attachment repeats a slow look
}

func (l *looks) look(ctx context.Context, _ *inspect.Client, what Look) (Looked, error) {
	if answer := l.answer.Load(); answer != nil {
		return (*answer)(what)
	}
	l.asked.Do(func() { close(l.slow) })
	<-ctx.Done()
	return Looked{}, ctx.Err()
}

func (l *looks) are(answer func(Look) (Looked, error)) { l.answer.Store(&answer) }

func named(what Look) (Looked, error) {
	return Looked{Object: what.Object, Facet: what.Facet, Loaded: true, YAML: []string{"name: " + what.Object.Name}}, nil
}

func TestAttachment_LooksAtOneFacetAtATime(t *testing.T) {
	dir, err := os.MkdirTemp("", "kopf-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) //nolint:errcheck // the socket may be gone
	socket := filepath.Join(dir, "s")
	op, answers := serveInspected(t, socket), &looks{slow: make(chan struct{})}
	a, wait, _ := attachedTo(t, AttachOptions{Address: "unix:" + socket, ReadOnly: true, Look: answers.look})
	op.messages <- snapshotOf(1)
	wait("the operator is seen", func(s *State) bool { return s.Live })
	look := func(name string, facet Facet) error {
		return a.Do(t.Context(), Intent{Kind: IntentLook, Object: &inspect.Ref{Name: name}, Value: string(facet)})
	}
	if err := look("slow", FacetObject); err != nil {
		t.Fatal(err)
	}
	if s := a.State(); s.Looked == nil || s.Looked.Loaded || s.Looked.Object.Name != "slow" {
		t.Errorf("before the answer, it looks at %+v", s.Looked)
	}
	<-answers.slow
	answers.are(named)
	for _, what := range []struct {
		name  string
		facet Facet
	}{{"one", FacetEvents}, {"two", FacetEvents}, {"two", FacetObject}} {
		if err := look(what.name, what.facet); err != nil {
			t.Fatal(err)
		}
		wait("it looks at "+what.name, func(s *State) bool {
			return s.Looked != nil && s.Looked.Facet == what.facet && strings.Join(s.Looked.YAML, "") == "name: "+what.name
		})
	}
	if err := look("one", "everything"); err == nil || !strings.Contains(err.Error(), `look at "everything": want object or events`) {
		t.Errorf("another facet: %v", err)
	}

	// The last YAML stays when the object can no longer be read.
	for text, err := range map[string]error{
		"403 forbidden":    &inspect.UnreadableError{Reason: "403 forbidden"},
		"an older release": &inspect.UnsupportedError{Path: inspect.EventsPath},
	} {
		answers.are(func(Look) (Looked, error) { return Looked{}, err })
		s := wait("the error is shown", func(s *State) bool { return s.Looked != nil && strings.Contains(s.Looked.Error, text) })
		if !s.Looked.Loaded || len(s.Looked.YAML) != 1 {
			t.Errorf("%s: it shows %+v", text, s.Looked)
		}
	}
	close(op.messages)
	op.server.Close()
	wait("the operator has ended", func(s *State) bool {
		return s.Process.Exit == "the operator was killed, or the connection to it was cut"
	})
	answers.are(func(Look) (Looked, error) { return Looked{}, os.ErrNotExist })
	wait("the operator does not answer", func(s *State) bool {
		return s.Looked != nil && s.Looked.Error == "the operator does not answer; the object is read again when it runs"
	})

	if err := a.Do(t.Context(), Intent{Kind: IntentLook}); err != nil {
		t.Fatal(err)
	}
	wait("it looks at nothing", func(s *State) bool { return s.Looked == nil })
}

func TestAttachment_EventsAreReadLessOften(t *testing.T) {
	for facet, want := range map[Facet]int{FacetObject: 30, FacetEvents: 6} {
		t.Run(string(facet), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var readings int
				a, err := NewAttachment(AttachOptions{Address: "unix:/nowhere", Look: func(_ context.Context, _ *inspect.Client, what Look) (Looked, error) {
					readings++
					return named(what)
				}})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute-time.Second)
				defer cancel()
				a.followLook(ctx, &wantedLook{Look{Facet: facet}, &Looked{}})
				if readings != want {
					t.Errorf("it was read %d times in a minute, want %d", readings, want)
				}
			})
		})
	}
}

func TestAttachment_WithoutReaderLookIsRejected(t *testing.T) {
	a, err := NewAttachment(AttachOptions{Address: "unix:/nowhere"})
	if err != nil {
		t.Fatal(err)
	}
	err = a.Do(t.Context(), Intent{Kind: IntentLook, Object: &inspect.Ref{Name: "x"}, Value: string(FacetObject)})
	if err == nil || !strings.Contains(err.Error(), "does not read objects") {
		t.Errorf("it is %v", err)
	}
}
