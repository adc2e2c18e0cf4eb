-- What the role of a user came from, so that it can be found anew when settings
-- change: JSON, the claim that was looked at, its values, and the projects that the
-- role was for.
alter table users add column said text not null default '{}';
