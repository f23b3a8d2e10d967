package copy

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/plan/redaction"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// formatVersion is the version of the file format. [Read] refuses files of other versions.
const formatVersion = 1

// fileHeader is the first line of a file.
type fileHeader struct {
	Format   int    `json:"kopfCopy"`
	Context  string `json:"context"`
	Version  string `json:"version"`
	Redacted int    `json:"redacted"`
	Listings int    `json:"listings"`
}

// fileListing is the line before the objects of a listing.
type fileListing struct {
	Group     string         `json:"group"`
	Version   string         `json:"version"`
	Resource  string         `json:"resource"`
	Namespace string         `json:"namespace,omitempty"`
	Name      string         `json:"name,omitempty"`
	At        time.Time      `json:"at"`
	Refused   *metav1.Status `json:"refused,omitempty"`
	Objects   int            `json:"objects"`
}

// errSecrets is the refusal to save values of Secrets.
var errSecrets = errors.New("save the copy: it has the values of Secrets")

// Write writes the copy: JSON lines, compressed with gzip. It refuses a copy with the values of Secrets. The first line has the
// version of the format, the cluster, and the number of listings. For each listing, a line has the resource, the time, the number
// of objects, and the refusal if there was one. A line for each object follows.
func (c *Copy) Write(w io.Writer) error {
	if c.options.WithSecrets {
		return errSecrets
	}
	zip := gzip.NewWriter(w)
	if err := c.writeLines(json.NewEncoder(zip)); err != nil {
		return fmt.Errorf("save the copy: %w", err)
	}
	if err := zip.Close(); err != nil {
		return fmt.Errorf("save the copy: %w", err)
	}
	return nil
}

func (c *Copy) writeLines(lines *json.Encoder) error {
	lines.SetEscapeHTML(false)
	listings, s := c.kept(), c.Summary()
	err := lines.Encode(fileHeader{Format: formatVersion, Context: s.Context, Version: s.Version, Redacted: s.Redacted, Listings: len(listings)})
	if err != nil {
		return err
	}
	for _, l := range listings {
		r := l.Scope.Resource
		if err := lines.Encode(fileListing{
			Group: r.Group, Version: r.Version, Resource: r.Resource, Namespace: l.Scope.Namespace, Name: l.Scope.Name,
			At: l.At, Refused: l.Refused, Objects: len(l.Objects),
		}); err != nil {
			return err
		}
		for _, o := range l.Objects {
			if err := lines.Encode(o.JSON); err != nil {
				return err
			}
		}
	}
	return nil
}

// Read reads a copy from a file that [Copy.Write] has written. The copy refuses listings that the file does not have.
func Read(r io.Reader) (*Copy, error) {
	c, err := read(r)
	if err != nil {
		return nil, fmt.Errorf("read the copy: %w", printable.Error(err))
	}
	return c, nil
}

func read(r io.Reader) (*Copy, error) {
	zip, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	lines := json.NewDecoder(zip)
	var header fileHeader
	if err := lines.Decode(&header); err != nil {
		return nil, err
	}
	if header.Format != formatVersion {
		return nil, fmt.Errorf("it has the format %d, and this kopf reads %d", header.Format, formatVersion)
	}
	c := &Copy{
		redactor: redaction.New(), options: Options{Context: header.Context}, version: header.Version, redacted: header.Redacted,
		listings: map[Scope]*listing{},
	}
	done := make(chan struct{})
	close(done)
	for range header.Listings {
		l, err := readListing(lines)
		if err != nil {
			return nil, err
		}
		c.listings[l.Scope] = &listing{done: done, kept: l}
	}
	// Reading to the end makes gzip verify the checksum.
	if rest, err := io.Copy(io.Discard, io.MultiReader(lines.Buffered(), zip)); err != nil || rest > 1 {
		return nil, errors.Join(err, endError(rest))
	}
	return c, nil
}

// endError returns the error of a file with more than a line feed after its last listing.
func endError(rest int64) error {
	if rest <= 1 {
		return nil
	}
	return errors.New("the file has more listings than its header states")
}

func readListing(lines *json.Decoder) (*Listing, error) {
	var f fileListing
	if err := lines.Decode(&f); err != nil {
		return nil, unexpectedEnd(err)
	}
	resource := schema.GroupVersionResource{Group: f.Group, Version: f.Version, Resource: f.Resource}
	if f.Version == "" || f.Resource == "" {
		return nil, errors.New("it has a listing without a resource")
	}
	l := &Listing{Scope: Scope{resource, f.Namespace, f.Name}, At: f.At, Refused: f.Refused}
	for range f.Objects {
		var raw json.RawMessage
		if err := lines.Decode(&raw); err != nil {
			return nil, unexpectedEnd(err)
		}
		var own identity
		if err := json.Unmarshal(raw, &own); err != nil {
			return nil, fmt.Errorf("an object of %s: %w", l.Scope, err)
		}
		l.Objects = append(l.Objects, Object{Namespace: own.Metadata.Namespace, Name: own.Metadata.Name, JSON: raw})
	}
	return l, nil
}

// unexpectedEnd returns the error of a file that ends too early.
func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
