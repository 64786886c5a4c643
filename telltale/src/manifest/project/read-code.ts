import type { JsonObject } from '../../kernel/json.ts';
import { checkManifest } from '../check-manifest.ts';
import type { Diagnostic, Finding } from '../diagnostic.ts';
import type { IssuePath } from '../issue.ts';
import { MANIFEST_LIMITS } from '../limits.ts';
import { plainDocument } from '../schema/plain-document.ts';
import { settleKind } from '../settle-kind.ts';
import type { CodeManifest } from './code-manifest.ts';
import type { ReadSource } from './source-cache.ts';

/** A manifest that is a value, as if it had been read from `file`: the same checks, and places that are paths. */
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

/** A JSON pointer; of the whole value it is empty. */
const pointer = (path: IssuePath): string =>
  path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
