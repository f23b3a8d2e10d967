package binary

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxProgram bounds the size of the unpacked program, which has about 130 MB.
const maxProgram = 1 << 30

// unpack unpacks a compressed program into an executable file.
func unpack(archive, out string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("unpack the control plane: %w", err)
		}
	}()
	packed, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer packed.Close()
	body, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(out, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return &storeError{err}
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	n, err := io.Copy(storer{file}, io.LimitReader(body, maxProgram+1))
	if err == nil && n > maxProgram {
		err = fmt.Errorf("it has more than %d bytes", maxProgram)
	}
	return err
}
