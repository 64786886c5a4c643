import type { Json } from '../lib/json.ts';
import type { Project } from '../manifest/project/project.ts';
import type { CodeManifest, FileWithCode } from '../manifest/project/project-document.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';

/** An agent that can be run: its manifest, all that this imports, and where it was read. Its sessions result in `Output`. */
export interface LoadedAgent<Output = Json> {
  readonly manifest: AgentManifest;
  readonly project: Project;
  /** The manifest's file, absolute; `defineAgent("name")` where it was written in code. */
  readonly path: string;
  /** Its folder: paths in it are relative to this. */
  readonly folder: string;
  /** SHA-256 over everything it consists of. */
  readonly hash: string;
  /** What it was made from, for agents in code that import it. */
  readonly source?: CodeManifest | FileWithCode;
  /** Reads a result, which is JSON on the log, as the agent's output schema gives it. */
  readResult?(result: Json): Output;
}
