CREATE TABLE projects (
  team TEXT NOT NULL,
  id TEXT NOT NULL,
  title TEXT NOT NULL,
  owner TEXT NOT NULL,
  PRIMARY KEY (team, id)
);
