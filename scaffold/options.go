package scaffold

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/mod/module"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Options configures a new operator. The zero value of each field but Dir has a default.
type Options struct {
	// Dir is the folder of the operator. It is created if it does not exist.
	Dir string

	// Module is the path of the Go module. Defaults to example.com/NAME, where NAME is the name of the folder. Not
	// used if the folder has a go.mod already.
	Module string

	// Kind, Group and Version identify the resource that the operator handles. They default to the name of the folder
	// in camel case and in the singular, without "-operator"; example.com; and v1.
	Kind, Group, Version string

	// Plural is the name of the resource in URLs. Defaults to the kind in lower case, in the plural.
	Plural string

	// ClusterScoped makes the resource one without namespaces.
	ClusterScoped bool

	// WithChildren makes an operator that keeps a Deployment for each object. Not possible with ClusterScoped.
	WithChildren bool

	// SDK is the folder of the SDK in a checkout of kopf. The operator then uses it through a go.work
	// file, because it cannot be downloaded. Empty for the released SDK of the version below.
	SDK string

	// SDKVersion is the version of the SDK that the new module requires. Not used with SDK.
	SDKVersion string
}

// InvalidError is returned for an option that cannot be used.
type InvalidError struct {
	Option string // the field, such as "Kind"
	Value  string
	Reason string // description of the problem, and a valid alternative
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("invalid %s %q: %s", strings.ToLower(e.Option), e.Value, e.Reason)
}

var kindPattern = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)

// reservedKinds are names that the generated package declares itself.
var reservedKinds = map[string]bool{"Register": true, "TestMain": true}

// complete returns the options with their defaults, or an [*InvalidError].
func (o Options) complete() (Options, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, fmt.Errorf("find the folder %s: %w", o.Dir, err)
	}
	o.Dir = dir
	name := filepath.Base(dir)
	if o.Kind == "" {
		if o.Kind = kindOf(name); !kindPattern.MatchString(o.Kind) || reservedKinds[o.Kind] {
			return o, &InvalidError{"Kind", o.Kind, "the name of the folder makes no kind; name one with --kind, such as --kind=Widget"}
		}
	}
	if !kindPattern.MatchString(o.Kind) || reservedKinds[o.Kind] {
		return o, &InvalidError{"Kind", o.Kind, "use a Go name in camel case, such as Widget"}
	}
	if o.Group == "" {
		o.Group = "example.com"
	}
	if reason := checkGroup(o.Group); reason != "" {
		return o, &InvalidError{"Group", o.Group, reason}
	}
	if o.Version == "" {
		o.Version = "v1"
	}
	if len(validation.IsDNS1035Label(o.Version)) > 0 {
		return o, &InvalidError{"Version", o.Version, "use a version such as v1 or v1alpha1"}
	}
	if o.Plural == "" {
		plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: o.Group, Version: o.Version, Kind: o.Kind})
		o.Plural = plural.Resource
	}
	if len(validation.IsDNS1035Label(o.Plural)) > 0 {
		return o, &InvalidError{"Plural", o.Plural, "use lower-case letters, digits and hyphens, such as widgets"}
	}
	if o.WithChildren && o.ClusterScoped {
		return o, &InvalidError{"Namespaced", "false", "the Deployments of an operator with children are in the namespaces of their objects"}
	}
	if o.Module == "" {
		o.Module = "example.com/" + moduleName(name)
	}
	if err := module.CheckPath(o.Module); err != nil {
		return o, &InvalidError{"Module", o.Module, "use a path of a Go module, such as example.com/hello"}
	}
	return o, nil
}

// checkGroup returns the problem with the group of a custom resource, or "".
func checkGroup(group string) string {
	switch {
	case len(validation.IsDNS1123Subdomain(group)) > 0 || !strings.Contains(group, "."):
		return "use a domain in lower case, such as example.com"
	case group == "k8s.io" || group == "kubernetes.io" || strings.HasSuffix(group, ".k8s.io") || strings.HasSuffix(group, ".kubernetes.io"):
		return "it is reserved for Kubernetes; use a domain of yours"
	}
	return ""
}

// kindOf returns the name of a folder as a kind: "claims-operator" becomes "Claim".
func kindOf(name string) string {
	for _, suffix := range []string{"-operator", "_operator", "-controller", "_controller"} {
		if rest, ok := strings.CutSuffix(name, suffix); ok && rest != "" {
			name = rest
			break
		}
	}
	var kind strings.Builder
	upper := true
	for _, r := range name {
		switch {
		case r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r):
			upper = true
		case upper:
			kind.WriteRune(unicode.ToUpper(r))
			upper = false
		default:
			kind.WriteRune(r)
		}
	}
	return singular(kind.String())
}

// singular returns a kind whose name is a plural in the singular: "Policies" becomes "Policy".
func singular(kind string) string {
	for _, same := range []string{"ss", "us", "is"} {
		if strings.HasSuffix(kind, same) {
			return kind
		}
	}
	if rest, ok := strings.CutSuffix(kind, "ies"); ok {
		return rest + "y"
	}
	return strings.TrimSuffix(kind, "s")
}

// prefixOf returns the prefix of an operator's annotations: the name of the folder, and the group of the resource. It
// never begins with "kopf.", since other operators would not recognise the annotations as records.
func prefixOf(name, group string) string {
	label := strings.Map(func(r rune) rune {
		if r <= unicode.MaxASCII && (unicode.IsLower(r) || unicode.IsDigit(r)) {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	label = strings.Trim(label[:min(len(label), validation.DNS1123LabelMaxLength)], "-")
	if label == "kopf" {
		label = "my-kopf"
	}
	for _, prefix := range []string{label + "." + group, "operator." + group} {
		if len(validation.IsDNS1123Subdomain(prefix)) == 0 {
			return prefix
		}
	}
	return group // with anything before it, it would be too long
}

// moduleName returns the name of a folder as the last element of a module path.
func moduleName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r <= unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.~", r)) {
			return r
		}
		return '-'
	}, name)
	if clean = strings.Trim(clean, "-."); clean == "" {
		return "operator"
	}
	return clean
}
