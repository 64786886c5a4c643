import { checkManifest } from '../../../src/manifest/check-manifest.ts';

/** What checkManifest says of a document, one line an issue: `code path: message | hint`. */
export function said(document: unknown): readonly string[] {
  return checkManifest(document).issues.map(
    ({ severity, code, path, message, hint }) =>
      `${severity === 'warning' ? 'warning ' : ''}${code} ${path.join('.') || '(root)'}: ${message}${hint === undefined ? '' : ` | ${hint}`}`,
  );
}

/** Only the codes and the places. */
export const found = (document: unknown): readonly string[] =>
  checkManifest(document).issues.map(
    ({ severity, code, path }) =>
      `${severity === 'warning' ? 'warning ' : ''}${code} ${path.join('.') || '(root)'}`,
  );

export const agent = (keys: Record<string, unknown>) => ({ kind: 'Agent', name: 'a', ...keys });
export const tool = (keys: Record<string, unknown>) => ({
  kind: 'Tool',
  name: 't',
  implementation: { script: '1' },
  ...keys,
});
export const steps = (...list: readonly unknown[]) => ({ kind: 'Workflow', name: 'w', steps: list });
export const machine = (
  initial: string,
  states: Record<string, unknown>,
  keys: Record<string, unknown> = {},
) => ({ kind: 'Workflow', name: 'w', initial, states, ...keys });
/** A step that is right, with what a test wants to add. */
export const step = (name: string, keys: Record<string, unknown> = {}) => ({
  name,
  type: 'tool',
  target: 't',
  ...keys,
});
export const fields = (map: Record<string, unknown>) => agent({ metadata: { fields: map } });
