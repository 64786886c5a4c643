import { resolve } from 'node:path';
import type { Json } from '../../kernel/json.ts';
import { loadManifests } from '../../manifest/load-manifests.ts';
import { badManifest, hashOf } from '../load-agent.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import { type AgentCode, agentCode } from './agent-code.ts';
import type { AgentDefinition, AgentOutput, ResultOf } from './agent-definition.ts';
import { agentManifest } from './agent-manifest.ts';
import { readOutputWith } from './read-output.ts';

export interface DefineAgentOptions {
  /** Where paths begin: those of imports, of `permissions`, of `scripted:` files. The process's folder by default. */
  readonly folder?: string;
  /** Where `${NAME}` in imported files is looked up: `process.env` by default. In the definition itself it stays as it is. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
}

/** Checks an agent that was written in code, and all it imports. Throws `bad_manifest`, with all that is wrong. */
export async function defineAgent<Output extends AgentOutput | undefined = undefined>(
  definition: AgentDefinition<Output>,
  options: DefineAgentOptions = {},
): Promise<LoadedAgent<ResultOf<Output>>> {
  options.signal?.throwIfAborted();
  const folder = resolve(options.folder ?? '.');
  const source = await agentManifest(definition as unknown as Readonly<Record<string, unknown>>, folder);
  const loaded = await loadManifests([source], { env: options.env ?? {}, signal: options.signal });
  if (!loaded.ok) throw badManifest(source.label, loaded.diagnostics, ALL_OF_THEM);
  const [project] = loaded.projects;
  const found = project?.manifests.find(({ code }) => code === source.code);
  if (project === undefined || found?.manifest.kind !== 'Agent')
    throw badManifest(source.label, loaded.diagnostics, 'Give an object with a "name".');
  const agent = {
    manifest: found.manifest,
    project,
    path: source.label,
    folder,
    hash: hashOf(project.manifests),
    source,
  };
  return Object.freeze({ ...agent, ...readerOf<ResultOf<Output>>(agentCode(agent)) });
}

const ALL_OF_THEM = '"diagnostics" of the error lists all mistakes.';

const readerOf = <Output>(code: AgentCode | undefined): Pick<LoadedAgent<Output>, 'readResult'> => {
  const schema = code?.output;
  return schema === undefined
    ? {}
    : { readResult: (result: Json) => readOutputWith(schema, result) as Output };
};
