package main

import (
	"os"
	"strings"
	"testing"
)

// examples are sentences with the rules that object to them, in the order of the rules' names.
var examples = []struct {
	text  string
	kind  kind
	rules string
}{
	{"of the handlers that run", fieldComment, "Headless"},
	{"of the handlers that run", bodyComment, ""},
	{"nil if no handler runs", fieldComment, ""},
	{"run removes what the operator left", internalComment, "FreeRelative"},
	{"run reports whether it ended", internalComment, ""},
	{"Sink tells readers about it.", exportedComment, "Tell"},
	{"it did not tell the log", errorString, ""},
	{"Its errors are like those of the client.", exportedComment, "ThatOf"},
	{"the record is remembered that is outdated", internalComment, "Extraposed"},
	{"it calls handlers of\nupdates first", internalComment, "HandlersOf"},
	{"the task is not waited for", bodyComment, "Stranded"},
	{"nil if nobody asked", fieldComment, "Nobody"},
	{"Thaw lets the engine continue.", exportedComment, "Let"},
	{"Thaw lets go of the lock.", exportedComment, ""},
	{"the former leader does not act anymore", logMessage, "Terms Terms"},
	{"It is one of those that it gave them. They run.", exportedComment, "Pronouns"},
	{"It is one of those. They gave it to them.", exportedComment, ""},
}

func TestRules_FindTheirExamples(t *testing.T) {
	rules, err := readRules("../../" + stylesDir)
	if err != nil {
		t.Fatal(err)
	}
	met := map[string]bool{}
	for _, example := range examples {
		var names []string
		for _, f := range check(rules, []unit{{kind: example.kind, file: "a.go", line: 1, text: example.text}}) {
			if f.rule.counted() {
				names = append(names, f.rule.Name)
				met[f.rule.Name] = true
			}
		}
		if got := strings.Join(names, " "); got != example.rules {
			t.Errorf("%q as a %s: the rules that object are %q, want %q", example.text, example.kind, got, example.rules)
		}
	}
	for _, r := range rules {
		if r.counted() && !met[r.Name] {
			t.Errorf("the rule %s has no example in this test", r.Name)
		}
	}
}

func TestRules_MessageNamesReplacementAndMatch(t *testing.T) {
	r, err := parseRule("Terms", []byte("extends: substitution\nlevel: error\nmessage: \"Use '%s' instead of '%s'.\"\nswap:\n  former: previous\n"))
	if err != nil {
		t.Fatal(err)
	}
	found := check([]*rule{r}, []unit{{kind: paragraph, file: "a.md", line: 7, text: "The\nformer leader"}})
	if len(found) != 1 || found[0].String() != "a.md:8: Terms: Use 'previous' instead of 'former'." {
		t.Errorf("findings are %v", found)
	}
}

func TestRules_InvalidOnesAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"unknown key":    "extends: existence\nlevel: error\ntokens: [a]\nvocab: true\n",
		"unknown check":  "extends: readability\nlevel: error\n",
		"unknown level":  "extends: existence\nlevel: fatal\ntokens: [a]\n",
		"unknown scope":  "extends: existence\nlevel: error\nscope: heading\ntokens: [a]\n",
		"no tokens":      "extends: existence\nlevel: error\n",
		"no reason":      "extends: existence\nlevel: error\ntokens: [a]\nexceptions: {b: ''}\n",
		"bad expression": "extends: existence\nlevel: error\ntokens: ['(']\n",
	} {
		if _, err := parseRule(name, []byte(text)); err == nil {
			t.Errorf("%s: the rule was accepted", name)
		}
	}
	if _, err := readRules(t.TempDir()); err == nil {
		t.Error("a folder without rules was accepted")
	}
}

func TestRules_ExceptionCoversOnlyItsText(t *testing.T) {
	r, err := parseRule("Terms", []byte("extends: substitution\nlevel: error\nmessage: \"%s, %s\"\nswap:\n  gone: deleted\n"+
		"exceptions:\n  Peers are gone.: a message of Kopf for Python\n"))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		"Resuming. Peers are gone.":                   0,
		"Peers are\ngone. Peers are gone.":            0,
		"Peers are gone. Peers that are gone return.": 1,
		"The peers are gone":                          1,
	} {
		if found := check([]*rule{r}, []unit{{kind: logMessage, file: "a.go", line: 1, text: text}}); len(found) != want {
			t.Errorf("%q: findings are %v, want %d", text, found, want)
		}
	}
}

func TestBaseline_CountsOnlyFall(t *testing.T) {
	r, err := parseRule("Tell", []byte("extends: existence\nlevel: error\nmessage: \"'%s'\"\ntokens: [tells]\n"))
	if err != nil {
		t.Fatal(err)
	}
	rules := []*rule{r}
	file := t.TempDir() + "/baseline.json"
	compare := func(text string, update bool) (string, error) {
		t.Helper()
		units := []unit{{kind: paragraph, file: "docs/a.md", line: 1, text: text}}
		var out strings.Builder
		err := compareWithBaseline(file, rules, check(rules, units), update, &out)
		return out.String(), err
	}
	if _, err := compare("It tells.", false); err == nil {
		t.Error("a missing baseline was accepted")
	}
	if _, err := compare("It tells, and tells.", true); err != nil {
		t.Error("the first baseline was not written:", err)
	}
	if _, err := compare("It tells, and tells.", false); err != nil {
		t.Error("the counts of the baseline were refused:", err)
	}
	if out, err := compare("It tells, tells, tells.", false); err == nil || !strings.Contains(out, "docs/a.md:1: Tell") {
		t.Errorf("a count above the baseline: %v, printed %q", err, out)
	}
	if _, err := compare("It tells, tells, tells.", true); err == nil {
		t.Error("-update raised a count")
	}
	if out, err := compare("It tells.", false); err != nil || !strings.Contains(out, "can be lowered") {
		t.Errorf("a lower count: %v, printed %q", err, out)
	}
	if _, err := compare("It tells.", true); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Join(strings.Fields(string(text)), "") != `{"Tell":{"docs":1}}` {
		t.Errorf("the baseline is %s, %v", text, err)
	}
}

func TestSubject_FormLengthAndImperative(t *testing.T) {
	for subject, ok := range map[string]bool{
		"kube: retry requests that race with a re-login": true,
		"cmd/kopf, tui: embed the help":                  true,
		"docs/decisions: pass the test":                  true,
		".ci: focus on one package":                      true,
		"Merge branch 'x'":                               true,
		"Retry requests":                                 false,
		"kube: Retry requests":                           false,
		"kube: retried requests":                         false,
		"kube: retries requests":                         false,
		"kube: retrying requests":                        false,
		"kube: " + strings.Repeat("x", 67):               false,
		"":                                               false,
	} {
		if err := checkSubject(subject); (err == nil) != ok {
			t.Errorf("%q: %v", subject, err)
		}
	}
}
