package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// planted are values that must not be in anything that is written; each place has its own.
type planted map[string]string

func (p planted) base64(place string) string {
	return base64.StdEncoding.EncodeToString([]byte(p[place]))
}

// wantNone fails the test if a text has one of the values.
func (p planted) wantNone(t *testing.T, where, text string) {
	t.Helper()
	for place, value := range p {
		for _, spelling := range []string{value, base64.StdEncoding.EncodeToString([]byte(value))} {
			if i := strings.Index(text, spelling); i >= 0 {
				t.Errorf("%s shows the %s: …%s", where, place, text[max(0, i-200):min(len(text), i+len(spelling)+20)])
			}
		}
	}
}

// messages collects the inspector's stream.
func messages(t *testing.T, op *kopftest.Operator) func() string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all strings.Builder
	ended := make(chan struct{})
	client := op.Inspector()
	if err := client.Do(ctx, inspect.Intent{Kind: inspect.IntentLogLevel, Value: "debug"}); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(ended)
		for m, err := range client.Messages(ctx) {
			if err != nil {
				return
			}
			text, err := json.Marshal(m)
			if err != nil {
				t.Error(err)
			}
			all.Write(text)
		}
	}()
	return func() string {
		cancel()
		<-ended
		return all.String()
	}
}

func TestSecrets_AreInNothingThatIsWritten(t *testing.T) {
	cluster, p := newCluster(t), planted{}
	for _, place := range []string{
		"data", "other-data", "changed-data", "added-data", "patched-data", "wanted", "field", "changed-field", "listed-field", "patched-field",
	} {
		p[place] = "planted-" + place + "-5up3r"
	}
	first, second := p["field"], p["changed-field"]
	stored := make(chan string, 10)
	op := cluster.Run(func(reg *kopf.Registry) {
		secrets := kopf.Resource("v1", "secrets")
		kopf.OnCreate(reg, secrets, func(_ context.Context, c *change) error {
			c.Logger.Info("creating with "+p["data"], "data", c.Object.Get("data"), "password", p["data"])
			c.Recorder.Info("Created", "with "+p["data"])
			c.Patch.Set("data.patched", p.base64("patched-data"))
			return nil
		}, kopf.ID("create"))
		kopf.OnUpdate(reg, secrets, func(_ context.Context, c *change) error {
			if c.Retry == 0 {
				return fmt.Errorf("the password %s is not %s", p["data"], p["changed-data"])
			}
			if c.Retry == 1 {
				panic("bad password " + p["changed-data"])
			}
			return kopf.Permanentf("the password %s does not fit", p["changed-data"])
		}, kopf.ID("update"), kopf.Field("data.added"), kopf.Backoff(time.Millisecond))
		kopf.OnUpdate(reg, secrets, func(context.Context, *change) error { return nil }, kopf.ID("filtered"),
			kopf.Field("data.password"), kopf.Value(p.base64("wanted")))
		kopf.Daemon(reg, secrets, func(_ context.Context, d *run) error {
			d.Logger.Info("daemon with " + p["data"])
			return kopf.Temporaryf(time.Hour, "daemon cannot use %s", p["data"])
		}, kopf.ID("daemon"))
		kopf.NewIndex(reg, secrets, func(_ context.Context, c *indexed) (map[string]string, error) {
			return map[string]string{c.Name: fmt.Sprint(c.Object.Get("data"))}, nil
		}, kopf.ID("by_name"))
		kopf.OnUpdate(reg, kexes, func(_ context.Context, c *change) error {
			c.Patch.Set("spec.users", []any{tree{"password": p["patched-field"]}})
			c.Patch.Set("status.password", p["field"])
			stored <- second
			return nil
		}, kopf.ID("fields"))
	}, func(o *kopf.Operator) {
		o.Settings.Redaction.Fields = []kopf.Path{"spec.password", "spec.users.password", "status.password"}
		o.Settings.Posting.Loggers = true
		o.Namespaces = []string{cluster.Namespace}
	})
	stream := messages(t, op)

	secret := cluster.Create(tree{
		"apiVersion": "v1", "kind": "Secret", "metadata": tree{"name": "db"},
		"data": tree{"password": p.base64("data"), "key": p.base64("other-data")},
	})
	op.WaitHandled(secret)
	object := cluster.Create(kex.of(tree{"metadata": tree{"name": "x"}, "spec": tree{"password": first, "users": []any{tree{"password": p["listed-field"]}}}}))
	op.WaitHandled(object)
	secret.Patch(tree{"data": tree{"password": p.base64("changed-data"), "added": p.base64("added-data"), "key": nil}})
	op.WaitLog("does not fit")
	object.Patch(tree{"spec": tree{"password": second}})
	<-stored
	op.WaitHandled(object)

	page, err := op.Inspector().Index(t.Context(), "by_name", 0, 100)
	if err != nil || len(page.Entries) == 0 {
		t.Fatalf("%+v, %v", page, err)
	}
	p.wantNone(t, "the index", fmt.Sprintf("%+v", page))
	events := cluster.WaitList("events.v1", "the failure is posted", func(list []*kopf.Object) bool {
		return slices.ContainsFunc(list, func(e *kopf.Object) bool { return strings.Contains(fmt.Sprint(e.Get("message")), "does not fit") })
	})
	for _, e := range events {
		p.wantNone(t, "an event", fmt.Sprint(e.Get("")))
	}
	op.Stop()
	said := stream()
	for where, text := range map[string]string{"the log": op.Log(), "the inspector": said} {
		p.wantNone(t, where, text)
		for _, mark := range []string{"data.password", "[redacted]", "does not fit", "cannot use"} {
			if !strings.Contains(text, mark) {
				t.Errorf("%s does not tell of %s", where, mark)
			}
		}
	}
}
