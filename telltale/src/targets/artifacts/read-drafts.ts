import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { LoadedManifest, Project } from '../../manifest/project/project.ts';
import type { ArtifactDraft } from './artifacts.ts';

/** The artifacts that an agent imports, then those beside it in its own file. */
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

/** What a manifest says. A `module` is read from its file, relative to the manifest. */
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
    hint: `Create it, or correct its name in ${file}.`,
    cause,
  });
