-- cache.db: what was costly to compute and is the same for ever, by the hash of
-- what it was computed from. Bounded in size: what was not used for longest goes.
-- Deleting it costs time, or money, never knowledge. Change format in
-- file.go whenever this file changes.

create table chunk_cache (
    key   blob primary key,           -- digest of: hash of the source, chunker version, language
    value blob not null,
    sum   integer not null,           -- CRC-32C of value
    used  integer not null            -- hour of last use, since 1970
) strict;
create index chunk_cache_used on chunk_cache (used);

create table identities (
    id   integer primary key,
    name text not null unique         -- of an embedder: provider, model, revision, dimension, prompt
) strict;

create table vector_cache (
    identity integer not null references identities (id),
    hash     blob not null,           -- digest of that of the text
    value    blob not null,           -- float32, little endian
    sum      integer not null,
    used     integer not null,
    primary key (identity, hash)
) strict;
create index vector_cache_used on vector_cache (used);
