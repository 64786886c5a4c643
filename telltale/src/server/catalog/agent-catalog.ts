import { resolve } from 'node:path';
import type { LoadedAgent } from '../../agent/loaded-agent.ts';
import type { ManifestProblem } from '../../client/api.ts';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import { suggest } from '../../lib/nearest.ts';
import type { Diagnostic } from '../../manifest/diagnostic.ts';

/** Loads one agent. The file must be absolute. */
export type LoadCatalogAgent = (path: string, name?: string) => Promise<LoadedAgent<unknown>>;

export interface CatalogOptions {
  /** Finds the files that contain agents. Called again at each reload, because files come and go. */
  readonly find: () => Promise<readonly string[]>;
  readonly load: LoadCatalogAgent;
  readonly now: () => number;
  /** Paths in problems are relative to this folder. */
  readonly cwd: string;
}

/** Creates a catalog of the agents in some files. A file that cannot be loaded keeps its last working version. */
export async function createCatalog(options: CatalogOptions): Promise<AgentCatalog> {
  const { find, load, now, cwd } = options;
  let entries: readonly CatalogEntry[] = [];
  const listeners = new Set<() => void>();
  let reloading: Promise<void> | undefined;
  let again = false;

  const readAll = async () => {
    const found: CatalogEntry[] = [];
    for (const file of await find()) found.push(...(await readFile(file)));
    const before = entries;
    entries = named(found);
    if (JSON.stringify(before.map(keyOf)) === JSON.stringify(entries.map(keyOf))) return;
    for (const changed of [...listeners]) changed();
  };

  /** Loads every agent of a file: those it contains, and those they import. */
  const readFile = async (file: string): Promise<readonly CatalogEntry[]> => {
    const known = entries.filter((entry) => entry.source === file);
    try {
      const first = await load(file);
      const others = first.project.manifests.filter(
        ({ kind, name, file: own }) =>
          kind === 'Agent' && !(resolve(own) === first.path && name === first.manifest.name),
      );
      const all = [first];
      for (const other of others) all.push(await load(resolve(other.file), other.name));
      return all.map((agent) => entryOf(agent, file, known));
    } catch (thrown) {
      const problems = problemsOf(thrown, file, cwd);
      return known.length > 0
        ? known.map((entry) => ({ ...entry, problems }))
        : [{ name: nameOf(file), path: file, source: file, loadedAt: now(), problems }];
    }
  };

  const entryOf = (
    agent: LoadedAgent<unknown>,
    source: string,
    known: readonly CatalogEntry[],
  ): CatalogEntry => {
    const before = known.find(
      ({ name, path, agent: was }) =>
        name === agent.manifest.name && path === agent.path && was?.hash === agent.hash,
    );
    const { name } = agent.manifest;
    if (before?.agent === undefined)
      return { name, path: agent.path, source, agent, loadedAt: now(), problems: [] };
    return { ...before, problems: [] };
  };

  const reload = async (): Promise<void> => {
    if (reloading !== undefined) {
      again = true;
      return reloading;
    }
    reloading = (async () => {
      do {
        again = false;
        await readAll();
      } while (again);
    })().finally(() => {
      reloading = undefined;
    });
    return reloading;
  };

  await reload();
  return {
    list: () => entries,
    find(name) {
      const entry = entries.find((each) => each.name === name);
      if (entry === undefined)
        throw agentUnknown(
          name,
          entries.map((each) => each.name),
        );
      if (entry.agent === undefined) throw agentBroken(entry);
      return entry.agent;
    },
    reload,
    onChange(changed) {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
    async close() {
      listeners.clear();
      await reloading;
    },
  };
}

const keyOf = ({ name, path, agent, problems }: CatalogEntry) => [name, path, agent?.hash, problems];

/**
 * Makes names unique: the first agent keeps the name, and the others get a problem. An agent that several files import
 * is listed once.
 */
function named(found: readonly CatalogEntry[]): readonly CatalogEntry[] {
  const places = new Set<string>();
  const owners = new Map<string, CatalogEntry>();
  return found.flatMap((entry) => {
    const place = `${entry.path} ${entry.name}`;
    if (places.has(place)) return [];
    places.add(place);
    const owner = owners.get(entry.name);
    if (owner === undefined) {
      owners.set(entry.name, entry);
      return [entry];
    }
    const { agent: _hidden, ...rest } = entry;
    const name = `${entry.name} (${entry.path})`;
    return [{ ...rest, name, problems: [...entry.problems, nameTaken(entry, owner)] }];
  });
}

function problemsOf(thrown: unknown, file: string, cwd: string): readonly ManifestProblem[] {
  const error = toRuntimeError(thrown);
  const { diagnostics } = thrown as { readonly diagnostics?: readonly Diagnostic[] };
  if (error.code === 'bad_manifest' && diagnostics !== undefined)
    return [...diagnostics]
      .sort(errorsFirst)
      .map(({ severity, code, file: where, line = 1, column = 1, message, hint }) => ({
        severity,
        code,
        line,
        column,
        message,
        file: resolve(cwd, where),
        ...(hint === undefined ? {} : { hint }),
      }));
  const { code, message, hint } = error;
  return [
    { severity: 'error', code, file, line: 1, column: 1, message, ...(hint === undefined ? {} : { hint }) },
  ];
}

const errorsFirst = (one: Diagnostic, other: Diagnostic): number =>
  Number(one.severity === 'warning') - Number(other.severity === 'warning');

const nameOf = (file: string): string => (file.split(/[\\/]/).at(-1) ?? file).replace(/\.(ya?ml|json)$/i, '');

const nameTaken = ({ name, path }: CatalogEntry, owner: CatalogEntry): ManifestProblem => ({
  severity: 'error',
  code: 'name_taken',
  file: path,
  line: 1,
  column: 1,
  message: `Another agent is also named "${name}": the one in ${owner.path}.`,
  hint: 'Rename one of them. Sessions are started by the name of their agent.',
});

const agentUnknown = (name: string, known: readonly string[]) =>
  new RuntimeError('agent_unknown', `No agent is named "${name}".`, {
    hint:
      known.length === 0
        ? 'The server has no agents. Start it with their manifests.'
        : suggest(name, known, 'Agents'),
  });

const agentBroken = ({ name, path, problems }: CatalogEntry) =>
  new RuntimeError('bad_manifest', `The agent "${name}" cannot be started: ${problems[0]?.message ?? path}`, {
    hint: `Fix ${problems[0]?.file ?? path}:${problems[0]?.line ?? 1}, then try again.`,
  });

/** An agent that the server knows. */
export interface CatalogEntry {
  readonly name: string;
  /** The file it was read from, absolute. */
  readonly path: string;
  /** The file that led to it: its own, or one that imports it. */
  readonly source: string;
  /** The last version that could be loaded. Undefined if there is none. */
  readonly agent?: LoadedAgent<unknown>;
  readonly loadedAt: number;
  /** What is wrong with the present files. Empty if `agent` matches them. */
  readonly problems: readonly ManifestProblem[];
}

/** The agents that a server offers. */
export interface AgentCatalog {
  list(): readonly CatalogEntry[];
  /** The agent of that name. Throws `agent_unknown` with the nearest name, or `bad_manifest`. */
  find(name: string): LoadedAgent<unknown>;
  /** Reads all manifests again. */
  reload(): Promise<void>;
  /** Calls back after any change. The returned function unsubscribes. */
  onChange(changed: () => void): () => void;
  close(): Promise<void>;
}
