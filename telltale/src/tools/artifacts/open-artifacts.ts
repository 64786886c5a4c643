import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { LoadedManifest, Project } from '../../manifest/project/project.ts';
import { isFunctionName } from '../../manifest/schema/function-name.ts';
import type { Tables } from '../../store/store.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { ARTIFACT_LIMITS, artifactModule, LIST_METHODS } from './artifact-module.ts';
import {
  type ArtifactDraft,
  type Artifacts,
  badMethodName,
  badSource,
  type CallArtifact,
  methodMissing,
  sourceTooLarge,
  tooManyMethods,
} from './artifacts.ts';
import { createCallArtifact } from './call-artifact.ts';
import { createArtifacts } from './create-artifacts.ts';

/** The artifacts of a store, and the way to call them. */
export interface ArtifactService {
  readonly artifacts: Artifacts;
  readonly call: CallArtifact;
  /** Writes the artifacts of an agent's manifest to the store. */
  seed(agent: LoadedManifest, project: Project): Promise<void>;
}

export function openArtifacts({
  tables,
  sandbox,
  clock,
}: {
  readonly tables: Tables;
  readonly sandbox: Sandbox;
  readonly clock: Clock;
}): ArtifactService {
  const artifacts = createArtifacts({ tables, clock, check: createDraftCheck(sandbox) });
  sandbox.warm();
  return {
    artifacts,
    call: createCallArtifact({ artifacts, sandbox, clock }),
    async seed(agent, project) {
      for (const loaded of artifactsOf(agent, project)) {
        const draft = await readDraft(loaded);
        if (draft !== undefined) await artifacts.seed(draft);
      }
    },
  };
}

/** The artifacts that an agent imports, then those in its own file. */
export function artifactsOf(agent: LoadedManifest, project: Project): readonly LoadedManifest[] {
  const imported = new Set(
    agent.imports.flatMap((entry) =>
      entry.type === 'files' && entry.list === 'artifacts' ? entry.manifests : [],
    ),
  );
  return project.manifests.filter(
    ({ id, kind, file }) => kind === 'Artifact' && (imported.has(id) || file === agent.file),
  );
}

/** Reads an artifact's draft from its manifest. A `module` is read from its file, relative to the manifest. */
export async function readDraft({ manifest, file }: LoadedManifest): Promise<ArtifactDraft | undefined> {
  if (manifest.kind !== 'Artifact') return undefined;
  const { name, source, module, methods = {}, description } = manifest;
  return {
    name,
    source: source ?? (module === undefined ? '' : await readModule(name, module, file)),
    methods: Object.keys(methods),
    ...(description === undefined ? {} : { description }),
  };
}

async function readModule(name: string, module: string, file: string): Promise<string> {
  const path = resolve(dirname(file), module);
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw moduleUnreadable(name, path, file, cause);
  }
}

const moduleUnreadable = (name: string, path: string, file: string, cause: unknown) =>
  new RuntimeError('module_failed', `The module ${path} of artifact "${name}" cannot be read.`, {
    hint: `Create it, or correct its path in ${file}.`,
    cause,
  });

const MAX_SOURCE = 256 * 1024;
const MAX_METHODS = 64;

/**
 * Rejects with what is wrong with a source: it is loaded once in the sandbox, and must define the methods it names. A
 * source without methods is text (`prompt_artifact_id`), and any text is fine.
 */
export const createDraftCheck =
  (sandbox: Sandbox) =>
  async (draft: ArtifactDraft): Promise<void> => {
    const { name, source, methods } = draft;
    if (source.length > MAX_SOURCE) throw sourceTooLarge(name, source.length, MAX_SOURCE);
    if (methods.length > MAX_METHODS) throw tooManyMethods(name, MAX_METHODS);
    for (const method of methods) if (!isFunctionName(method)) throw badMethodName(name, method);
    if (methods.length === 0) return;
    const found = await definedMethods(sandbox, draft);
    for (const method of methods) if (!found.includes(method)) throw methodMissing(name, method, found);
  };

async function definedMethods(sandbox: Sandbox, draft: ArtifactDraft): Promise<readonly string[]> {
  try {
    const json = await sandbox.run({
      what: `artifact "${draft.name}"`,
      module: artifactModule(draft),
      source: LIST_METHODS,
      globals: {},
      limits: ARTIFACT_LIMITS,
      now: 0,
      seed: 0,
      signal: new AbortController().signal,
    });
    return JSON.parse(json) as string[];
  } catch (thrown) {
    throw thrown instanceof RuntimeError ? badSource(draft.name, thrown) : thrown;
  }
}
