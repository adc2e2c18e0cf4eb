-- Webhooks that were taken, by hashes of what is said only once: what comes again
-- within a day is refused, also after a restart. Work is what is still to be done
-- about one, JSON; '' once it is.
create table deliveries (
    id         text primary key,     -- 64 hex digits
    common_dir text not null,        -- as in repositories
    at         integer not null,
    work       text not null
) strict, without rowid;
create index deliveries_at on deliveries (at);
create index deliveries_due on deliveries (common_dir, at) where work <> '';
