import { type Diagnostic, MANIFEST_LIMITS } from '../../manifest/diagnostic.ts';
import { formatDiagnostic } from '../../manifest/format-diagnostic.ts';
import type { ValidateResult } from '../../manifest/validate-manifests.ts';
import { type Io, type Output, paletteFor } from '../io.ts';
import { asTyped } from '../session/store-options.ts';
import { countText } from '../view/figures.ts';
import { jsonText } from '../view/json-text.ts';

/** A check of manifests as one JSON value. */
export async function printJson(result: ValidateResult, stdout: Output): Promise<void> {
  const report = {
    ok: result.ok,
    errors: count(result.diagnostics, 'error'),
    warnings: count(result.diagnostics, 'warning'),
    documents: result.documents,
    files: result.sources.length,
    projects: result.projects.map(({ root, manifests }) => ({
      root,
      manifests: manifests.map(({ id, kind, name, file, line, hash }) => ({
        id,
        kind,
        name,
        file,
        line,
        hash,
      })),
    })),
    diagnostics: result.diagnostics,
  };
  await stdout.write(jsonText(report, 2));
}

/** The same for people: each diagnostic, then what was checked and how many mistakes there are. */
export async function printText(
  result: ValidateResult,
  stdout: Output,
  io: Pick<Io, 'program'>,
): Promise<void> {
  const palette = paletteFor(stdout);
  for (const diagnostic of result.diagnostics) {
    if (stdout.closed) return;
    const { hint } = diagnostic;
    const typed = hint === undefined ? diagnostic : { ...diagnostic, hint: asTyped(hint, io) };
    await stdout.write(`${formatDiagnostic(typed, palette)}\n\n`);
  }
  const { looked, cut, denied } = result.found;
  const lines = [];
  if (looked > 0) lines.push(palette.dim(`Searched ${countText(looked, 'YAML or JSON file')}.`));
  if (cut)
    lines.push(
      palette.yellow(
        `Stopped after ${MANIFEST_LIMITS.walkEntries.toLocaleString('en')} files and folders: name a folder further down.`,
      ),
    );
  if (denied.length > 0)
    lines.push(palette.yellow(`${countText(denied.length, 'folder')} could not be opened.`));
  const errors = count(result.diagnostics, 'error');
  const warnings = count(result.diagnostics, 'warning');
  const outcome = `${countText(errors, 'error')}, ${countText(warnings, 'warning')}`;
  const paint = errors > 0 ? palette.red : warnings > 0 ? palette.yellow : palette.green;
  const what = `${countText(result.documents, 'manifest')} in ${countText(result.sources.length, 'file')}`;
  lines.push(`${what}: ${paint(errors + warnings === 0 ? 'no errors' : outcome)}`);
  await stdout.write(`${lines.join('\n')}\n`);
}

const count = (diagnostics: readonly Diagnostic[], severity: Diagnostic['severity']) =>
  diagnostics.filter((each) => each.severity === severity).length;

/**
 * The manifests in a file and in its imports. If any is invalid, it prints every mistake as `telltale validate` does
 * and returns undefined.
 */
export async function checkedManifests(
  path: string,
  io: Io,
  options: { readonly json?: true },
): Promise<ValidateResult | undefined> {
  const { validateManifests } = await import('../../manifest/validate-manifests.ts');
  const { env, cwd, signal, stdout, stderr } = io;
  const checked = await validateManifests([path], { env, cwd, signal });
  if (checked.ok) return checked;
  await (options.json === true ? printJson(checked, stdout) : printText(checked, stderr, io));
  return undefined;
}
