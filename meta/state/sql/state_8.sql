-- What was proposed, and what became of it. The table that was here before held
-- nothing yet. What was decided stays: what was rejected is never proposed again,
-- and what was accepted and taken back is not done again.
drop table proposals;
create table proposals (
    slug       text not null,
    id         text not null,         -- 16 hex digits: of kind and memories, see fold.ProposalID
    kind       text not null check (kind in ('link', 'annotate', 'merge')),
    maker      text not null,         -- 'consolidation', or the model
    memories   text not null,         -- JSON array of {id, hash}: content hashes as it was made; the first is the one that changes
    body       text not null,         -- JSON: reason, evidence, what is to be written
    confidence real not null,
    state      text not null check (state in ('open', 'accepted', 'rejected')),
    created_at integer not null,
    decided_at integer not null,      -- 0: not yet
    decided_by text not null,         -- '' is the owner
    primary key (slug, id)
) strict, without rowid;
create index proposals_of on proposals (slug, state, created_at, id);
