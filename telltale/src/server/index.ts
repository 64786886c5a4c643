export type { Audit } from './auth/audit.ts';
export { createAudit } from './auth/audit.ts';
export type { Tokens } from './auth/tokens.ts';
export { createTokens } from './auth/tokens.ts';
export type { AgentCatalog, CatalogEntry } from './catalog/agent-catalog.ts';
export { type CatalogOptions, createCatalog, type LoadCatalogAgent } from './catalog/agent-catalog.ts';
export { createServer, type Mount, type Server, type ServerOptions } from './create-server.ts';
export type { ServerLimits } from './http/open-http.ts';
export type { Notifications } from './notify/create-notifications.ts';
export { mountProtocols } from './protocols/mount-protocols.ts';
export type { Recovered } from './recovery/recovery-service.ts';
export { mountRoutes } from './routes/mount-routes.ts';
/** @deprecated Use `ServerDeps`. This name goes with the next release. */
export type { AppEnv, Caller, ServerDeps, ServerDeps as ServerEdges } from './server-edges.ts';
export { type Daemon, type DaemonOptions, startDaemon } from './start-daemon.ts';
/** @deprecated Use `StreamsDeps`. This name goes with the next release. */
export type { Streams, StreamsDeps as StreamsEdges } from './stream/create-streams.ts';
export { createStreams, type StreamsDeps } from './stream/create-streams.ts';
export type { StreamLimits } from './stream/stream-source.ts';
