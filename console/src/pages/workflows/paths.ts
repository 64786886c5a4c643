export const workflowPath = (agent: string, name: string): string =>
  `/workflows/${encodeURIComponent(agent)}/${encodeURIComponent(name)}`;

export const runPath = (run: string): string => `/runs/${encodeURIComponent(run)}`;

export const sessionPath = (session: string): string => `/sessions/${encodeURIComponent(session)}`;

export const artifactPath = (name: string): string => `/artifacts/${encodeURIComponent(name)}`;
