import type { ManifestProblem } from '../../client/api.ts';
import type { LoadedAgent } from '../../session/loaded-agent.ts';

/** An agent that the server knows. */
export interface CatalogEntry {
  readonly name: string;
  /** The file it was read from, absolute. */
  readonly path: string;
  /** The file that led to it: its own, or one that imports it. */
  readonly source: string;
  /** The last version that could be loaded; undefined where none could. */
  readonly agent?: LoadedAgent<unknown>;
  readonly loadedAt: number;
  /** What is wrong with the files as they are now. Empty where `agent` is what they say. */
  readonly problems: readonly ManifestProblem[];
}

/** The agents that a server serves. */
export interface AgentCatalog {
  list(): readonly CatalogEntry[];
  /** The agent of that name. Throws `agent_unknown`, with the nearest name, or `bad_manifest`. */
  find(name: string): LoadedAgent<unknown>;
  /** Reads all manifests again. */
  reload(): Promise<void>;
  /** Calls back after any change. The returned function ends it. */
  onChange(changed: () => void): () => void;
  close(): Promise<void>;
}
