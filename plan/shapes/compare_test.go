package shapes

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/plan/proxy"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// child is the creation of a child of a claim, with fields of the spec.
func child(t *testing.T, i int, name, spec string) proxy.Request {
	r := volume(t, i, "1Gi")
	r.Name = name
	r.Body = fmt.Appendf(nil, `{"metadata":{"name":%q},"spec":%s}`, name, spec)
	r.After = tree(t, `{"metadata":{"name":%q,"uid":"u-%s"},"spec":%s}`, name, name, spec)
	return r
}

// handledClaims returns a trial in which a handler succeeds for each claim.
func handledClaims(claims int, requests ...proxy.Request) Trial {
	t := Trial{Requests: requests, Operator: inspect.Operator{Finalizer: finalizer, Started: start}}
	for i := range claims {
		t.Objects = append(t.Objects, claim(i, done(inspect.HandlerState{})))
	}
	return t
}

// failing returns a trial in which the handler fails for a claim.
func failing(t Trial, i int, message string) Trial {
	t.Objects = slices.Clone(t.Objects)
	t.Objects[i] = claim(i, done(inspect.HandlerState{State: inspect.PhaseFailed, Error: &inspect.HandlerError{Message: message}}))
	return t
}

// found returns the differences as texts.
func found(a *Against) []string {
	var all []string
	for _, d := range a.Differences {
		all = append(all, strings.Join(strings.Fields(d.text(nil)), " "))
	}
	return all
}

func TestCompare_Verdicts(t *testing.T) {
	old := handledClaims(7, child(t, 1, "claim-1-data", `{"storage":"1Gi"}`), volume(t, 2, "1Gi"), volume(t, 3, "1Gi"), volume(t, 6, "1Gi"))
	old = failing(old, 5, "claim-5 has no size")
	now := handledClaims(7, volume(t, 6, "1Gi"), volume(t, 3, "9Gi"), volume(t, 2, "9Gi"), recordsOf(t, 2, "9Gi"))
	now = failing(now, 4, "claim-4 is too large")
	a := Compare(now, old, old)
	want := []string{
		`1 newly fail claim app/claim-4 ~ handler create create: succeeds → fails + handler create create error: {name} is too large`,
		`1 differ claim app/claim-1 - persistentvolumeclaims.v1 {namespace}/{name}-data: create by create - persistentvolumeclaims.v1 {namespace}/{name}-data spec.storage: "1Gi"`,
		`1 differ claim app/claim-3 ~ persistentvolumeclaims.v1 {namespace}/{name}-data spec.storage: "1Gi" → "9Gi"`,
		`1 differ claim app/claim-2 + own changes: + finalizer, records ~ persistentvolumeclaims.v1 {namespace}/{name}-data spec.storage: "1Gi" → {spec.size}`,
		`1 would no longer fail claim app/claim-5 ~ handler create create: fails → succeeds - handler create create error: {name} has no size`,
	}
	got := found(a)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if first, last := a.Differences[0].Verdict, a.Differences[4].Verdict; first != NewlyFails || last != NoLongerFails || a.AsBefore != 2 || len(a.Noise) != 0 {
		t.Errorf("%s, %s, %d as before, noise: %q", first, last, a.AsBefore, a.Noise)
	}
	if text := a.sentence(); text != "1 newly fail, 3 differ, 1 would no longer fail, 2 as before" {
		t.Error(text)
	}
}

func TestCompare_EqualDifferencesAreOne(t *testing.T) {
	claims := many()
	trial := func(size string) Trial {
		var all []proxy.Request
		for i := range claims {
			all = append(all, volume(t, i, size))
		}
		return handledClaims(claims, all...)
	}
	a := Compare(trial("9Gi"), trial("1Gi"), trial("1Gi"))
	if len(a.Differences) != 1 || a.Differences[0].Count != claims || a.AsBefore != 0 {
		t.Errorf("%d differences, %d as before", len(a.Differences), a.AsBefore)
	}
}

