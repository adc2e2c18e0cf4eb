-- Who logs in. An identity is issuer and subject; the role that an
-- administrator gave stands above the one that claims gave at the last login.
alter table users add column provider text not null default '';    -- by which the last login came
alter table users add column assigned text not null default '';    -- '' is none
alter table users add column projects text not null default '[]';  -- of assigned: JSON array of slugs; [] is all

-- What a provider is, beside the columns there were: JSON.
alter table auth_providers add column settings text not null default '{}';
