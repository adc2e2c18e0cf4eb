package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// A fileSum is what index.db.sum says of a file that was closed in good order.
type fileSum struct {
	Size int64  `json:"size"`
	CRC  uint32 `json:"crc32c"`
}

func sumPath(path string) string { return path + ".sum" }

func removeSum(path string) error {
	if err := os.Remove(sumPath(path)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func sumFile(path string) (fileSum, error) {
	f, err := os.Open(path)
	if err != nil {
		return fileSum{}, err
	}
	defer f.Close()
	h := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	n, err := io.CopyBuffer(h, io.LimitReader(f, 1<<62), make([]byte, 1<<18))
	return fileSum{Size: n, CRC: h.Sum32()}, err
}

func writeSum(path string) error {
	s, err := sumFile(path)
	if err != nil {
		return err
	}
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return disk.WriteFile(sumPath(path), b, 0o600)
}

// checkSum reports whether the file was closed in good order and has not
// changed since. It returns sqlite.ErrDamaged if it has, or if it was not closed and
// SQLite's log, which must then be there, is missing.
func checkSum(path string) (clean bool, err error) {
	b, err := os.ReadFile(sumPath(path))
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat(path + "-wal"); errors.Is(err, os.ErrNotExist) {
			return false, fmt.Errorf("open index.db: not closed in good order and index.db-wal is missing: %w", sqlite.ErrDamaged)
		}
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var want fileSum
	if err := json.Unmarshal(b, &want); err != nil {
		return false, fmt.Errorf("open index.db: its checksum is unreadable: %w", sqlite.ErrDamaged)
	}
	have, err := sumFile(path)
	if err != nil {
		return false, err
	}
	if have != want {
		return false, fmt.Errorf("open index.db: checksum differs: %w", sqlite.ErrDamaged)
	}
	return true, nil
}
