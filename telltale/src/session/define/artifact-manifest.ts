import type { CodeManifest } from '../../manifest/project/code-manifest.ts';
import { isFunctionName } from '../../manifest/schema/function-name.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import {
  badMethodName,
  type Found,
  functionWithSource,
  moduleInCode,
  noSource,
  notAMethod,
} from './code-findings.ts';
import type { DefinedArtifact } from './define-artifact.ts';
import { functionText } from './function-text.ts';

/** An artifact as the checks of manifests see it: functions are its source by then. */
export function artifactManifest(artifact: DefinedArtifact, folder: string): CodeManifest {
  const { source, module, methods, ...settings } = artifact.definition as Readonly<Record<string, unknown>>;
  const findings: Found[] = [];
  if (module !== undefined) findings.push({ path: ['module'], finding: moduleInCode() });
  const given = isMap(methods) ? Object.entries(methods) : [];
  for (const [name, method] of given)
    if (source !== undefined && functionOf(method) !== undefined)
      findings.push({ path: ['methods', name], finding: functionWithSource() });
  if (source === undefined && given.length === 0) findings.push({ path: [], finding: noSource() });
  const made = source === undefined ? sourceOf(given, findings) : source;
  return {
    label: `defineArtifact(${JSON.stringify(artifact.name) ?? ''})`,
    folder,
    value: {
      ...settings,
      kind: 'Artifact',
      source: made,
      ...(methods === undefined ? {} : { methods: isMap(methods) ? described(given) : methods }),
    },
    identity: artifact,
    code: artifact,
    pinned: {},
    writtenAt: (path) => path,
    findings,
    imports: [],
  };
}

type Method = (...args: never[]) => unknown;

function functionOf(method: unknown): Method | undefined {
  const found = isMap(method) ? method.run : method;
  return typeof found === 'function' ? (found as Method) : undefined;
}

function sourceOf(methods: readonly (readonly [string, unknown])[], findings: Found[]): string {
  const lines: string[] = [];
  for (const [name, method] of methods) {
    const path = ['methods', name];
    const made = functionOf(method);
    if (made === undefined) findings.push({ path, finding: notAMethod(method) });
    else if (!isFunctionName(name)) findings.push({ path, finding: badMethodName(name) });
    else {
      const text = functionText(made);
      if (text.ok) lines.push(`export const ${name} = ${text.expression};`);
      else findings.push({ path, finding: text.finding });
    }
  }
  // esbuild's keepNames, which tsx uses, wraps functions inside of functions.
  if (lines.some((line) => line.includes('__name('))) lines.unshift('const __name = (made) => made;');
  // Something has to stand there; what is missing has been said.
  return lines.length === 0 ? '// no methods' : lines.join('\n');
}

const described = (methods: readonly (readonly [string, unknown])[]) =>
  Object.fromEntries(
    methods.map(([name, method]) => {
      if (typeof method === 'function') return [name, {}];
      const { run: _, ...rest } = isMap(method) ? method : { run: undefined };
      return [name, isMap(method) ? rest : {}];
    }),
  );
