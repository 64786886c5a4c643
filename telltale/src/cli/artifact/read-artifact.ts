import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { ArtifactDraft, Artifacts, ArtifactVersion } from '../../targets/artifacts/artifacts.ts';
import { GENESIS } from '../../targets/artifacts/genesis.ts';
import { readDraft } from '../../targets/artifacts/read-drafts.ts';
import type { Io } from '../io.ts';
import { usage } from '../usage.ts';
import { checkedManifests } from '../validate/checked-manifests.ts';

export interface ReadArtifact {
  readonly draft: ArtifactDraft;
  /** Those that stand in the same project: it may ask them. */
  readonly others: Pick<Artifacts, 'read'>;
}

const SCRIPT = /\.[cm]?js$/i;

/** Whether a file is a source alone, which does not say what its methods are. */
export const isSource = (path: string): boolean => SCRIPT.test(path);

/**
 * The artifact of a file: a manifest, or its source alone; or a genesis artifact by its name. Where the manifest is wrong, all of its mistakes are printed
 * as `telltale validate` does, and nothing is returned.
 */
export async function readArtifact(
  path: string,
  name: string | undefined,
  io: Io,
  options: { readonly json?: true },
): Promise<ReadArtifact | undefined> {
  const builtIn = GENESIS.get(path);
  if (builtIn !== undefined) return { draft: builtIn, others: { read: async () => undefined } };
  if (isSource(path)) {
    const source = await readFile(resolve(io.cwd, path), 'utf8').catch((cause) => {
      throw unreadable(path, cause);
    });
    return {
      draft: { name: name ?? basename(path).replace(SCRIPT, ''), source, methods: [] },
      others: { read: async () => undefined },
    };
  }
  const checked = await checkedManifests(path, io, options);
  if (checked === undefined) return undefined;
  const drafts: ArtifactDraft[] = [];
  for (const loaded of checked.projects.flatMap(({ manifests }) => manifests)) {
    const draft = await readDraft(loaded);
    if (draft !== undefined) drafts.push(draft);
  }
  return { draft: chosen(drafts, path, name), others: { read: async (asked) => versionOf(asked, drafts) } };
}

function chosen(drafts: readonly ArtifactDraft[], path: string, name: string | undefined): ArtifactDraft {
  const names = drafts.map((draft) => draft.name);
  if (name !== undefined) {
    const named = drafts.find((draft) => draft.name === name);
    if (named === undefined)
      throw usage(`'${path}' contains no artifact '${name}'.`, suggest(name, names, 'Artifacts in it'));
    return named;
  }
  const [only, other] = drafts;
  if (only === undefined)
    throw usage(
      `'${path}' contains no Artifact.`,
      'Name a file that contains "kind: Artifact", or a .js file.',
    );
  if (other !== undefined)
    throw usage(
      `'${path}' holds ${drafts.length} artifacts.`,
      `Choose one: --name ${names.join(', or --name ')}.`,
    );
  return only;
}

function versionOf(asked: string, drafts: readonly ArtifactDraft[]): ArtifactVersion | undefined {
  const draft = drafts.find(({ name }) => name === asked);
  return draft === undefined
    ? undefined
    : { ...draft, version: 1, language: 'js', author: 'manifest', at: 0 };
}

const unreadable = (path: string, cause: NodeJS.ErrnoException) =>
  cause.code === 'ENOENT'
    ? usage(`There is no file '${path}'.`, "Name an artifact's manifest or its source.")
    : new RuntimeError('cannot_read', `'${path}' cannot be read (${cause.code ?? cause.message}).`, {
        hint: 'Check that it is a file that you may read.',
        cause,
      });
