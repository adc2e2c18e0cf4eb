-- state.db: what this machine knows and cannot find out again. Never the truth
-- about a memory: losing it logs people out, resets strength and forgets which
-- checkouts were registered. Later versions are added as state_2.sql and so on;
-- a released file never changes. Times are microseconds since 1970 (UTC).

create table projects (
    slug       text primary key,
    id         text not null,         -- of project.toml
    name       text not null,
    settings   text not null,         -- JSON object: ranking and the like
    created_at integer not null
) strict;

-- A registered checkout. The name is the seeds'.
create table repositories (
    key           text primary key,   -- 16 hex digits of the hash of common git dir and work tree
    path          text not null,
    common_dir    text not null,
    main_tree     text not null,
    fold_dir      text not null,
    slug          text not null references projects (slug),
    commit_to     text not null,
    file_memories text not null,
    remote_url    text not null,      -- without credentials
    linked        integer not null,
    paused        integer not null,
    paused_until  integer not null,   -- 0: until resumed
    cursor        text not null,      -- commit that was described last
    last_seen     integer not null,   -- 0: never
    added_at      integer not null
) strict;
create index repositories_slug on repositories (slug);

-- Small facts about a checkout, by name.
create table notes (
    key   text not null references repositories (key) on delete cascade,
    name  text not null,
    value text not null,
    primary key (key, name)
) strict, without rowid;

-- How often and when a memory was recalled. Outlives the registration, so that
-- adding a checkout again finds its strength.
create table access (
    slug      text not null,
    memory_id text not null,
    count     integer not null,
    last      integer not null,
    primary key (slug, memory_id)
) strict, without rowid;

-- File memories deleted by hand: not described again until asked to.
create table gone (
    slug      text not null,
    memory_id text not null,
    primary key (slug, memory_id)
) strict, without rowid;

-- What a model proposed and nobody decided yet.
create table proposals (
    id         text primary key,
    slug       text not null,
    memory_id  text not null,
    body       text not null,         -- JSON
    status     text not null check (status in ('open', 'accepted', 'rejected')),
    created_at integer not null,
    decided_at integer not null
) strict;
create index proposals_open on proposals (slug, status);

-- What was sent where: never content.
create table audit (
    n       integer primary key,
    at      integer not null,
    slug    text not null,
    host    text not null,
    action  text not null,
    bytes   integer not null,
    outcome text not null
) strict;

create table users (
    id         text primary key,
    issuer     text not null,
    subject    text not null,
    email      text not null,
    name       text not null,
    role       text not null,
    created_at integer not null,
    last_login integer not null,
    unique (issuer, subject)
) strict;

create table sessions (
    hash       text primary key,      -- SHA-256 of the cookie
    user_id    text not null references users (id) on delete cascade,
    created_at integer not null,
    seen_at    integer not null,
    expires_at integer not null
) strict;

create table api_tokens (
    id         text primary key,
    hash       text not null unique,  -- SHA-256 of the token
    name       text not null,
    user_id    text not null,
    scope      text not null check (scope in ('read', 'write', 'admin')),
    projects   text not null,         -- JSON array of slugs; [] is all
    created_at integer not null,
    expires_at integer not null,
    used_at    integer not null,
    revoked_at integer not null
) strict;

create table oauth_states (
    state      text primary key,
    provider   text not null,
    nonce      text not null,
    verifier   text not null,         -- of PKCE
    binding    text not null,         -- hash that ties it to the browser
    return_to  text not null,
    expires_at integer not null
) strict;

create table auth_providers (
    id            text primary key,
    name          text not null,
    issuer        text not null,
    client_id     text not null,
    secret_ref    text not null,      -- where the secret is, never the secret
    enabled       integer not null,
    created_at    integer not null
) strict;
