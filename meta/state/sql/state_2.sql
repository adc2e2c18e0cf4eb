-- Small facts that outlive registrations: which project a remote was last
-- registered as, which rules were allowed for a memory.
create table facts (
    subject text not null,
    name    text not null,
    value   text not null,
    primary key (subject, name)
) strict, without rowid;
