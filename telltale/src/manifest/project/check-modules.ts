import type { Diagnostic, Finding } from '../diagnostic.ts';
import type { ReadDocument } from '../read-manifests.ts';
import type { ImportLink, ProjectDocument } from './project-document.ts';

/** A function of a module that a Tool runs. */
export interface ModuleUse {
  readonly tool: string;
  /** As the manifest names it. */
  readonly module: string;
  readonly export: string;
  /** The manifest's, absolute. */
  readonly file: string;
  /** The files of the agents that import it. */
  readonly importers: readonly string[];
}

/** Loads modules of a project with these manifests, and gives what is wrong with each in the same order. */
export type CheckModules = (
  uses: readonly ModuleUse[],
  files: readonly string[],
) => Promise<readonly (Finding | undefined)[]>;

/** Checks the modules of `tools`, among all documents of a project. */
export async function checkModules(
  tools: readonly ProjectDocument[],
  documents: readonly ProjectDocument[],
  links: readonly ImportLink[],
  check: CheckModules,
): Promise<readonly Diagnostic[]> {
  const found = tools.flatMap(({ file, document }) => {
    const importers = links.flatMap((link) => (link.files.includes(file) ? [link.owner.file] : []));
    const implementation = moduleOf(document);
    return implementation === undefined ? [] : [{ use: { ...implementation, file, importers }, document }];
  });
  if (found.length === 0) return [];
  const findings = await check(
    found.map(({ use }) => use),
    [...new Set(documents.map(({ file }) => file))],
  );
  return found.flatMap(({ document }, index) => {
    const finding = findings[index];
    const at = { path: ['implementation', 'module'], at: 'value' } as const;
    return finding === undefined ? [] : [document.diagnose(at, finding)];
  });
}

/** What a Tool runs, where it is right so far and runs a module. */
export function moduleOf({
  manifest,
}: ReadDocument): Pick<ModuleUse, 'tool' | 'module' | 'export'> | undefined {
  if (manifest?.kind !== 'Tool' || !('module' in manifest.implementation)) return undefined;
  return { tool: manifest.name, ...manifest.implementation };
}
