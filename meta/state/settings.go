package state

import "context"

// Settings returns the JSON object of a project's settings, "{}" if none. Every
// search asks for them, so that they are read once and kept.
func (s *DB) Settings(ctx context.Context, slug string) ([]byte, error) {
	if v, ok := s.settings.Load(slug); ok {
		return []byte(v.(string)), nil
	}
	s.settingsMu.Lock()
	defer s.settingsMu.Unlock()
	v, err := s.text(ctx, "read settings of "+slug, `select settings from projects where slug = ?`, slug)
	if v == "" {
		v = "{}"
	}
	if err == nil {
		s.settings.Store(slug, v)
	}
	return []byte(v), err
}

// SetSettings stores a project's settings as a JSON object. It returns
// fold.ErrNotFound if no checkout of slug was ever registered.
func (s *DB) SetSettings(ctx context.Context, slug string, object []byte) error {
	s.settingsMu.Lock()
	defer s.settingsMu.Unlock()
	defer s.settings.Delete(slug)
	return s.updateOne(ctx, "set settings of "+slug, `update projects set settings = ? where slug = ?`, string(object), slug)
}
