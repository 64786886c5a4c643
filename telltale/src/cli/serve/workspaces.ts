import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import { isJsonObject, type Json } from '../../lib/json.ts';
import { isInside } from '../../manifest/files.ts';

/** A folder in which an agent's commands may create files. */
export interface Workspace {
  readonly agent: string;
  /** Absolute path of the agent's manifest. */
  readonly file: string;
  readonly folder: string;
}

/** Tools that do not run programs the agent chooses or writes. */
const HARMLESS = /^builtin:(?!shell$)/;

/**
 * The manifests that are in a place where an agent's commands can create files, with that place. An agent may have
 * written them, so they are served only if a person names them. Only agents defined above a manifest, or next to its
 * folder, count: what an agent wrote deep in its folder cannot discredit the agent itself.
 */
export async function foundInWorkspaces(files: readonly string[]): Promise<ReadonlyMap<string, Workspace>> {
  const refused = new Map<string, Workspace>();
  const known: Workspace[] = [];
  const depths = new Map<number, string[]>();
  for (const file of files) {
    const depth = file.split(/[\\/]/).length;
    depths.set(depth, [...(depths.get(depth) ?? []), file]);
  }
  for (const depth of [...depths.keys()].sort((a, b) => a - b)) {
    const level = depths.get(depth) ?? [];
    const own = await workspacesOf(level);
    for (const file of level) {
      const workspace = [...known, ...own].find((each) => mayHaveWritten(each, file));
      if (workspace !== undefined) refused.set(file, workspace);
    }
    known.push(...own.filter(({ file }) => !refused.has(file)));
  }
  return refused;
}

function mayHaveWritten(workspace: Workspace, file: string): boolean {
  const folder = dirname(file);
  const own = dirname(workspace.file);
  // Commands cannot create files directly in these two folders.
  if (folder === own || folder === join(own, 'agents')) return false;
  return isInside(file, workspace.folder);
}

async function workspacesOf(files: readonly string[]): Promise<readonly Workspace[]> {
  const [{ decodeSource }, { readManifests }] = await Promise.all([
    import('../../manifest/source-text.ts'),
    import('../../manifest/read-manifests.ts'),
  ]);
  const found: Workspace[] = [];
  for (const file of files) {
    const bytes = await readFile(file).catch(() => undefined); // The file is gone.
    const decoded = bytes === undefined ? undefined : decodeSource(file, bytes);
    if (decoded?.ok !== true) continue;
    for (const { value } of readManifests(decoded.source, {}).documents) {
      if (!isJsonObject(value) || value.kind !== 'Agent' || !runsPrograms(value)) continue;
      for (const entry of writable(value.permissions))
        found.push({ agent: String(value.name), file, folder: resolve(dirname(file), entry) });
    }
  }
  return found;
}

function runsPrograms({ import: imports, hooks }: Readonly<Record<string, Json>>): boolean {
  if (isJsonObject(hooks)) return true;
  if (!isJsonObject(imports)) return false;
  const { tools, workflows } = imports;
  if (Array.isArray(workflows) && workflows.length > 0) return true;
  return Array.isArray(tools) && tools.some((tool) => typeof tool !== 'string' || !HARMLESS.test(tool));
}

function writable(permissions: Json | undefined): readonly string[] {
  const paths = isJsonObject(permissions) ? permissions.paths : undefined;
  if (paths === 'allow' || paths === 'ask') return ['/'];
  const lists = isJsonObject(paths) ? [paths.allow ?? ['.'], paths.ask] : [paths ?? ['.']];
  const entries = lists.flatMap((list) => (Array.isArray(list) ? list : []));
  return entries.flatMap((entry) => {
    if (typeof entry !== 'string') return [];
    return entry === '*' ? ['/'] : [entry.replace(/[^\\/]*[*?].*$/, '') || '.'];
  });
}

export const foundInWorkspace = (file: string, { agent, folder }: Workspace) =>
  new RuntimeError(
    'manifest_in_workspace',
    `${file} was found in "${folder}", where commands of the agent "${agent}" can create files.`,
    {
      hint: `Read it. To serve it all the same, name it: telltale serve ${file}. Or give "${agent}" a folder of its own: permissions: { paths: [work] }.`,
    },
  );
