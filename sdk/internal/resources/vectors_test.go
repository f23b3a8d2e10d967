package resources

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/vectors"
)

// recorded are the resources of the recordings by their keys, and in their order.
func recorded(t *testing.T) ([]Resource, map[string]*Resource) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(vectors.Dir(), "_resources.json"))
	if errors.Is(err, os.ErrNotExist) {
		// Another folder of recordings may do without its own list.
		text, err = os.ReadFile(filepath.Join("..", "..", "testdata", "vectors", "_resources.json"))
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []Resource
	if err := json.Unmarshal(text, &all); err != nil { // matches names in any case
		t.Fatal(err)
	}
	byKey := map[string]*Resource{}
	for i := range all {
		byKey[all[i].Key()] = &all[i]
	}
	return all, byKey
}

type location struct {
	Resource    string            `json:"resource"`
	Server      *string           `json:"server"`
	Namespace   string            `json:"namespace"`
	Name        string            `json:"name"`
	Subresource string            `json:"subresource"`
	Params      map[string]string `json:"params"`
	URL         string            `json:"url"`
	Error       *string           `json:"error"`
	Message     string            `json:"message"`
}

func TestVectorsResourceURLs(t *testing.T) {
	_, byKey := recorded(t)
	messages := map[string]error{
		"Subresources can be used only with specific resources by their name.": errSubresourceOfList,
		"Specific namespaces are not supported for cluster-scoped resources.":  errClusterScoped,
		"Specific namespaces are required for specific namespaced resources.":  ErrNamespaceRequired,
	}
	vectors.Run(t, "resource_urls.json", func(_ *testing.T, v *location) error {
		r := byKey[v.Resource]
		if r == nil {
			return errors.New("unknown resource")
		}
		query := url.Values{}
		for key, value := range v.Params {
			query.Set(key, value)
		}
		got, err := r.Path(v.Namespace, v.Name, v.Subresource, query)
		if v.Error != nil {
			if want := messages[v.Message]; want == nil || !errors.Is(err, want) {
				return fmt.Errorf("got %q, %w", got, err)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if v.Server != nil {
			got = strings.TrimRight(*v.Server, "/") + got
		}
		// The recorded order of the parameters is the order of a dict in Python.
		gotPath, gotQuery, _ := strings.Cut(got, "?")
		wantPath, wantQuery, _ := strings.Cut(v.URL, "?")
		gotPairs, wantPairs := strings.Split(gotQuery, "&"), strings.Split(wantQuery, "&")
		slices.Sort(gotPairs)
		slices.Sort(wantPairs)
		if gotPath != wantPath || !slices.Equal(gotPairs, wantPairs) {
			return fmt.Errorf("got %q", got)
		}
		return nil
	})
}

type selection struct {
	Args   []*string         `json:"args"`
	Kwargs map[string]string `json:"kwargs"`
	Parsed map[string]any    `json:"parsed"`
	Error  *string           `json:"error"`

	Specific bool     `json:"is_specific"`
	Check    []string `json:"check"`
	Select   []string `json:"select"`

	OnEvent          []string `json:"served_with_on_event"`
	OnEventWarnings  []string `json:"warnings_with_on_event"`
	OnCreate         []string `json:"served_with_on_create"`
	OnCreateWarnings []string `json:"warnings_with_on_create"`
}

const pythonEverything = "EVERYTHING!"

func (v *selection) selector() (Selector, error) {
	var s Selector
	if len(v.Args) > 0 {
		words := make([]string, len(v.Args))
		for i, arg := range v.Args {
			if arg != nil {
				words[i] = strings.ReplaceAll(*arg, pythonEverything, Everything)
			}
		}
		var err error
		if s, err = parse(words); err != nil {
			return s, err
		}
		if v.Args[0] == nil { // any group, not the core one
			s.Core = false
		}
	}
	for key, value := range v.Kwargs {
		if value == "" && key != "group" && key != "version" {
			// In Go, a name that is empty is a name that is not given.
			return s, errNoName
		}
		switch key {
		case "group":
			s.setGroup(value)
		case "version":
			s.Version = value
		case "kind":
			s.Kind = value
		case "plural":
			s.Plural = value
		case "singular":
			s.Singular = value
		case "shortcut":
			s.Shortcut = value
		case "category":
			s.Category = value
		default:
			return s, fmt.Errorf("unknown keyword %q", key)
		}
	}
	return s, s.Validate()
}

func (v *selection) sameWords(s Selector) error {
	got := map[string]string{
		"group": s.Group, "version": s.Version, "kind": s.Kind, "plural": s.Plural, "singular": s.Singular,
		"shortcut": s.Shortcut, "category": s.Category, "any_name": s.Name,
	}
	for key, value := range got {
		want, _ := v.Parsed[key].(string)
		if strings.ReplaceAll(want, pythonEverything, Everything) != value {
			return fmt.Errorf("%s: got %q, want %q", key, value, want)
		}
	}
	if core := v.Parsed["group"] == ""; core != s.Core {
		return fmt.Errorf("core: got %v", s.Core)
	}
	return nil
}

func keys(rs []Resource) []string {
	found := []string{}
	for i := range rs {
		found = append(found, rs[i].Key())
	}
	slices.Sort(found)
	return found
}

func TestVectorsResourceSelectors(t *testing.T) {
	all, _ := recorded(t)
	vectors.Run(t, "resource_selectors.json", func(_ *testing.T, v *selection) error {
		s, err := v.selector()
		if (err != nil) != (v.Error != nil) {
			return fmt.Errorf("parsing: got %w", err)
		}
		if err != nil {
			return nil
		}
		if err := v.sameWords(s); err != nil {
			return err
		}
		if s.Specific() != v.Specific {
			return fmt.Errorf("specific: got %v", s.Specific())
		}
		var matching []Resource
		for i := range all {
			if s.Match(&all[i]) {
				matching = append(matching, all[i])
			}
		}
		if got := keys(matching); !slices.Equal(got, v.Check) {
			return fmt.Errorf("matching: got %q", got)
		}
		if got := keys(s.Select(all)); !slices.Equal(got, v.Select) {
			return fmt.Errorf("selected: got %q", got)
		}
		if err := served(Demand{s, true, false}, all, v.OnEvent, v.OnEventWarnings); err != nil {
			return fmt.Errorf("on event: %w", err)
		}
		if err := served(Demand{s, true, true}, all, v.OnCreate, v.OnCreateWarnings); err != nil {
			return fmt.Errorf("on create: %w", err)
		}
		return nil
	})
}

func served(d Demand, all []Resource, want, warnings []string) error {
	res := Resolve([]Demand{d}, all)
	if got := keys(res.Served); !slices.Equal(got, want) {
		return fmt.Errorf("served: got %q", got)
	}
	heads := []string{}
	for _, line := range res.Warnings() {
		head, _, _ := strings.Cut(line, ": ")
		heads = append(heads, head)
	}
	slices.Sort(heads)
	if !slices.Equal(heads, warnings) {
		return fmt.Errorf("warnings: got %q", heads)
	}
	return nil
}