// TestWrite_DifferencesInTheSameFieldsAreOneEntry compares builds that set a number of each claim to
// different values, and a tier to equal values. The handler fails for claim-2, and claim-1 has its number in the field b.
func TestWrite_DifferencesInTheSameFieldsAreOneEntry(t *testing.T) {
	trial := func(claims, shift int) Trial {
		var all []proxy.Request
		for i := range claims {
			other := "a"
			if i == 1 {
				other = "b"
			}
			all = append(all, child(t, i, fmt.Sprintf("claim-%d-data", i), fmt.Sprintf(`{%q:%d,"tier":"t-%d"}`, other, 10*i+10+shift, shift)))
		}
		return handledClaims(claims, all...)
	}
	field := "~ persistentvolumeclaims.v1 {namespace}/{name}-data spec."
	entries := func(claims int) (entries []string) {
		a := Compare(failing(trial(claims, 2), 2, "broken"), trial(claims, 1), trial(claims, 1))
		if len(a.Differences) != claims {
			t.Errorf("%d claims have %d differences in the report, want one for each", claims, len(a.Differences))
		}
		objects := 0
		for _, p := range a.parts() {
			objects += p.objects
			entries = append(entries, strings.Join(strings.Fields(p.body), " "))
		}
		if objects != claims {
			t.Errorf("the entries have %d objects, want %d", objects, claims)
		}
		return entries
	}
	got := entries(7)
	for i, want := range []string{
		"1 newly fail claim app/claim-2 ~ handler create create: succeeds → fails",
		"5 differ claim app/claim-0, app/claim-3, app/claim-4, … " + field + "a: ",
		"1 differ claim app/claim-1 " + field + "b: 21 → 22 " + field + `tier: "t-1" → "t-2"`,
	} {
		if len(got) != 3 || !strings.HasPrefix(got[i], want) {
			t.Fatalf("got\n%s\nwant the start\n%s", strings.Join(got, "\n"), want)
		}
	}
	example := regexp.MustCompile(`a: (\d)1 → (\d)2 \(app/claim-(\d); 5 different values: see --report=FILE\) ` + regexp.QuoteMeta(field+`tier: "t-1" → "t-2"`) + "$").FindStringSubmatch(got[1])
	if example == nil || example[1] != example[2] || example[1] != fmt.Sprint(int(example[3][0]-'0')+1) {
		t.Errorf("the entry is %s", got[1])
	}
	// Three objects with the same fields are shown one by one.
	if got := entries(5); len(got) != 5 {
		t.Errorf("five claims have the entries\n%s", strings.Join(got, "\n"))
	}
}

func TestCompare_NoiseIsMaskedAndCounted(t *testing.T) {
	// All names, keys and values with the mark are random.
	run := func(mark, real string) Trial {
		job := child(t, 0, "job-"+mark, fmt.Sprintf(`{"token":"t-%s","key-%s":"x","real":%s}`, mark, mark, real))
		stray := child(t, 0, "stray-"+mark, `{"real":1}`)
		stray.Handler, stray.UID = "", ""
		return handledClaims(1, job, stray)
	}
	field := "persistentvolumeclaims.v1 {namespace}/job-a spec."
	a := Compare(run("n", "1"), run("a", "1"), run("b", "1"))
	noise := []string{
		"persistentvolumeclaims.v1 without a handled object", "persistentvolumeclaims.v1 {namespace}/job-a name", field + "key-a", field + "key-b", field + "token",
	}
	if len(a.Differences) != 0 || a.AsBefore != 1 || !slices.Equal(a.Noise, noise) {
		t.Errorf("%q, %d as before, noise\n%s", found(a), a.AsBefore, strings.Join(a.Noise, "\n"))
	}
	if text := a.noise(); !strings.Contains(text, "5 fields not compared") {
		t.Error(text)
	}

	a = Compare(run("n", "2"), run("a", "1"), run("b", "1"))
	if want := "1 differ claim app/claim-0 ~ " + field + "real: 1 → 2"; !slices.Equal(found(a), []string{want}) {
		t.Errorf("got %q, want %q", found(a), want)
	}

	// With a new field, one of two new keys is random: both are shown.
	a = Compare(run("n", `1,"new":3`), run("a", "1"), run("b", "1"))
	if want := "1 differ claim app/claim-0 + " + field + `key-n: "x" + ` + field + "new: 3"; !slices.Equal(found(a), []string{want}) {
		t.Errorf("got %q, want %q", found(a), want)
	}

	// Without noise, another name is a difference.
	a = Compare(run("n", "1"), run("a", "1"), run("a", "1"))
	if len(a.Noise) != 0 || !strings.Contains(strings.Join(found(a), "\n"), "name: {namespace}/job-a → {namespace}/job-n") {
		t.Errorf("%q, noise: %q", found(a), a.Noise)
	}
}

