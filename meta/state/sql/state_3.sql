-- The remotes that memories are synced with, each by the user's consent on this
-- machine: one for each fold/, that is for all work trees of a repository.
create table syncs (
    common_dir text primary key,     -- as in repositories
    remote     text not null,        -- URL without credentials, or path
    given      integer not null,     -- the user named the address, not a remote of the repository
    since      integer not null,     -- when it was turned on
    synced     integer not null,     -- when a round last succeeded; 0: never
    behind     integer not null,     -- since when something is unpushed; 0: nothing is
    stopped    text not null,        -- kind of the pause that only the user ends, '' if there is none
    reason     text not null,        -- what happened
    hint       text not null         -- what ends it
) strict, without rowid;
