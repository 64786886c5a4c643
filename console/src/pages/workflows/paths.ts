export const workflowPath = (agent: string, name: string): string =>
  `/workflows/${encodeURIComponent(agent)}/${encodeURIComponent(name)}`;

export const runPath = (run: string): string => `/runs/${encodeURIComponent(run)}`;

export const sessionPath = (session: string): string => `/sessions/${encodeURIComponent(session)}`;

export const artifactPath = (name: string): string => `/artifacts/${encodeURIComponent(name)}`;

/** The page of a session or run, by its id. The id of a run that belongs to a session begins with the session's id. */
export const streamPath = (stream: string): string =>
  /^run_|[~.]/.test(stream) ? runPath(stream) : sessionPath(stream);