func TestCompare_ObjectsWithRandomNamesAreComparedWithTheirLikes(t *testing.T) {
	run := func(one, two string) Trial {
		return handledClaims(1, child(t, 0, "job-"+one, `{"size":1}`), child(t, 0, "job-"+two, `{"size":2}`))
	}
	a := Compare(run("z", "a"), run("b", "c"), run("d", "e"))
	if len(a.Differences) != 0 || a.AsBefore != 1 || len(a.Noise) != 2 {
		t.Errorf("%q, noise: %q", found(a), a.Noise)
	}
}

func TestCompare_NewFailuresAreNeverNoise(t *testing.T) {
	waiting := handledClaims(1)
	waiting.Objects[0] = claim(0, done(inspect.HandlerState{State: inspect.PhaseRetrying, Error: &inspect.HandlerError{Message: "not bound"}}))
	a := Compare(failing(handledClaims(1), 0, "broken"), handledClaims(1), waiting)
	if len(a.Differences) != 1 || a.Differences[0].Verdict != NewlyFails || !strings.Contains(found(a)[0], "handler create create: succeeds → fails") || len(a.Noise) == 0 {
		t.Errorf("%q, noise: %q", found(a), a.Noise)
	}
	// It failed in one of two runs of the other build, so it is not new.
	a = Compare(failing(handledClaims(1), 0, "broken"), handledClaims(1), failing(handledClaims(1), 0, "broken"))
	if len(a.Differences) != 0 || len(a.Noise) == 0 {
		t.Errorf("%q, noise: %q", found(a), a.Noise)
	}
}

func TestCompare_ValuesOfSecretsAreComparedAndNotShown(t *testing.T) {
	secret := func(mark string) Trial {
		return handledClaims(1, child(t, 0, "claim-0-data", fmt.Sprintf(`{"password":"redacted-%s"}`, mark)))
	}
	a := Compare(secret("00000002"), secret("00000001"), secret("00000001"))
	if got := strings.Join(found(a), "\n"); !strings.Contains(got, `spec.password: "{secret}" → "{secret}"`) || strings.Contains(got, "redacted-") {
		t.Error(got)
	}
	if a := Compare(secret("00000001"), secret("00000001"), secret("00000001")); len(a.Differences) != 0 || a.AsBefore != 1 {
		t.Error(found(a))
	}
}

func TestWrite_ComparisonShowsDifferencesAlone(t *testing.T) {
	p := plan(3)
	p.Against = Compare(failing(handledClaims(2), 1, "broken"), handledClaims(2), handledClaims(2))
	p.Against.Build, p.Against.Commit = "v1", "0123456789abcdef"
	var text, markdown strings.Builder
	if err := p.WriteText(&text, 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := p.WriteMarkdown(&markdown, 1<<20); err != nil {
		t.Fatal(err)
	}
	for _, got := range []string{text.String(), markdown.String()} {
		for _, want := range []string{"plan of ./handlers against v1 (0123456789ab)", "1 newly fail, 1 as before", "app/claim-1", "requests of v1 (0123456789ab): ", "noise: none", "not tried: "} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is missing:\n%s", want, got)
			}
		}
		if strings.Contains(got, "long long") {
			t.Errorf("a shape is shown:\n%s", got)
		}
	}
}
