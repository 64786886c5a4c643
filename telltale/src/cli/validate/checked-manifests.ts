import type { ValidateResult } from '../../manifest/validate-manifests.ts';
import type { Io } from '../io.ts';

/**
 * What stands in a file and in what it imports. Where something is wrong, all mistakes are printed as `telltale validate`
 * does, and nothing is returned.
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
