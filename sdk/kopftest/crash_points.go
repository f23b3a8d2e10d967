package kopftest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// crashPoint is a moment at which an operator is killed: before or after the n-th of the same requests or calls.
type crashPoint struct {
	event string // such as "PATCH kopfexamples/demo"
	class string
	nth   int
	after bool
}

// String returns the description, such as "after PATCH kopfexamples/demo (2)".
func (p crashPoint) String() string {
	when := "before "
	if p.after {
		when = "after "
	}
	if p.nth == 1 {
		return when + p.event
	}
	return fmt.Sprintf("%s%s (%d)", when, p.event, p.nth)
}

// testName returns the name of the subtest. A slash would select by levels.
func (p crashPoint) testName() string {
	return strings.NewReplacer("/", " ", "(", "", ")", "").Replace(p.String())
}

// orderPoints returns the first point of each class, followed by the others in a random order, and the number of classes.
func orderPoints(points []crashPoint, random *rand.Rand) (ordered []crashPoint, classes int) {
	sorted := slices.SortedFunc(slices.Values(points), func(a, b crashPoint) int {
		return cmp.Or(cmp.Compare(a.event, b.event), cmp.Compare(a.nth, b.nth), strings.Compare(b.String(), a.String()))
	})
	seen := map[string]bool{}
	var others []crashPoint
	for _, point := range sorted {
		if seen[point.class] {
			others = append(others, point)
			continue
		}
		seen[point.class] = true
		ordered = append(ordered, point)
	}
	random.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	return append(ordered, others...), len(seen)
}

// isCrashPoint reports whether a request is a write at which an operator is killed. Leases and peering objects are written all
// the time, Kubernetes events get lost anyway, and reviews have no effect.
func isCrashPoint(r *http.Request) bool {
	plural := targetOf(r).plural
	return Writes(r) && !r.URL.Query().Has("dryRun") && plural != "" && plural != "leases" && plural != "events" &&
		!strings.HasSuffix(plural, "reviews") && !strings.HasSuffix(plural, "kopfpeerings")
}

// generatedSuffix is the end of a name that the API server has generated. Its alphabet has no vowels.
var generatedSuffix = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}$`)

// eventOf returns the description of a request that is equal in each run.
func eventOf(r *http.Request, namespace string) string {
	t := targetOf(r)
	parts := []string{t.plural, generatedSuffix.ReplaceAllString(strings.ReplaceAll(t.name, namespace, "NAMESPACE"), "-GENERATED"), t.subresource}
	return r.Method + " " + strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "/")
}

// classOf returns the method and the resource of a request, with the fields that it changes.
func classOf(r *http.Request, body []byte) string {
	t := targetOf(r)
	var content any
	var fields []string
	if json.Unmarshal(body, &content) == nil { // the body of a deletion may be empty
		fields = fieldsIn(content, "", 0)
	}
	return fmt.Sprint(r.Method, " ", t.plural, "/", t.subresource, " ", fields)
}

// fieldDepth is the depth to which the fields of a request are distinguished. Each annotation is a separate field.
const fieldDepth = 3

// fieldsIn returns the sorted paths of the fields of a merge patch or an object, and the operations of a JSON patch.
func fieldsIn(content any, path string, depth int) []string {
	switch content := content.(type) {
	case map[string]any:
		if op, ok := content["op"].(string); ok && depth == 0 {
			return []string{fmt.Sprint(op, " ", content["path"])}
		}
		if depth < fieldDepth && len(content) > 0 {
			var fields []string
			for _, key := range slices.Sorted(maps.Keys(content)) {
				fields = append(fields, fieldsIn(content[key], path+"."+key, depth+1)...)
			}
			return fields
		}
	case []any:
		if depth == 0 {
			var fields []string
			for _, item := range content {
				fields = append(fields, fieldsIn(item, path, depth)...)
			}
			return fields
		}
	case nil:
		return []string{"-" + path}
	}
	return []string{path}
}
