// Command checksbom checks the SBOMs of a release: checksbom MODULE DEPENDENCY... -- FILE... Each file must be a
// CycloneDX document about the module that names the dependencies with their versions.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "checksbom:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	end := slices.Index(args, "--")
	if end < 1 || end == len(args)-1 {
		return errors.New("usage: checksbom MODULE DEPENDENCY... -- FILE")
	}
	var errs []error
	for _, file := range args[end+1:] {
		text, err := os.ReadFile(file)
		if err == nil {
			err = check(text, args[0], args[1:end])
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", file, err))
		}
	}
	return errors.Join(errs...)
}

// component is a module in an SBOM.
type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
	Ref     string `json:"bom-ref"`
}

// check returns the problems of an SBOM.
func check(text []byte, module string, dependencies []string) error {
	var sbom struct {
		Format   string `json:"bomFormat"`
		Spec     string `json:"specVersion"`
		Serial   string `json:"serialNumber"`
		Metadata struct {
			Component component `json:"component"`
		} `json:"metadata"`
		Components   []component `json:"components"`
		Dependencies []struct {
			Ref string `json:"ref"`
		} `json:"dependencies"`
	}
	if err := json.Unmarshal(text, &sbom); err != nil {
		return err
	}
	main := sbom.Metadata.Component
	switch {
	case sbom.Format != "CycloneDX" || !strings.HasPrefix(sbom.Spec, "1."):
		return fmt.Errorf("the format is %q %q, want CycloneDX 1", sbom.Format, sbom.Spec)
	case !strings.HasPrefix(sbom.Serial, "urn:uuid:"):
		return fmt.Errorf("the serial number is %q", sbom.Serial)
	case main.Name != module || !strings.HasPrefix(main.Version, "v"):
		return fmt.Errorf("it is about %s %s, want a version of %s", main.Name, main.Version, module)
	}
	refs := map[string]bool{main.Ref: true}
	for _, c := range sbom.Components {
		if c.Type == "" || c.Name == "" || c.Version == "" || !strings.HasPrefix(c.PURL, "pkg:golang/") || refs[c.Ref] {
			return fmt.Errorf("the component %+v is incomplete, or listed twice", c)
		}
		refs[c.Ref] = true
	}
	for _, d := range sbom.Dependencies {
		if !refs[d.Ref] {
			return fmt.Errorf("the dependency %s is not among the components", d.Ref)
		}
	}
	for _, name := range dependencies {
		if !slices.ContainsFunc(sbom.Components, func(c component) bool { return c.Name == name }) {
			return fmt.Errorf("%s is not among its %d components", name, len(sbom.Components))
		}
	}
	return nil
}
