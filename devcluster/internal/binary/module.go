package binary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
)

// programModule returns the path of the module that contains the built program for this platform. Module
// proxies have it where releases cannot be reached, and the go command verifies it.
func programModule() string {
	return "github.com/kopf-dev/kopf-controlplane-" + runtime.GOOS + "-" + runtime.GOARCH
}

// packedName is the name of the compressed program in its module.
const packedName = "controlplane.gz"

// fromModule downloads the program of a version as a module.
func (b builder) fromModule(ctx context.Context, version, out string) error {
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("no go command in the PATH")
	}
	name := programModule() + "@" + version
	b.report(Progress{Step: StepFetch, Message: "fetching " + name})
	dir, err := b.moduleFolder(ctx, name)
	if err != nil {
		return err
	}
	return unpack(filepath.Join(dir, packedName), out)
}

// moduleFolder downloads a module into the module cache and returns its folder.
func (b builder) moduleFolder(ctx context.Context, name string) (string, error) {
	var answer struct{ Dir, Error string }
	stdout, err := b.goCommand(ctx, "", nil, "mod", "download", "-json", name)
	if jsonErr := json.Unmarshal(stdout, &answer); jsonErr == nil && answer.Error != "" {
		err = errors.New(answer.Error)
	} else if err == nil {
		err = jsonErr
	}
	return answer.Dir, err
}
