export const workflowPath = (agent: string, name: string): string =>
  `/workflows/${encodeURIComponent(agent)}/${encodeURIComponent(name)}`;

export const runPath = (run: string): string => `/runs/${encodeURIComponent(run)}`;

export const sessionPath = (session: string): string => `/sessions/${encodeURIComponent(session)}`;

export const artifactPath = (name: string): string => `/artifacts/${encodeURIComponent(name)}`;

/** Of a session or a run, whichever the id is of: runs that sessions lead or call have the session's id in front. */
export const streamPath = (stream: string): string =>
  /^run_|[~.]/.test(stream) ? runPath(stream) : sessionPath(stream);
