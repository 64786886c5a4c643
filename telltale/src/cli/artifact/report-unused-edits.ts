import { dirname, relative, resolve } from 'node:path';
import type { LoadedAgent } from '../../agent/loaded-agent.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { LoadedManifest } from '../../manifest/project/project.ts';
import type { Store } from '../../store/store.ts';
import type { ArtifactDraft } from '../../tools/artifacts/artifacts.ts';
import type { UnusedEdit } from '../../tools/artifacts/create-artifacts.ts';
import type { Io } from '../io.ts';
import { paletteFor } from '../io.ts';
import { asTyped, storeFlag } from '../session/store-options.ts';
import { harmlessLine } from '../view/harmless.ts';

export interface UnusedEditsOptions {
  /** The option as the user typed it, because the command in the hint needs it too. */
  readonly store?: string;
  readonly quiet?: true;
  /** The edits that were already reported. Each is reported once. */
  readonly told?: Set<string>;
}

/**
 * Reports artifact files whose edits have no effect because a newer version is in force, with the command that makes
 * the file count again. This does nothing for an agent without artifacts.
 */
export async function reportUnusedEdits(
  agents: readonly LoadedAgent<unknown>[],
  store: Store,
  io: Io,
  options: UnusedEditsOptions,
): Promise<void> {
  if (options.quiet === true || !agents.some(hasArtifacts)) return;
  const [{ artifactsOf, readDraft }, { findUnusedEdit }, { storedArtifacts }] = await Promise.all([
    import('../../tools/artifacts/open-artifacts.ts'),
    import('../../tools/artifacts/create-artifacts.ts'),
    import('./show-artifact.ts'),
  ]);
  const stored = storedArtifacts(store, io.clock);
  const { told = new Set() } = options;
  for (const { manifest, project } of agents) {
    const own = project.manifests.find(({ kind, name }) => kind === 'Agent' && name === manifest.name);
    for (const loaded of own === undefined ? [] : artifactsOf(own, project)) {
      const draft = await readDraft(loaded).catch(ignoreUnreadable);
      const unused = draft === undefined ? undefined : await findUnusedEdit(stored, draft);
      if (draft === undefined || unused === undefined) continue;
      const key = JSON.stringify([draft, unused.current.version]);
      if (told.has(key)) continue;
      told.add(key);
      const line = editLine(fileOf(loaded, io.cwd), draft, unused, storeFlag(options.store));
      await io.stderr.write(`${paletteFor(io.stderr).yellow('!')} ${asTyped(line, io)}\n`);
    }
  }
}

const hasArtifacts = ({ project }: LoadedAgent<unknown>): boolean =>
  project.manifests.some(({ kind }) => kind === 'Artifact');

/** An agent whose module cannot be loaded cannot start either, so the start reports the error. */
function ignoreUnreadable(thrown: unknown): undefined {
  if (!(thrown instanceof RuntimeError) || thrown.code !== 'module_failed') throw thrown;
}

function fileOf({ manifest, file }: LoadedManifest, cwd: string): string {
  const module = manifest.kind === 'Artifact' ? manifest.module : undefined;
  const path = module === undefined ? resolve(file) : resolve(dirname(file), module);
  const near = relative(cwd, path);
  return near.startsWith('..') ? path : near;
}

function editLine(
  file: string,
  { name }: ArtifactDraft,
  { current: inForce, manifestVersion: ofManifest }: UnusedEdit,
  flag: string,
): string {
  const { version, author } = inForce;
  const what = `${file} was edited, but version ${version} of the artifact "${name}", by ${author}, is in use.`;
  const then =
    ofManifest === undefined
      ? 'No version of it came from a file. Give yours another name.'
      : `To use the file: telltale artifact rollback ${name} ${ofManifest}${flag}. Then start again.`;
  return `${harmlessLine(what)} ${then}`;
}
