package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
)

// Events calls fn for every event after the one numbered after, 0 meaning from
// now on, until ctx ends, fn returns an error, or the daemon stops. It returns
// that error, and nil if ctx ended or the daemon closed the stream. Connected,
// if not nil, is called once the daemon listens to this client: nothing that
// happens after that is missed.
func (c *Client) Events(ctx context.Context, after uint64, connected func(), fn func(wire.Event) error) error {
	header := http.Header{"Accept": {"text/event-stream"}}
	if after > 0 {
		header.Set("Last-Event-ID", strconv.FormatUint(after, 10))
	}
	res, err := c.send(ctx, http.MethodGet, "/api/events", nil, header)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if err := problemOf(res); err != nil {
		return err
	}
	if connected != nil {
		connected()
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e wire.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return fmt.Errorf("event: %w", err)
		}
		if e.Type == "heartbeat" {
			continue
		}
		if err := fn(e); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // a stream that its reader ended is no failure
	}
	return lines.Err()
}
