import type { JsonObject } from '../../lib/json.ts';
import { checkManifest } from '../check-manifest.ts';
import { type Diagnostic, type Finding, type IssuePath, MANIFEST_LIMITS } from '../diagnostic.ts';
import type { ReadDocument } from '../read-manifests.ts';
import { plainDocument } from '../schema/run-schema.ts';
import { settleKind } from '../settle-kind.ts';
import type { CodeManifest, ImportLink, ProjectDocument } from './project-document.ts';
import type { ReadSource } from './source-cache.ts';

/** Treats a manifest value as if it had been read from `file`: with the same checks, and paths instead of lines. */
export function readCode(entry: CodeManifest, file: string): ReadSource & { readonly type: 'read' } {
  const { label, value, code, pinned, writtenAt, findings } = entry;
  const diagnose = (path: IssuePath, { severity, code: kind, message, hint }: Finding): Diagnostic => ({
    severity,
    code: kind,
    file: label,
    path: pointer(writtenAt(path)),
    message,
    ...(hint === undefined ? {} : { hint }),
  });
  const { manifest, issues } = checkManifest(value);
  const isSound = findings.every(({ finding }) => finding.severity !== 'error');
  const diagnostics = [
    ...findings.map(({ path, finding }) => diagnose(path, finding)),
    ...issues.slice(0, MANIFEST_LIMITS.diagnostics).map((issue) => diagnose(issue.path, issue)),
  ];
  return {
    type: 'read',
    file,
    label,
    documents: [
      {
        value: { ...(settleKind(plainDocument(value).document).document as JsonObject | null), ...pinned },
        ...(manifest === undefined || !isSound ? {} : { manifest }),
        diagnose: ({ path }, finding) => diagnose(path, finding),
        lineOf: () => 1,
        code,
      },
    ],
    isBroken: false,
    diagnostics,
  };
}

/** A JSON pointer. The pointer of the whole value is empty. */
const pointer = (path: IssuePath): string =>
  path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** A function in a module that a Tool runs. */
export interface ModuleUse {
  readonly tool: string;
  /** The module as the manifest names it. */
  readonly module: string;
  readonly export: string;
  /** Absolute path of the manifest. */
  readonly file: string;
  /** The files of the agents that import it. */
  readonly importers: readonly string[];
}

/** Loads the modules of a project with these manifests, and returns their problems in the same order. */
export type CheckModules = (
  uses: readonly ModuleUse[],
  files: readonly string[],
) => Promise<readonly (Finding | undefined)[]>;

/** Checks the modules of `tools` in a project. */
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

/** The module and function of a valid Tool that runs a module. */
export function moduleOf({
  manifest,
}: ReadDocument): Pick<ModuleUse, 'tool' | 'module' | 'export'> | undefined {
  if (manifest?.kind !== 'Tool' || !('module' in manifest.implementation)) return undefined;
  return { tool: manifest.name, ...manifest.implementation };
}
