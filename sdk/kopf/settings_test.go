package kopf

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/leases"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/kopf/election"
	"github.com/kopf-dev/kopf/sdk/kopf/lifecycle"
	"github.com/kopf-dev/kopf/sdk/kopf/meter"
	"github.com/kopf-dev/kopf/sdk/webhook"
)

func TestSettings_DefaultsMatchComments(t *testing.T) {
	got := (&Settings{}).engine("")
	if n := len(slices.Collect(got.ErrorDelays)); n != 15 {
		t.Errorf("%d error delays", n)
	}
	got.ErrorDelays = nil
	if fast := got.Lifecycle([]handlers.Due{{ID: "a", Retries: 1}, {ID: "b"}}); len(fast) != 1 || fast[0].ID != "b" {
		t.Errorf("the lifecycle chooses %v", fast)
	}
	got.Lifecycle = nil
	if n := len(slices.Collect(got.ErrorBackoffs)); n != 8 {
		t.Errorf("%d backoffs between attempts of requests", n)
	}
	got.ErrorBackoffs = nil
	if cause := got.Background.Cause(daemons.ResourceDeleted); cause != StopResourceDeleted { //nolint:errorlint // the very one
		t.Errorf("daemons are cancelled because of %v", cause)
	}
	got.Background.Cause = nil
	want := core.Settings{
		InactivityTimeout: 70 * time.Second, ReconnectBackoff: 100 * time.Millisecond,
		ExitTimeout:    2 * time.Second,
		ExitingTimeout: 10 * time.Minute,
		DefaultBackoff: time.Minute,
		Posting:        core.Posting{Component: "kopf", Instance: "dev", NamePrefix: "kopf-event-"},
		RequestTimeout: time.Minute, ConnectTimeout: 30 * time.Second, AnswerTimeout: 30 * time.Second,
		Finalizer: "kopf.zalando.org/KopfFinalizerMarker", ConsistencyTimeout: 5 * time.Second,
		Background: daemons.Settings{Polling: time.Minute, InstantExit: 10 * time.Millisecond},
		Peering:    core.Peering{Name: "default", Lifetime: time.Minute},
		Lease:      core.Lease{Times: leases.Times{Duration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}},
		Progress:   got.Progress, DiffBase: got.DiffBase,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(state.ProgressStorage(state.NewSmartProgress()), got.Progress); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestSettings_PrefixOfRegistryIsDefaultOfStorages(t *testing.T) {
	o := Operator{Registry: &Registry{Prefix: "claims.example.com"}}
	s := o.settings()
	got := s.engine(o.Registry.Prefix)
	if got.Finalizer != "claims.example.com/finalizer" {
		t.Errorf("the finalizer is %s", got.Finalizer)
	}
	progress := &state.AnnotationsProgress{Prefix: "claims.example.com", TouchKey: "touch-dummy", V1: true}
	if diff := cmp.Diff(state.ProgressStorage(progress), got.Progress); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	base := &state.AnnotationsDiffBase{Prefix: "claims.example.com", Key: "last-handled-configuration", V1: true}
	if diff := cmp.Diff(state.DiffBaseStorage(base), got.DiffBase); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}

	o.Settings.Persistence = PersistenceSettings{Finalizer: "mine/finalizer", ProgressStorage: failing{}, DiffBaseStorage: failingBase{}}
	s = o.settings()
	got = s.engine(o.Registry.Prefix)
	_, progressIsMine := got.Progress.(customProgress)
	_, baseIsMine := got.DiffBase.(customDiffBase)
	if got.Finalizer != "mine/finalizer" || !progressIsMine || !baseIsMine {
		t.Errorf("the settings have no precedence: %+v", got)
	}
}

// A setting that is not passed on would be ignored silently.
func TestSettings_EachReachesEngine(t *testing.T) {
	const published = "Process.Inspector" // it is published before the settings are certain
	groups := reflect.TypeFor[Settings]()
	for i := range groups.NumField() {
		group := groups.Field(i)
		for j := range group.Type.NumField() {
			field := group.Type.Field(j)
			t.Run(group.Name+"."+field.Name, func(t *testing.T) {
				var s Settings
				if group.Name+"."+field.Name == "Scaling.ShardByNamespace" {
					s.Scaling.Shards = 3 // there is no key without shards
				}
				before := describe(s.engine(""))
				set(t, reflect.ValueOf(&s).Elem().Field(i).Field(j))
				if after := describe(s.engine("")); after == before && group.Name+"."+field.Name != published {
					t.Errorf("the engine does not see it:\n%s", after)
				}
			})
		}
	}
}

// set gives a setting another value than its default.
func set(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Interface().(type) {
	case lifecycle.Func:
		v.Set(reflect.ValueOf(lifecycle.Func(func([]lifecycle.Due) []lifecycle.Due { return nil })))
		return
	}
	switch v.Type() {
	case reflect.TypeFor[[]Path]():
		v.Set(reflect.ValueOf([]Path{"spec.mine"}))
		return
	case reflect.TypeFor[[]string]():
		v.Set(reflect.ValueOf([]string{"mine"}))
		return
	case reflect.TypeFor[webhook.Listener]():
		v.Set(reflect.ValueOf(&webhook.Server{}))
		return
	case reflect.TypeFor[election.Elector]():
		v.Set(reflect.ValueOf(struct{ election.Elector }{}))
		return
	case reflect.TypeFor[meter.Meter]():
		v.Set(reflect.ValueOf(struct{ meter.Meter }{}))
		return
	case reflect.TypeFor[ProgressStorage]():
		v.Set(reflect.ValueOf(failing{}))
		return
	case reflect.TypeFor[DiffBaseStorage]():
		v.Set(reflect.ValueOf(failingBase{}))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(12345678)
	case reflect.String:
		v.SetString("mine")
	case reflect.Func:
		v.Set(reflect.ValueOf(slices.Values([]time.Duration{42})))
	default:
		t.Fatalf("no other value for a %s", v.Type())
	}
}

// describe returns a description of settings, for comparisons.
func describe(e core.Settings) string {
	delays := func(seq func(func(time.Duration) bool)) any {
		if seq == nil {
			return nil
		}
		return slices.Collect(seq)
	}
	chosen := e.Lifecycle([]handlers.Due{{ID: "a"}})
	errors, backoffs := delays(e.ErrorDelays), delays(e.ErrorBackoffs)
	storages := reflect.TypeOf(e.Progress).String() + reflect.TypeOf(e.DiffBase).String()
	metered := fmt.Sprint(e.Meter != nil)
	metered += fmt.Sprint(e.Admission.Serve != nil)
	e.Meter, e.Admission.Serve = nil, nil
	e.ErrorDelays, e.ErrorBackoffs, e.Lifecycle, e.Progress, e.DiffBase = nil, nil, nil, nil, nil
	return strings.Join([]string{cmp.Diff(e, core.Settings{}), cmp.Diff(chosen, nil), cmp.Diff(errors, nil), cmp.Diff(backoffs, nil), storages, metered}, "\n")
}

func TestSettings_NegativeDurationsMeanNone(t *testing.T) {
	var s Settings
	s.Execution.DefaultRetryDelay, s.Persistence.ConsistencyTimeout, s.Networking.ConnectTimeout = -1, -1, -1
	e := s.engine("")
	if e.DefaultBackoff != 0 || e.ConsistencyTimeout != 0 || e.ConnectTimeout >= 0 {
		t.Errorf("got %+v", e)
	}
	if e.Posting.Level != slog.LevelInfo {
		t.Errorf("got %v", e.Posting.Level)
	}
}

var errDown = errors.New("the database is down")

// failing is a user's storage that returns errors.
type failing struct{}

func (failing) Fetch(context.Context, *Object, string) (*ProgressRecord, error) { return nil, errDown }
func (failing) Store(context.Context, *Object, string, *ProgressRecord, *Patch) error {
	return errDown
}
func (failing) Purge(context.Context, *Object, string, *Patch) error { return errDown }
func (failing) Touch(context.Context, *Object, string, *Patch) error { return errDown }
func (failing) Clean(essence map[string]any)                         { delete(essence, "mine") }

// failingBase is a user's storage of diff bases that returns errors.
type failingBase struct{}

func (failingBase) Essence(_ *Object, essence map[string]any) map[string]any {
	essence["seen"] = true
	return essence
}
func (failingBase) Fetch(context.Context, *Object) (map[string]any, error) { return nil, errDown }
func (failingBase) Store(context.Context, *Object, map[string]any, *Patch) error {
	return errDown
}

func TestStorages_ErrorsNameStorage(t *testing.T) {
	p, object := patch.NewPatch(), map[string]any{"metadata": map[string]any{"name": "a"}}
	s, base := engineProgress(failing{}, ""), engineDiffBase(failingBase{}, "")
	_, fetched := s.Fetch(object, "create")
	_, fetchedBase := base.Fetch(object)
	for name, err := range map[string]error{
		"fetch": fetched, "store": s.Store(object, "create", state.Record{}, p),
		"purge": s.Purge(object, "create", p), "touch": s.Touch(object, "now", p),
		"fetch a base": fetchedBase, "store a base": base.Store(object, nil, object, nil, p),
	} {
		if !errors.Is(err, errDown) || !strings.HasPrefix(err.Error(), "kopf.failing") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestStorages_CustomOnesCannotModifyObject(t *testing.T) {
	obj := map[string]any{"spec": map[string]any{"size": int64(3)}, "mine": true}
	essence := engineDiffBase(failingBase{}, "").Essence(obj, []object.Path{{"spec"}})
	if essence["seen"] != true || obj["seen"] != nil {
		t.Errorf("got %v, %v", essence, obj)
	}
	essence["spec"].(map[string]any)["size"] = int64(4)
	if got := engineProgress(failing{}, "").Clear(obj); got["mine"] != nil {
		t.Errorf("got %v", got)
	}
	want := map[string]any{"spec": map[string]any{"size": int64(3)}, "mine": true}
	if diff := cmp.Diff(want, obj); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestRedactionSettings_PathsAreChecked(t *testing.T) {
	for _, path := range []Path{"", "spec..password", "spec.users[0].password"} {
		operator := Operator{Registry: new(Registry), AllNamespaces: true}
		operator.Settings.Redaction.Fields = []Path{path}
		if err := operator.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "Settings.Redaction.Fields") {
			t.Errorf("%q: %v", path, err)
		}
	}
}
