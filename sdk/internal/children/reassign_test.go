package children

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// entryText returns an element of managedFields.
func entryText(manager, operation, fields string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":%s,"manager":%q,"operation":%q,"time":"2026-01-01T00:00:05Z"}`, fields, manager, operation)
}

func TestReassign_EachFieldGetsItsManager(t *testing.T) {
	const (
		label    = `"f:metadata":{"f:labels":{"f:a":{}}}`
		labelled = `{` + label + `}`
		data     = `"f:data":{".":{},"f:password":{},"f:user":{}}`
	)
	main := func(fields string) string { return entryText("kopf.dev/webs", "Apply", fields) }
	once := func(fields string) string { return entryText("kopf.dev/webs-once", "Apply", fields) }
	other := entryText("kubectl", "Update", `{"f:data":{"f:password":{}}}`)
	before := entryText("before-first-apply", "Update", `{`+data+`,"f:type":{}}`)
	for name, tt := range map[string]struct {
		once string
		has  []string
		want []string // nil if nothing is to be changed
	}{
		"nothing once":              {"", []string{main(`{` + data + `}`), other}, nil},
		"all of a map":              {"data", []string{main(`{` + data + `,` + label + `}`)}, []string{main(labelled), once(`{` + data + `}`)}},
		"a member of a map":         {"data.password", []string{main(`{` + data + `}`), other}, []string{other, main(`{"f:data":{".":{},"f:user":{}}}`), once(`{"f:data":{"f:password":{}}}`)}},
		"the last member":           {"data.a", []string{main(`{"f:data":{".":{},"f:a":{}},` + label + `}`)}, []string{main(labelled), once(`{"f:data":{"f:a":{}}}`)}},
		"a part of an atomic value": {"spec.selector.app", []string{main(`{"f:spec":{"f:selector":{},"f:type":{}}}`)}, []string{main(`{"f:spec":{"f:type":{}}}`), once(`{"f:spec":{"f:selector":{}}}`)}},
		"done before":               {"data.password", []string{main(labelled), once(`{"f:data":{"f:password":{}}}`), other}, nil},
		"taken by others":           {"data.password", []string{main(labelled), other}, nil},
		"a further field":           {"data.password type", []string{main(`{` + label + `,"f:type":{}}`), once(`{"f:data":{"f:password":{}}}`)}, []string{main(labelled), once(`{"f:data":{"f:password":{}},"f:type":{}}`)}},
		"a field that is once no more": {"type", []string{main(labelled), once(`{"f:data":{"f:password":{}},"f:type":{}}`)},
			[]string{main(`{"f:data":{"f:password":{}},` + label + `}`), once(`{"f:type":{}}`)}},
		"the last field that is once no more": {"", []string{main(`{"f:data":{".":{},"f:user":{}}}`), once(`{"f:data":{"f:password":{}}}`)},
			[]string{main(`{` + data + `}`)}},
		"fields from before the first apply": {"data.password", []string{main(labelled), before}, []string{main(labelled), once(`{"f:data":{"f:password":{}}}`)}},
		"only a former manager":              {"", []string{main(labelled), before, other}, []string{other, main(labelled)}},
		"an older version": {"data.password", []string{main(labelled), strings.Replace(once(`{"f:data":{"f:password":{}}}`), `"v1"`, `"v1beta1"`, 1)},
			[]string{main(labelled), once(`{"f:data":{"f:password":{}}}`)}},
		"another operator": {"data", []string{entryText("kopf.dev/others", "Apply", `{`+data+`}`), other}, nil},
		"no entries":       {"data", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			lens := claimLens
			for path := range strings.FieldsSeq(tt.once) {
				lens.Once = append(lens.Once, strings.Split(path, "."))
			}
			got := lens.Reassign(managedBy(t, tt.has))
			var texts []string
			for _, entry := range got {
				text, err := json.Marshal(entry)
				if err != nil {
					t.Fatal(err)
				}
				texts = append(texts, string(text))
			}
			if !slices.Equal(texts, tt.want) {
				t.Fatalf("got\n%s\nwant\n%s", strings.Join(texts, "\n"), strings.Join(tt.want, "\n"))
			}
			if again := lens.Reassign(managedBy(t, texts)); again != nil {
				t.Errorf("the result is reassigned again: %v", again)
			}
		})
	}
}

func managedBy(t *testing.T, entries []string) *object.Object {
	t.Helper()
	return claimed(t, `,"managedFields":[`+strings.Join(entries, ",")+`]`)
}
