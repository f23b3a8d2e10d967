package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// takeovers are the calls that are left for objects in the states in which Kopf for Python left
// them, in the order of the versions in the file of the watch. A number counts the calls of one
// handler.
var takeovers = []struct {
	file     string
	register func(*examples, *kopf.Registry)
	left     []string
}{
	{
		file:     "03-exceptions",
		register: func(x *examples, r *kopf.Registry) { x.exceptions(r, 0, time.Second, time.Second) },
		left: []string{
			0: "message:1 success:4 failure:3 traceback:1",
			1: "success:4 failure:3 traceback:1",
			2: "success:3 failure:3 traceback:1",
			3: "success:3 failure:2 traceback:1",
			4: "success:3 failure:2",
			5: "success:3 failure:2",
			6: "success:2 failure:2",
			7: "success:2 failure:1",
			8: "success:2 failure:1",
			9: "success:1 failure:1",
			// The third attempt was the last.
			10: "success:1",
			11: "success:1",
			12: "",
		},
	},
	{
		file:     "05-handlers",
		register: (*examples).handlers,
		left: []string{
			0: "create_fn_1:1 create_fn_2:1 field_fn:1",
			1: "create_fn_1:1 create_fn_2:1 field_fn:1",
			2: "create_fn_2:1 field_fn:1",
			3: "field_fn:1",
			4: "resume_fn_1:1 resume_fn_2:1",
			// An operator that starts resumes together with the update that it finds.
			5: "resume_fn_1:1 update_fn:1 field_fn:1 resume_fn_2:1",
			6: "resume_fn_1:1 field_fn:1 resume_fn_2:1",
			7: "resume_fn_1:1 resume_fn_2:1",
			8: "resume_fn_1:1 update_fn:1 resume_fn_2:1",
			9: "resume_fn_1:1 resume_fn_2:1", 10: "resume_fn_1:1 resume_fn_2:1",
			11: "resume_fn_2:1",
			12: "resume_fn_1:1 resume_fn_2:1",
			13: "delete_fn_1:1 delete_fn_2:1",
			14: "delete_fn_2:1",
			// The records were purged ahead of the finalizer: there is no trace of the finished handlers.
			15: "delete_fn_1:1 delete_fn_2:1",
		},
	},
	{
		file:     "07-subhandlers",
		register: (*examples).subhandlers,
		left: []string{
			0: "create_fn:2 create_fn/item1:1 create_fn/item2:1",
			1: "create_fn:1 create_fn/item2:1",
			2: "",
		},
	},
	{
		file:     "11-filtering",
		register: (*examples).filtering,
		left: []string{
			1:  "10",
			2:  "9",
			3:  "8",
			4:  "7",
			5:  "6",
			6:  "5",
			7:  "4",
			8:  "3",
			9:  "2",
			10: "1",
			11: "0",
		},
	},
}

func TestTakeover_HandlingIsContinued(t *testing.T) {
	for _, takeover := range takeovers {
		t.Run(takeover.file, func(t *testing.T) {
			cluster := newCluster(t)
			x := &examples{}
			var names []string
			for i, object := range watched(t, takeover.file) {
				if i >= len(takeover.left) || takeover.left[i] == "" && i == 0 {
					continue
				}
				name := fmt.Sprintf("v%d", i)
				names = append(names, name)
				recreate(cluster, name, object)
			}
			op := cluster.Run(func(r *kopf.Registry) { takeover.register(x, r) })
			for _, name := range names {
				cluster.WaitUntil(name+" is handled or gone", func() bool {
					for _, o := range cluster.List(kex.name()) {
						if o.Get("metadata.name") == name {
							return handled(o)
						}
					}
					return true
				})
			}
			for i, want := range takeover.left {
				if name := fmt.Sprintf("v%d", i); slices.Contains(names, name) {
					if got := summary(x.calls.all(), name, want); got != want {
						t.Errorf("version %d: called %s; left to call: %s", i, got, want)
					}
				}
			}
			noWarning(t, op)
		})
	}
}

// summary counts the calls for an object, in the order and with the names of the wanted ones.
func summary(calls []string, name, want string) string {
	counts, total := map[string]int{}, 0
	for _, call := range calls {
		if handler, ok := strings.CutPrefix(call, name+" "); ok {
			counts[handler]++
			total++
		}
	}
	if want != "" && !strings.Contains(want, ":") {
		return fmt.Sprint(total)
	}
	var words []string
	for _, word := range strings.Fields(want) {
		short, _, _ := strings.Cut(word, ":")
		for handler := range counts {
			if handler == short || strings.HasPrefix(handler, "eventual_"+short) ||
				strings.HasPrefix(handler, "instant_failure_with_") && strings.HasSuffix(handler, short) {
				words = append(words, fmt.Sprintf("%s:%d", short, counts[handler]))
				delete(counts, handler)
				break
			}
		}
	}
	for handler, n := range counts {
		words = append(words, fmt.Sprintf("%s:%d", handler, n))
	}
	return strings.Join(words, " ")
}

// watched returns the versions of an object that Kopf for Python saw, with all times moved to
// the present.
func watched(t *testing.T, name string) []tree {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "traces", name+".watch.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	const format = "2006-01-02T15:04:05.000000-07:00"
	var versions []tree
	for scanner := bufio.NewScanner(bytes.NewReader(data)); scanner.Scan(); {
		var newest time.Time
		for _, text := range times.FindAllString(scanner.Text(), -1) {
			at, err := time.Parse(format, text)
			if err != nil {
				t.Fatal(err)
			}
			if at.After(newest) {
				newest = at
			}
		}
		shift := time.Since(newest)
		line := times.ReplaceAllStringFunc(scanner.Text(), func(text string) string {
			at, _ := time.Parse(format, text) // as above
			return at.Add(shift).UTC().Format(format)
		})
		var event struct {
			Type   string
			Object tree
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		if event.Type != "DELETED" {
			versions = append(versions, event.Object)
		}
	}
	return versions
}

// recreate creates a copy of an object under another name.
func recreate(cluster *kopftest.Cluster, name string, object tree) {
	cluster.T().Helper()
	metadata := object["metadata"].(tree)
	fresh := tree{"name": name}
	for _, key := range []string{"labels", "annotations", "finalizers"} {
		if value := metadata[key]; value != nil {
			fresh[key] = value
		}
	}
	made := cluster.Create(kex.of(tree{"metadata": fresh, "spec": object["spec"]}))
	if status := object["status"]; status != nil {
		made.Patch(tree{"status": status})
	}
	if metadata["deletionTimestamp"] != nil {
		made.Delete()
	}
}

func TestTakeover_ProgressInStatus(t *testing.T) {
	cluster, x := newCluster(t), &examples{}
	object := cluster.Create(example("x"))
	object.Patch(tree{"status": tree{"kopf": tree{"progress": tree{
		"create_fn_1": tree{"started": "2020-01-01T00:00:00.000000", "purpose": "create", "retries": 1, "success": true, "failure": false},
	}}}})
	cluster.Run(x.handlers)
	waitHandled(object)
	x.calls.are(t, "x create_fn_2", "x field_fn")
	object.WaitFor("it has no progress in the status", func(o *kopf.Object) bool { return o.Get("status.kopf.progress.create_fn_1") == nil })
}
