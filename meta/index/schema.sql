-- index.db of one checkout: what its files say, in rows. Everything here can be
-- deleted and rebuilt. There is no migration: change format in db.go
-- whenever this file changes, and the old one is begun anew.
-- Times are microseconds since 1970 (UTC). The indexes that memory files come to in
-- no order are in deferred.sql.

create table meta (
    key   text primary key,   -- 'seq': number of the last change; 'generation': random, new with each rebuild; 'chunks': how many; 'cut': rules by which source was cut; 'commits': the tip whose history was read
    value text not null
) strict, without rowid;

-- One row a memory. Columns are what is filtered, sorted or changed on its own;
-- the rest of the frontmatter is JSON in more.
create table memories (
    id            text primary key,
    path          text not null,      -- below fold/; '' if described in the index only
    title         text not null,
    title_key     text not null,      -- lower case, to sort by
    memory_type   text not null,
    source        text not null,
    author        text not null,
    context       text not null,
    file_path     text not null,      -- of the source file
    language      text not null,
    source_blob   text not null,
    slug          text not null,
    subject       text not null,
    relation      text not null,
    object        text not null,
    body          text not null,
    find          text not null,      -- lower case of title, paths and context: what q looks in
    more          text not null,      -- JSON
    created_at    integer not null,
    updated_at    integer not null,
    pinned        integer not null,
    note          integer not null,
    deleted       integer not null,
    described     text not null,      -- fold, index
    content_hash  text not null,
    stale         integer not null,
    said_seq      integer not null,   -- of the last change of its words: what is embedded of it
    seq           integer not null    -- of the last change to it, its chunks or its links
) strict;
create index memories_file on memories (file_path) where file_path <> '';
create index memories_seq on memories (seq);
create index memories_stale on memories (id) where stale = 1; -- few of many
create index memories_session on memories (json_extract(more, '$.session'), created_at, id) where json_extract(more, '$.session') is not null;

create table memory_tags (
    memory_id text not null,
    tag       text not null,          -- lower case
    primary key (memory_id, tag)
) strict, without rowid;

-- What links may call a memory beside its id and its title, as links compare
-- names; and the names by which memories in fold/ link to others.
create table memory_names (
    memory_id text not null,
    name      text not null,
    primary key (memory_id, name)
) strict, without rowid;
create table memory_linking (
    memory_id text not null,
    name      text not null,
    primary key (memory_id, name)
) strict, without rowid;

-- Edges. A written link and a derived one between the same two may both stand
-- here; the written one is then shown. The end of a link need not exist.
create table memory_links (
    from_id   text not null,
    id        text not null,          -- hash of both ends and the type
    derived   integer not null,
    to_id     text not null,
    link_type text not null,
    context   text not null,
    evidence  text not null,
    weight    real not null,
    primary key (from_id, id, derived)
) strict, without rowid;

-- Spans of source files, all those of a memory in one value, see chunkrow.go.
-- Their text is in the file. How many there are stands in meta as 'chunks'.
create table chunks (
    memory_id text primary key,
    chunks    blob not null
) strict;

-- The manifest: every file that was looked at, and what came of it.
create table files (
    fold      integer not null,       -- 1: path is below fold/
    path      text not null,
    size      integer not null,
    mtime_ns  integer not null,
    inode     integer not null,
    hash      text not null,
    blob      text not null,
    memory_id text not null,
    state     text not null,          -- indexed, skipped, failed, quarantined
    reason    text not null,
    truncated integer not null,
    seq       integer not null,
    primary key (fold, path)
) strict, without rowid;
-- Those of which not all is indexed: few of many.
create index files_problem on files (state) where reason <> '';
create index files_reason on files (fold, path) where reason <> '';

-- What descriptions of source files asked of the tree when they were made: see
-- Change.Asked.
create table asked (
    memory_id text primary key,
    record    blob not null
) strict, without rowid;

-- Keys that went ('m:<memory>', 'c:<chunk>'), until all indexes caught up.
create table gone (
    key text primary key,
    seq integer not null
) strict, without rowid;
create index gone_seq on gone (seq);

-- Past commits of the default branch: a question that is like a message is
-- likely about its files. Those up to meta 'commits' were read.
create table commits (
    n       integer primary key,      -- later commits have larger numbers
    oid     text not null unique,
    message text not null,
    files   text not null             -- JSON list of paths
) strict;
