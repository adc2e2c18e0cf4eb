-- Indexes of index.db that memory files, read by their paths, come to in no order:
-- each row changes a page of each. While very many are read they are away, see
-- bulk.go. Every query is answered without them, only later.

create index if not exists memories_updated on memories (updated_at, id);
create index if not exists memories_created on memories (created_at, id);
create index if not exists memories_title on memories (title_key, id);
create index if not exists memory_tags_tag on memory_tags (tag);
create index if not exists memory_names_name on memory_names (name);
create index if not exists memory_linking_name on memory_linking (name);
create index if not exists memory_links_to on memory_links (to_id);
create index if not exists memory_links_id on memory_links (id);
