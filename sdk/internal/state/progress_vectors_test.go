package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/vectors"
)

func TestVectors_ProgressStorage(t *testing.T) {
	type vector struct {
		Op      string          `json:"op"`
		Storage string          `json:"storage"`
		Body    json.RawMessage `json:"body"`
		Handler string          `json:"handler"`
		Record  json.RawMessage `json:"record"`
		Value   string          `json:"value"`
		Essence json.RawMessage `json:"essence"`
		Cleared json.RawMessage `json:"cleared"`
		Patch   json.RawMessage `json:"patch"`
	}
	vectors.Run(t, "progress_storage.json", func(t *testing.T, v *vector) error {
		s := progressOfVector(v.Storage)
		if s == nil {
			return fmt.Errorf("unknown storage %q", v.Storage)
		}
		body, _ := decoded(t, v.Body).(map[string]any)
		p := patch.NewPatch()
		var err error
		switch v.Op {
		case "fetch":
			got, err := s.Fetch(body, v.Handler)
			return expect("record", record(t, v.Record), got, err)
		case "clear":
			essence := decoded(t, v.Essence).(map[string]any)
			return expect("cleared essence", decoded(t, v.Cleared), any(s.Clear(essence)), nil)
		case "store":
			err = s.Store(body, v.Handler, *record(t, v.Record), p)
		case "store+purge":
			err = errors.Join(s.Store(body, v.Handler, *record(t, v.Record), p), s.Purge(body, v.Handler, p))
		case "purge":
			err = s.Purge(body, v.Handler, p)
		case "touch":
			err = s.Touch(body, v.Value, p)
		default:
			err = fmt.Errorf("unknown operation %q", v.Op)
		}
		return expect("patch", decoded(t, v.Patch), any(p.Tree()), err)
	})
}

func TestVectors_HandlerState(t *testing.T) {
	type counts map[string]int
	type vector struct {
		Now       string                     `json:"now"`
		Records   map[string]json.RawMessage `json:"records"`
		Active    []string                   `json:"active_handlers"`
		Owned     []string                   `json:"owned_handlers"`
		Purpose   string                     `json:"purpose"`
		Error     string                     `json:"error"`
		Done      bool                       `json:"done"`
		Delays    []float64                  `json:"delays"`
		Counts    counts                     `json:"counts"`
		Extras    map[string]counts          `json:"extras"`
		Awakened  bool                       `json:"a_awakened"`
		Purge     json.RawMessage            `json:"purge_patch"`
		DoneAfter bool                       `json:"done_after_success_of_a"`
	}
	asCounts := func(c Counts) counts {
		return counts{"success": c.Success, "failure": c.Failure, "running": c.Running}
	}
	vectors.Run(t, "handler_state.json", func(t *testing.T, v *vector) error {
		now, err := object.ParseTime(v.Now)
		if err != nil {
			return err
		}
		annotations := map[string]any{}
		for id, raw := range v.Records {
			if decoded(t, raw) != nil {
				annotations["kopf.zalando.org/"+id] = string(raw)
			}
		}
		object := map[string]any{"metadata": map[string]any{"annotations": annotations}}
		s, err := ReadProgress(object, NewSmartProgress(), v.Owned, now)
		if err != nil {
			return err
		}
		s = s.WithPurpose(v.Purpose).WithHandlers(v.Active, now)
		if v.Error != "" {
			if len(s.Delays(now)) == 0 {
				return errors.New("times without a zone were not read")
			}
			return vectors.Differs("times without a zone are in UTC")
		}
		delays := []float64{}
		for _, d := range s.Delays(now) {
			delays = append(delays, d.Seconds())
		}
		extras := map[string]counts{}
		for purpose, c := range s.Extras() {
			extras[purpose] = asCounts(c)
		}
		a, _ := s.Handler("a")
		purged := patch.NewPatch()
		errPurge := s.Purge(object, NewSmartProgress(), v.Owned, purged)
		after, errOutcomes := s.WithOutcomes(map[string]handlers.Outcome{"a": {Final: true}}, now)
		return errors.Join(
			errPurge, errOutcomes,
			expect("done", v.Done, s.Done(), nil),
			expect("delays", v.Delays, delays, nil),
			expect("counts", v.Counts, asCounts(s.Counts()), nil),
			expect("extras", v.Extras, extras, nil),
			expect("awakened", v.Awakened, a.Awakened(now), nil),
			expect("purge patch", decoded(t, v.Purge), any(purged.Tree()), nil),
			expect("done after success", v.DoneAfter, after.Done(), nil),
		)
	})
}

// record parses a record independently of the code under test.
func record(t *testing.T, raw json.RawMessage) *Record {
	t.Helper()
	fields, ok := decoded(t, raw).(map[string]any)
	if !ok {
		return nil
	}
	known := maps.Clone(fields)
	text := func(name string) string {
		s, _ := known[name].(string)
		delete(known, name)
		return s
	}
	at := func(name string) time.Time {
		s := text(name)
		if s == "" {
			return time.Time{}
		}
		value, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return value.UTC()
	}
	r := &Record{
		Started: at("started"), Stopped: at("stopped"), Delayed: at("delayed"),
		Purpose: text("purpose"), Message: text("message"),
	}
	retries, _ := known["retries"].(int64)
	r.Retries = int(retries)
	r.Success, _ = known["success"].(bool)
	r.Failure, _ = known["failure"].(bool)
	subrefs, _ := known["subrefs"].([]any)
	for _, id := range subrefs {
		r.Subrefs = append(r.Subrefs, id.(string))
	}
	for _, name := range []string{"retries", "success", "failure", "subrefs"} {
		delete(known, name)
	}
	if len(known) > 0 {
		t.Fatalf("the vectors have fields that this test does not know: %v", known)
	}
	return r
}
