package chunker

// Serve is ServeWorker with a hook that is called before each file.
var Serve = serve

// OutlineNames returns the kinds and names that go/parser finds.
func OutlineNames(src []byte) []string {
	o := outlineGo(src, 200, false)
	if o == nil {
		return nil
	}
	var out []string
	for _, it := range o.items {
		out = append(out, it.kind+" "+it.name)
	}
	return out
}
