import type { ValidateResult } from '../../manifest/validate-manifests.ts';
import type { Io } from '../io.ts';

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
  const { printJson, printText } = await import('./print-result.ts');
  await (options.json === true ? printJson(checked, stdout) : printText(checked, stderr, io));
  return undefined;
}
