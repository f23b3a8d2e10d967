package explain_test

import (
	"testing"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestMismatch_NamesFactThenRequirement(t *testing.T) {
	for want, m := range map[string]inspect.Mismatch{
		"label tier is bronze, must be gold":                  {Kind: "label", Path: "tier", Is: "bronze", Wants: "gold"},
		"label tier is absent, must be gold":                  {Kind: "label", Path: "tier", Absent: true, Wants: "gold"},
		`label tier is "", must be gold`:                      {Kind: "label", Path: "tier", Wants: "gold"},
		"label tier is bronze, must be absent":                {Kind: "label", Path: "tier", Is: "bronze", Wants: "absent"},
		"label tier is bronze, must be something else":        {Kind: "label", Path: "tier", Is: "bronze"},
		"annotation kopf.dev/mirror is absent, must be there": {Kind: "annotation", Path: "kopf.dev/mirror", Absent: true, Wants: "present"},
		"field spec.size did not change":                      {Kind: "field", Path: "spec.size", Wants: "changed"},
		"field spec.size is absent, must be there":            {Kind: "field", Path: "spec.size", Absent: true},
		"spec.size is 1Gi, must be 2Gi":                       {Kind: "value", Path: "spec.size", Is: "1Gi", Wants: "2Gi"},
		"old spec.size is 1Gi, must be 2Gi":                   {Kind: "old", Path: "spec.size", Is: "1Gi", Wants: "2Gi"},
		"new spec.size is absent, must be 2Gi":                {Kind: "new", Path: "spec.size", Absent: true, Wants: "2Gi"},
		"When(isShrink) said no":                              {Kind: "when", Path: "isShrink"},
		"When said no":                                        {Kind: "when"},
		"runs on delete":                                      {Kind: "reason", Is: "update", Wants: "delete"},
	} {
		if got := explain.Mismatch(&m); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := explain.Mismatch(nil); got != "" {
		t.Errorf("nothing became %q", got)
	}
}
