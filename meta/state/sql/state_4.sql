-- Which branch of the remote a consent is for: 0 the branch foldwatch, 1 the user's
-- own where that holds the memories. The one is no consent for the other.
alter table syncs add column own_branch integer not null default 0;

-- Whether commits go beside the branch because the user said so, or because nothing
-- was said and the branch holds no memories: then they go onto it once it does.
update repositories set commit_to = 'auto' where commit_to = 'sidecar';
